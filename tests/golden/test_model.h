// A model under test with caches for several sequences, driven row by row.
//
// It plays the runner in its simplest form: blocks are handed out on demand in a deliberately
// scattered order, every sequence has a state slot, and a step takes any number of tokens of any
// sequences.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/device.h"
#include "backend/stream.h"
#include "checkpoint/checkpoint.h"
#include "model/model.h"

namespace deepinfer::golden {

using Row = std::vector<float>;

struct TestModelOptions {
  std::string folder;  // absolute, or below the source tree
  std::string backend = "cpu";
  std::string isa = {};  // cpu: a narrower instruction set; empty = the widest
  int32_t num_threads = 0;
  Numerics numerics = Numerics::kFp32;
  int32_t max_num_tokens = 512;
  int32_t max_model_len = 2048;
  int32_t num_sequences = 8;
  std::function<void(model::ModelConfig&)> edit;  // changes the config before loading; may be empty
};

// Tokens of one sequence in a step.
struct Piece {
  int32_t sequence = 0;
  std::vector<int32_t> token_ids;
};

// Threading: one thread.
class TestModel {
 public:
  // Loads, or fails the running test with the Status and returns null.
  static std::unique_ptr<TestModel> Load(const TestModelOptions& options);
  // The same with the Status in the caller's hand.
  static Result<std::unique_ptr<TestModel>> TryLoad(const TestModelOptions& options);

  model::Model& model() { return *model_; }
  const model::ModelConfig& config() const { return model_->config(); }

  // Forgets everything about a sequence: a new one with a zeroed slot.
  void Reset(int32_t sequence);
  // Cuts a sequence back to `num_tokens`.
  void RollBack(int32_t sequence, int32_t num_tokens) { sequences_[sequence].len = num_tokens; }
  int32_t len(int32_t sequence) const { return sequences_[sequence].len; }

  // One forward pass; the logits of every row, in the order of the pieces.
  std::vector<Row> Step(const std::vector<Piece>& pieces);
  // The hidden values that went with the last step's logits.
  const std::vector<Row>& hidden() const { return hidden_; }

  // Feeds one sequence from where it stands, `chunk` tokens a step; the logits of every row.
  std::vector<Row> Feed(int32_t sequence, const std::vector<int32_t>& token_ids, int32_t chunk);

  // Everything that the caches hold of a sequence: its slot, then its blocks in order.
  std::vector<uint8_t> SaveState(int32_t sequence);
  // Puts saved bytes under a sequence, in a slot and blocks of its own.
  void RestoreState(int32_t sequence, const std::vector<uint8_t>& state, int32_t num_tokens);
  // Overwrites every byte of a sequence's slot and blocks.
  void Scribble(int32_t sequence);

 private:
  struct Sequence {
    int32_t len = 0;
    std::vector<int32_t> blocks;
  };

  TestModel() = default;
  Status AllocateCaches(const TestModelOptions& options);
  void Grow(Sequence& sequence, int32_t num_tokens);
  int32_t slot(int32_t sequence) const { return sequence + 1; }
  char* SlotData(int32_t sequence) const;
  char* BlockData(int32_t block) const;
  TensorView Upload(DType dtype, const std::vector<int32_t>& values, Buffer& buffer);

  std::unique_ptr<backend::Device> device_;
  std::unique_ptr<checkpoint::Checkpoint> checkpoint_;
  std::unique_ptr<backend::Stream> stream_;
  std::unique_ptr<model::Model> model_;
  Buffer kv_pool_, state_pool_;
  model::ModelCaches caches_;
  std::vector<Sequence> sequences_;
  std::vector<int32_t> free_blocks_;
  std::vector<Row> hidden_;
};

// Natural-log probabilities of a row of logits, in double precision.
std::vector<double> LogSoftmax(const Row& logits);
double LogSumExp(const Row& logits);
// The largest logit's id; the lowest id among equals.
int32_t ArgMax(const Row& logits);

}  // namespace deepinfer::golden
