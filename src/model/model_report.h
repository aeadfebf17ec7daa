// What is in a checkpoint and what it costs to run: plain figures for `deepinfer inspect`.
//
// Made from headers and the config alone; no tensor data is read and nothing is allocated on a
// device.
// Threading: values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "deepinfer/status.h"
#include "model/model.h"
#include "model/model_config.h"

namespace deepinfer::model {

// A heap of tensors.  Scales count as bytes of their dtype, not as parameters.
struct TensorAmount {
  int64_t num_tensors = 0;
  int64_t num_parameters = 0;
  int64_t num_bytes = 0;

  void Add(const TensorAmount& other) {
    num_tensors += other.num_tensors;
    num_parameters += other.num_parameters;
    num_bytes += other.num_bytes;
  }
};

// Key: "f8e4m3", "f4e2m1", "bf16", "f32", "ue8m0", or the file's spelling of a dtype that the
// engine doesn't know.
using AmountByDType = std::map<std::string, TensorAmount>;

// The sum over all dtypes.
TensorAmount Total(const AmountByDType& amounts);

struct LayerReport {
  int32_t layer_idx = 0;
  int32_t compress_ratio = 0;
  int32_t kv_source = -1;     // layer whose compressed entries it reads; -1: none
  int32_t index_source = -1;  // layer whose selection it uses; -1: none
  bool owns_index_keys = false;
  bool publishes_candidates = false;
  bool uses_candidates = false;
  bool has_engram = false;
  AmountByDType amounts;
};

struct ModelReport {
  std::vector<LayerReport> layers;  // [num_hidden_layers]
  AmountByDType globals;            // embedding, head, last norm
  AmountByDType draft;              // draft layers
  AmountByDType vision;             // vision encoder, aligner and its vectors
  AmountByDType other;              // names that no part of the engine knows
  AmountByDType all;

  int64_t num_backbone_parameters = 0;  // of layers and globals
  int64_t num_active_parameters = 0;    // of those, what one token multiplies with or looks up

  double kv_bytes_per_token = 0;  // without padding: 890 in the release
  int64_t block_bytes = 0;        // of 128 tokens
  int64_t state_slot_bytes = 0;   // of one sequence
  int64_t workspace_bytes = 0;    // activations and scratch of one forward pass
};

// Requires a validated config.  kInvalidArgument when `options` don't fit it.
Result<ModelReport> MakeModelReport(const checkpoint::Checkpoint& checkpoint,
                                    const ModelConfig& config, const ModelOptions& options);

// Memory to keep `num_sequences` of `len` tokens each in the caches, beside the weights.
struct MemoryNeeded {
  int64_t weight_bytes = 0;  // of the whole checkpoint; mapped, so only what is used is resident
  int64_t block_bytes = 0;
  int64_t state_bytes = 0;
  int64_t workspace_bytes = 0;
  int64_t total_bytes() const { return weight_bytes + block_bytes + state_bytes + workspace_bytes; }
};
MemoryNeeded MemoryFor(const ModelReport& report, int64_t num_sequences, int64_t len);

}  // namespace deepinfer::model
