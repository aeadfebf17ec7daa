// The instruction for one step: what the scheduler hands to the runner.  With StepResult these are
// the only two messages between them.
//
// Both are flat, so that a plan that comes back empty can be filled again without an allocation.
// Threading: values; a plan is moved through the plan queue and not touched by its producer
// afterwards.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "deepinfer/request.h"

namespace deepinfer::plan {

// All ranks of a data-parallel group run the same kind in a step.
enum class StepKind : int32_t {
  kIdle,    // nothing to run; keeps lockstep ranks company
  kDecode,  // one row a sequence
  kMixed,   // has prefill rows
};

// In StepPlan::token_ids: the token that a step before this one samples for the sequence, and that
// the scheduler has not seen yet.
inline constexpr int32_t kPendingToken = -1;

// A sequence that the runner meets for the first time, or again after a preemption.
struct SequenceSetup {
  int64_t seq_id = 0;
  int32_t state_slot = 0;  // its window rings, group buffers and history; the runner zeroes it
  std::shared_ptr<const SamplingParams>
      sampling;       // owners: the request table and the runner's copy of the sequence
  uint64_t seed = 0;  // resolved: never "random" here
  std::shared_ptr<const std::vector<int32_t>>
      masked_token_ids;  // end-of-sequence and stop ids, not drawn below min_tokens; same owners
  std::vector<int32_t> token_ids;  // prompt, then what was generated before a preemption
  int32_t prompt_len = 0;
};

// What one sequence does in one step.
struct SequenceStep {
  int64_t seq_id = 0;
  int32_t state_slot = 0;
  int32_t num_computed_tokens = 0;  // already in the KV cache
  int32_t num_new_tokens = 0;       // rows: prefill chunk, or 1 for decode
  int32_t num_blocks = 0;  // of its block table; covers num_computed_tokens + num_new_tokens
  bool samples = false;    // the last row's logits are sampled: the chunk ends the known tokens
  bool wants_prompt_logprobs = false;  // rows of this chunk report the next prompt token
};

// The whole instruction for one step.  The runner needs nothing else.
struct StepPlan {
  int64_t step_id = 0;
  StepKind kind = StepKind::kIdle;
  std::vector<SequenceSetup> setups;    // before the forward pass
  std::vector<SequenceStep> sequences;  // in the order of their rows
  std::vector<int32_t> token_ids;       // [num_tokens] of the rows, in order; or kPendingToken
  std::vector<int32_t> block_ids;       // block tables, one after the other in order of sequences
  std::vector<int64_t> releases;  // sequences that the runner forgets, before it looks at setups

  int32_t num_tokens() const { return static_cast<int32_t>(token_ids.size()); }

  // Nothing for the runner to do: no rows, and nothing to forget.
  bool empty() const { return sequences.empty() && releases.empty(); }

  // Empties the plan and keeps its memory.
  void Clear() {
    step_id = 0;
    kind = StepKind::kIdle;
    setups.clear();
    sequences.clear();
    token_ids.clear();
    block_ids.clear();
    releases.clear();
  }
};

// "step=7 kind=mixed rows=9: seq 3 [128..136) ..." for logs and test failures.
std::string ToString(const StepPlan& plan);

// The invariants between the fields, checked where a plan is taken up: counts agree, every table
// covers its rows, no block or slot is 0.  DI_CHECK on the first violation.
void CheckPlan(const StepPlan& plan, int32_t block_size);

}  // namespace deepinfer::plan
