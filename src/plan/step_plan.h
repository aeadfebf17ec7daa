// The instruction for one step: what the scheduler hands to the runner.  With StepResult these are
// the only two messages between them.
//
// Threading: values; a plan is moved through the plan queue and not touched by its producer
// afterwards.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "deepinfer/request.h"

namespace deepinfer::plan {

// All ranks of a data-parallel group run the same kind in a step.
enum class StepKind : int32_t {
  kIdle,    // nothing to run; keeps lockstep ranks company
  kDecode,  // one row a sequence
  kMixed,   // has prefill rows
};

// A sequence that the runner meets for the first time, or again after a preemption.
struct SequenceSetup {
  int64_t seq_id = 0;
  int32_t state_slot = 0;  // its window rings, group buffers and history; the runner zeroes it
  std::shared_ptr<const SamplingParams>
      sampling;       // owners: the request table and the runner's copy of the sequence
  uint64_t seed = 0;  // resolved: never "random" here
  std::vector<int32_t> token_ids;  // prompt, then what was generated before a preemption
  int32_t prompt_len = 0;
};

// What one sequence does in one step.
struct SequenceStep {
  int64_t seq_id = 0;
  int32_t num_computed_tokens = 0;  // already in the KV cache
  int32_t num_new_tokens = 0;       // prefill chunk, or 1 for decode
  std::vector<int32_t>
      new_token_ids;  // [num_new_tokens]; empty when it is the token that the previous step samples
  std::vector<int32_t> block_table;  // [num_blocks], covers num_computed_tokens + num_new_tokens
  int32_t state_slot = 0;
  bool samples = false;  // the last row's logits are sampled: the chunk ends the known tokens
  bool wants_prompt_logprobs = false;  // rows of this chunk report the next prompt token
};

// The whole instruction for one step.  The runner needs nothing else.
struct StepPlan {
  int64_t step_id = 0;
  StepKind kind = StepKind::kIdle;
  std::vector<SequenceSetup> setups;    // before the forward pass
  std::vector<SequenceStep> sequences;  // in the order of their rows
  std::vector<int64_t> releases;  // sequences that the runner may forget, after the forward pass

  int32_t num_tokens() const {
    int32_t n = 0;
    for (const SequenceStep& s : sequences) n += s.num_new_tokens;
    return n;
  }
};

}  // namespace deepinfer::plan
