#include "sched/batch_policy.h"

#include <gtest/gtest.h>

namespace deepinfer::sched {
namespace {

TEST(BatchBudget, DecodeRowsStopAtTheSmallerLimit) {
  BatchBudget budget({.max_num_rows = 5, .max_num_logit_rows = 2});
  EXPECT_TRUE(budget.TakeDecodeRow());
  EXPECT_TRUE(budget.TakeDecodeRow());
  EXPECT_FALSE(budget.TakeDecodeRow());
  EXPECT_EQ(budget.num_free_rows(), 3);
}

TEST(BatchBudget, ChunkFillsWhatIsLeft) {
  BatchBudget budget({.max_num_rows = 8, .max_num_logit_rows = 8});
  ASSERT_TRUE(budget.TakeDecodeRow());
  const ChunkWish wish{.num_remaining_rows = 100};
  EXPECT_EQ(budget.OfferChunk(wish), 7);
  budget.TakeChunk(wish, 7);
  EXPECT_EQ(budget.OfferChunk(wish), 0);
  EXPECT_EQ(budget.num_free_logit_rows(), 7);  // the chunk does not sample
}

TEST(BatchBudget, ChunkThatEndsThePromptTakesOneLogitRow) {
  BatchBudget budget({.max_num_rows = 8, .max_num_logit_rows = 8});
  const ChunkWish wish{.num_remaining_rows = 3};
  budget.TakeChunk(wish, budget.OfferChunk(wish));
  EXPECT_EQ(budget.num_free_rows(), 5);
  EXPECT_EQ(budget.num_free_logit_rows(), 7);
}

TEST(BatchBudget, OwnChunkLimitHolds) {
  const BatchBudget budget({.max_num_rows = 8, .max_num_logit_rows = 8, .max_chunk_rows = 2});
  EXPECT_EQ(budget.OfferChunk({.num_remaining_rows = 100}), 2);
}

TEST(BatchBudget, WithoutLogitRowsAPromptRunsUpToItsSamplingRow) {
  const BatchBudget budget({.max_num_rows = 8, .max_num_logit_rows = 0});
  EXPECT_EQ(budget.OfferChunk({.num_remaining_rows = 4}), 3);
  EXPECT_EQ(budget.OfferChunk({.num_remaining_rows = 1}), 0);
}

TEST(BatchBudget, PromptLogprobsNeedLogitsOfEveryRow) {
  BatchBudget budget({.max_num_rows = 8, .max_num_logit_rows = 3});
  const ChunkWish wish{.num_remaining_rows = 100, .logits_of_all_rows = true};
  EXPECT_EQ(budget.OfferChunk(wish), 3);
  budget.TakeChunk(wish, 3);
  EXPECT_EQ(budget.num_free_logit_rows(), 0);
}

TEST(ReserveBlocks, NothingIsHeldBackFromTheFirst) {
  EXPECT_EQ(ReserveBlocks(0), 0);
  EXPECT_EQ(ReserveBlocks(1), 1);
  EXPECT_EQ(ReserveBlocks(17), 3);
}

}  // namespace
}  // namespace deepinfer::sched
