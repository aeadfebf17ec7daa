// Executes plans: StepPlan -> ModelInput -> forward pass -> sampler -> StepResult.
//
// It remembers of each sequence what plans do not repeat (sampling parameters, seed, tokens), and
// knows no request, queue or scheduler.
//
// Ownership: owns the cache memory, the stream and its sequences.  The model and the device must
//   outlive it.
// Threading: device thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "backend/device.h"
#include "backend/stream.h"
#include "deepinfer/status.h"
#include "model/model.h"
#include "plan/step_plan.h"
#include "plan/step_result.h"
#include "runner/input_builder.h"
#include "runner/kv_storage.h"
#include "runner/sampler.h"
#include "runner/token_counts.h"

namespace deepinfer::runner {

struct RunnerOptions {
  int32_t max_num_seqs = 0;     // in one step
  int32_t max_model_len = 0;    // positions of a sequence
  int32_t num_blocks = 0;       // of the cache, block 0 included
  int32_t num_state_slots = 0;  // slot 0 included
  SamplerOptions sampler;
};

class Runner {
 public:
  // Allocates the cache.  Rows and logit rows of a step are limited by the model's options.
  static Result<std::unique_ptr<Runner>> Create(model::Model& model, backend::Device& device,
                                                const RunnerOptions& options);

  // Executes `plan` and fills `result`, whose memory is used again.  A sequence whose row cannot be
  // sampled gets a status; the others are not touched by it.  Throws DeviceError when the device
  // is lost and InternalError on a plan that breaks its invariants.
  void Run(const plan::StepPlan& plan, plan::StepResult& result);

  int64_t cache_bytes() const { return storage_->num_bytes(); }
  size_t num_sequences() const { return sequences_.size(); }

 private:
  // What the runner remembers of a sequence.
  struct Sequence {
    std::shared_ptr<const SamplingParams> sampling;              // owners: see plan::SequenceSetup
    std::shared_ptr<const std::vector<int32_t>> stop_token_ids;  // the same
    uint64_t seed = 0;
    int32_t prompt_len = 0;
    std::vector<int32_t> token_ids;  // prompt and every token sampled so far
    TokenCounts counts;              // filled when a penalty is on
    Status status;                   // why it failed, if it did
  };

  Runner(model::Model& model, const RunnerOptions& options);
  void SetUp(const plan::StepPlan& plan);
  void CollectRows(const plan::StepPlan& plan);
  void Forward(const plan::StepPlan& plan);
  void Finish(const plan::SequenceStep& step, Sequence& sequence, const float*& logits,
              plan::SequenceResult& result);
  void SampleToken(const plan::SequenceStep& step, Sequence& sequence,
                   std::span<const float> logits, plan::SequenceResult& result);

  model::Model& model_;
  const RunnerOptions options_;
  std::unique_ptr<backend::Stream> stream_;
  std::unique_ptr<KvStorage> storage_;
  std::unique_ptr<InputBuilder> builder_;
  Sampler sampler_;
  std::unordered_map<int64_t, Sequence> sequences_;
  // Of the step that runs.
  std::vector<int32_t> token_ids_;   // rows, pending tokens resolved
  std::vector<int32_t> logit_rows_;  // ascending
  std::vector<float> logits_;        // [logit rows, vocab_size]
};

}  // namespace deepinfer::runner
