#include "kv/block_pool.h"

#include <gtest/gtest.h>

#include <set>

#include "base/check.h"

namespace deepinfer::kv {
namespace {

std::vector<BlockRef> Take(BlockPool& pool, int32_t count) {
  std::vector<BlockRef> blocks;
  EXPECT_TRUE(pool.Acquire(count, blocks));
  return blocks;
}

TEST(BlockPool, AcquireIsAllOrNothing) {
  BlockPool pool(4);  // blocks 1..3
  std::vector<BlockRef> blocks;
  EXPECT_FALSE(pool.Acquire(4, blocks));
  EXPECT_TRUE(blocks.empty());
  EXPECT_EQ(pool.num_free(), 3);
}

TEST(BlockPool, HandsOutEveryBlockButZero) {
  BlockPool pool(5);
  const std::vector<BlockRef> blocks = Take(pool, 4);
  std::set<int32_t> ids;
  for (const BlockRef& block : blocks) ids.insert(block.id());
  EXPECT_EQ(ids, (std::set<int32_t>{1, 2, 3, 4}));
  EXPECT_EQ(pool.num_free(), 0);
}

TEST(BlockPool, AcquireAppendsBehindWhatIsThere) {
  BlockPool pool(4);
  std::vector<BlockRef> blocks = Take(pool, 1);
  const int32_t first = blocks[0].id();
  ASSERT_TRUE(pool.Acquire(1, blocks));
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].id(), first);
}

TEST(BlockPool, AcquireOfZeroBlocksSucceedsWhenFull) {
  BlockPool pool(2);
  const std::vector<BlockRef> held = Take(pool, 1);
  std::vector<BlockRef> none;
  EXPECT_TRUE(pool.Acquire(0, none));
}

TEST(BlockPool, BlockIsFreeWhenItsLastReferenceIsGone) {
  BlockPool pool(3);
  std::vector<BlockRef> blocks = Take(pool, 1);
  BlockRef second = blocks[0].Share();
  EXPECT_EQ(pool.num_refs(second.id()), 2);
  blocks.clear();
  EXPECT_EQ(pool.num_free(), 1);  // still held by `second`
  second.Reset();
  EXPECT_EQ(pool.num_free(), 2);
}

TEST(BlockPool, MovedReferenceOwnsNothing) {
  BlockPool pool(3);
  std::vector<BlockRef> blocks = Take(pool, 1);
  BlockRef moved = std::move(blocks[0]);
  EXPECT_FALSE(blocks[0]);  // NOLINT: the state after a move is promised
  EXPECT_EQ(blocks[0].id(), 0);
  EXPECT_TRUE(moved);
  blocks.clear();
  EXPECT_EQ(pool.num_free(), 1);
}

TEST(BlockPool, AssignmentLetsTheOldBlockGo) {
  BlockPool pool(3);
  std::vector<BlockRef> blocks = Take(pool, 2);
  const int32_t kept = blocks[1].id();
  blocks[0] = std::move(blocks[1]);
  EXPECT_EQ(blocks[0].id(), kept);
  EXPECT_EQ(pool.num_free(), 1);
}

TEST(BlockPool, LastFreedIsFirstReused) {
  BlockPool pool(10);
  std::vector<BlockRef> blocks = Take(pool, 3);
  const int32_t freed = blocks[1].id();
  blocks[1].Reset();
  EXPECT_EQ(Take(pool, 1)[0].id(), freed);
}

TEST(BlockPool, SharingNothingIsABug) {
  BlockRef none;
  EXPECT_THROW((void)none.Share(), InternalError);
}

TEST(BlockPool, NeedsAtLeastOneUsableBlock) { EXPECT_THROW(BlockPool(1), InternalError); }

TEST(BlockPoolDeathTest, PoolMustOutliveItsBlocks) {
  EXPECT_DEATH(
      {
        std::vector<BlockRef> blocks;
        BlockPool pool(3);
        (void)pool.Acquire(1, blocks);
      },
      "1 in use");
}

}  // namespace
}  // namespace deepinfer::kv
