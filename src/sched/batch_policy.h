// Who gets how many rows of a step: the only place where batching and fairness are decided.
//
// The policy: every decoding sequence gets its row first; what is left goes to prompts in order of
// arrival, as much as fits.  So a long prompt fills the step beside the decoding sequences and can
// not stop them, and nobody overtakes an older prompt.
// Threading: values.
#pragma once

#include <cstdint>

namespace deepinfer::sched {

// Limits of one step.
struct BatchLimits {
  int32_t max_num_rows = 0;
  int32_t max_num_logit_rows = 0;  // rows whose logits are computed
  int32_t max_chunk_rows = 0;      // of one prompt; 0: no own limit
};

// What one prompt would like to run.
struct ChunkWish {
  int32_t num_remaining_rows = 0;   // up to and including the row that samples
  bool logits_of_all_rows = false;  // prompt log-probabilities
};

// What is left of a step's limits while it is being filled.
class BatchBudget {
 public:
  explicit BatchBudget(const BatchLimits& limits) : limits_(limits) {}

  // One row with logits, for a decoding sequence: false when the step is full.
  bool TakeDecodeRow();

  // Rows that the prompt may run in this step; 0 when the step is full.  Nothing is taken.
  int32_t OfferChunk(const ChunkWish& wish) const;

  // Takes `num_rows` rows, at most what OfferChunk gave.
  void TakeChunk(const ChunkWish& wish, int32_t num_rows);

  int32_t num_free_rows() const { return limits_.max_num_rows; }
  int32_t num_free_logit_rows() const { return limits_.max_num_logit_rows; }

 private:
  BatchLimits limits_;  // counts down
};

// Blocks that stay free when a prompt is admitted beside `num_running` sequences, so that these can
// grow a little before somebody has to be preempted.
int32_t ReserveBlocks(int32_t num_running);

}  // namespace deepinfer::sched
