// Decides what runs in each step: events in, plans out.
//
//   Add / Finish   a sequence comes, or is ended from outside (cancel, stop string, failure)
//   Plan           state -> StepPlan
//   Advance        StepResult -> new state, and what each sequence gained
//
// A pure state machine: it has no clock, thread, tensor or device, and the same events give the
// same plans, byte for byte.  Several plans may be under way (Plan, Plan, Advance, Advance);
// results come back in order.  A sequence whose token is still missing is planned with
// kPendingToken.
//
// Policy (batch_policy.h): arrival order; decoding sequences first, prompts in chunks beside them.
// When blocks run out, the newest running sequence is preempted: its storage goes, and it is
// computed again from its tokens later, with the same result.  The oldest is never preempted and
// the pool holds at least one sequence of full length, so somebody always gets on.
//
// Ownership: owns the pools and all sequences.  Storage of a sequence that ends while a step that
//   writes it is in flight belongs to that step until its Advance.
// Threading: engine thread only.
// Invariants: free blocks + blocks of running sequences + blocks of steps in flight = all blocks;
//   every running sequence is older than every waiting one; no plan exceeds the limits.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "deepinfer/output.h"
#include "deepinfer/request.h"
#include "kv/block_pool.h"
#include "kv/state_slots.h"
#include "plan/step_plan.h"
#include "plan/step_result.h"
#include "sched/batch_policy.h"
#include "sched/sequence_state.h"

namespace deepinfer::sched {

struct SchedulerOptions {
  int32_t block_size = 128;              // tokens
  int32_t num_blocks = 0;                // of the pool, block 0 included
  int32_t num_state_slots = 0;           // of the pool, slot 0 included
  int32_t max_model_len = 0;             // positions of a sequence; fits into num_blocks - 1 blocks
  int32_t max_num_seqs = 0;              // that hold storage at one time
  int32_t max_num_batched_tokens = 0;    // rows of a step, >= max_num_seqs
  int32_t max_num_logit_rows = 0;        // of a step, >= max_num_seqs
  int32_t max_prefill_chunk_tokens = 0;  // 0: no own limit
};

// What a sequence is when it comes.
struct NewSequence {
  int64_t seq_id = 0;                     // larger than that of every sequence before
  std::vector<int32_t> prompt_token_ids;  // 1..max_model_len of them
  std::shared_ptr<const SamplingParams>
      sampling;       // owners: the request table, the scheduler's and the runner's sequence
  uint64_t seed = 0;  // resolved
  // Sorted ids that end the sequence once min_tokens are out.  Same owners.
  std::shared_ptr<const std::vector<int32_t>> stop_token_ids;
  // Ids that are not drawn below min_tokens.  Same owners.
  std::shared_ptr<const std::vector<int32_t>> masked_token_ids;
};

// What a sequence gained in a step.
struct SequenceUpdate {
  int64_t seq_id = 0;
  int32_t result_idx = 0;  // in StepResult::sequences
  int32_t num_tokens = 0;  // of the result's tokens; those behind the stopping one are dropped
  std::optional<FinishReason> finish_reason;  // it has ended and the scheduler has forgotten it
};

struct SchedulerStats {
  int32_t num_running = 0;
  int32_t num_waiting = 0;
  int32_t num_steps_in_flight = 0;
  int32_t num_free_blocks = 0;
  int32_t num_free_state_slots = 0;
  int64_t num_preemptions_total = 0;
};

class Scheduler {
 public:
  explicit Scheduler(const SchedulerOptions& options);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Queues a sequence.  The caller has checked it against the options.
  void Add(NewSequence sequence);

  // Ends a sequence in whatever state it is; its storage is free at once, or when the steps in
  // flight that write it are done.  False when it has ended already: then nothing happens.
  bool Finish(int64_t seq_id, FinishReason reason);

  // The kind of step that Plan would make without restriction.
  plan::StepKind Wish() const;

  // Fills `plan` with a step of at most this kind: kDecode leaves prompts alone, kIdle plans no
  // rows.  The plan counts as in flight unless it has no sequences.
  void Plan(plan::StepKind kind, plan::StepPlan& plan);

  // Takes the result of the oldest plan in flight.  Appends to `updates`, in the result's order,
  // the sequences that still live.
  void Advance(const plan::StepResult& result, std::vector<SequenceUpdate>& updates);

  // Whether a sequence is known that has not ended.
  bool has_sequences() const { return !sequences_.empty(); }
  SchedulerStats stats() const;
  const SchedulerOptions& options() const { return options_; }

  // For tests: DI_CHECK on a broken invariant.
  void CheckInvariants() const;

 private:
  struct Sequence;
  struct InFlightStep {
    int64_t step_id = 0;
    int32_t num_sequences = 0;
    std::vector<Storage> retired;  // of sequences that ended or were preempted under way
  };

  void PlanRunning(plan::StepKind kind, BatchBudget& budget, plan::StepPlan& plan);
  void PlanWaiting(BatchBudget& budget, plan::StepPlan& plan);
  int32_t MaxNumTokens(const Sequence& sequence) const;
  bool CanDecode(const Sequence& sequence) const;
  ChunkWish WishOf(const Sequence& sequence, int32_t num_computed_tokens) const;
  int32_t FitBlocks(size_t running_idx, int32_t num_rows);
  void PreemptNewest();
  void Retire(const Sequence& sequence, Storage storage);
  void Emit(Sequence& sequence, int32_t num_rows, plan::StepPlan& plan);
  void Apply(Sequence& sequence, const plan::SequenceResult& result, SequenceUpdate& update);
  std::optional<FinishReason> StopReason(const Sequence& sequence) const;
  int32_t NumComingBlocks() const;
  int32_t NumCommittedBlocks() const;

  const SchedulerOptions options_;
  kv::BlockPool blocks_;
  kv::StateSlotPool state_slots_;
  std::vector<InFlightStep> in_flight_;  // oldest first; at most a few
  std::unordered_map<int64_t, std::unique_ptr<Sequence>> sequences_;
  std::vector<Sequence*> running_;   // ascending seq_id; Prefilling or Decoding
  std::deque<Sequence*> waiting_;    // ascending seq_id; Waiting
  std::vector<int64_t> to_release_;  // the runner still remembers them
  int64_t next_step_id_ = 1;
  int64_t last_seq_id_ = 0;
  int64_t num_preemptions_ = 0;
};

}  // namespace deepinfer::sched
