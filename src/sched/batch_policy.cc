#include "sched/batch_policy.h"

#include <algorithm>

#include "base/check.h"

namespace deepinfer::sched {
namespace {

// Logits needed by a chunk of `num_rows` rows.
int32_t LogitRows(const ChunkWish& wish, int32_t num_rows) {
  if (wish.logits_of_all_rows) return num_rows;
  return num_rows == wish.num_remaining_rows ? 1 : 0;
}

}  // namespace

bool BatchBudget::TakeDecodeRow() {
  if (limits_.max_num_rows < 1 || limits_.max_num_logit_rows < 1) return false;
  --limits_.max_num_rows;
  --limits_.max_num_logit_rows;
  return true;
}

int32_t BatchBudget::OfferChunk(const ChunkWish& wish) const {
  int32_t rows = std::min(wish.num_remaining_rows, limits_.max_num_rows);
  if (limits_.max_chunk_rows > 0) rows = std::min(rows, limits_.max_chunk_rows);
  if (wish.logits_of_all_rows) return std::min(rows, limits_.max_num_logit_rows);
  // All but the sampling row can run without logits.
  if (rows == wish.num_remaining_rows && limits_.max_num_logit_rows < 1) --rows;
  return rows;
}

void BatchBudget::TakeChunk(const ChunkWish& wish, int32_t num_rows) {
  limits_.max_num_rows -= num_rows;
  limits_.max_num_logit_rows -= LogitRows(wish, num_rows);
  DI_CHECK(limits_.max_num_rows >= 0 && limits_.max_num_logit_rows >= 0, "rows=", num_rows);
}

int32_t ReserveBlocks(int32_t num_running) { return (num_running + 7) / 8; }

}  // namespace deepinfer::sched
