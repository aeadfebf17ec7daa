// What one step gave: the runner's answer to a StepPlan.
//
// Threading: values.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "deepinfer/output.h"
#include "deepinfer/status.h"

namespace deepinfer::plan {

// Output tokens that one sequence can gain in one step.
inline constexpr int32_t kMaxTokensPerStep = 8;

// One token with its log-probability and, where asked for, alternatives.
struct TokenLogprobs {
  int32_t token_id = 0;
  float logprob = 0;                  // natural log
  std::vector<TokenAlternative> top;  // most probable first
};

// Holds no memory of its own unless log-probabilities were asked for.
struct SequenceResult {
  int64_t seq_id = 0;
  int32_t num_tokens = 0;  // new output tokens; 0 for a chunk that samples nothing
  std::array<int32_t, kMaxTokensPerStep> token_ids = {};  // the first num_tokens, in order
  std::vector<TokenLogprobs> logprobs;  // one for each new token when asked for, else empty
  int32_t first_prompt_logprob = 0;  // entry i of prompt_logprobs is about prompt token first + i
  std::vector<TokenLogprobs>
      prompt_logprobs;  // of the prompt tokens that rows of this chunk predict
  Status status;        // not ok: this sequence alone failed

  std::span<const int32_t> tokens() const {
    return {token_ids.data(), static_cast<size_t>(num_tokens)};
  }
};

struct StepResult {
  int64_t step_id = 0;
  std::vector<SequenceResult> sequences;  // same order as the plan's
  int64_t forward_us = 0;                 // device time of the step

  // Empties the result and keeps its memory.
  void Clear() {
    step_id = 0;
    sequences.clear();
    forward_us = 0;
  }
};

}  // namespace deepinfer::plan
