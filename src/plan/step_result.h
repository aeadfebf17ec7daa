// What one step gave: the runner's answer to a StepPlan.
//
// Threading: values.
#pragma once

#include <cstdint>
#include <vector>

#include "deepinfer/status.h"

namespace deepinfer::plan {

// One token with its log-probability and, where asked for, alternatives.
struct TokenLogprobs {
  int32_t token_id = 0;
  float logprob = 0;                   // natural log
  std::vector<int32_t> top_token_ids;  // most probable first
  std::vector<float> top_logprobs;     // same length
};

struct SequenceResult {
  int64_t seq_id = 0;
  std::vector<int32_t>
      token_ids;  // new output tokens, in order; empty for a chunk that samples nothing
  std::vector<TokenLogprobs> logprobs;  // one for each of token_ids when asked for, else empty
  std::vector<TokenLogprobs>
      prompt_logprobs;  // one for each prompt token that a row of this chunk predicts
  Status status;        // not ok: this sequence alone failed
};

struct StepResult {
  int64_t step_id = 0;
  std::vector<SequenceResult> sequences;  // same order as the plan's
  int64_t forward_us = 0;                 // device time of the step
};

}  // namespace deepinfer::plan
