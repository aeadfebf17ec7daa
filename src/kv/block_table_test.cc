#include "kv/block_table.h"

#include <gtest/gtest.h>

namespace deepinfer::kv {
namespace {

TEST(BlockTable, CountsWholeBlocks) {
  EXPECT_EQ(BlockTable::NumBlocksFor(0, 128), 0);
  EXPECT_EQ(BlockTable::NumBlocksFor(1, 128), 1);
  EXPECT_EQ(BlockTable::NumBlocksFor(128, 128), 1);
  EXPECT_EQ(BlockTable::NumBlocksFor(129, 128), 2);
}

TEST(BlockTable, GrowsToTheCountAndKeepsItsFirstBlocks) {
  BlockPool pool(6);
  BlockTable table;
  ASSERT_TRUE(table.GrowTo(pool, 2));
  std::vector<int32_t> before;
  table.AppendIds(before);
  ASSERT_TRUE(table.GrowTo(pool, 4));
  std::vector<int32_t> after;
  table.AppendIds(after);
  ASSERT_EQ(after.size(), 4u);
  EXPECT_EQ(std::vector<int32_t>(after.begin(), after.begin() + 2), before);
  EXPECT_EQ(pool.num_free(), 1);
}

TEST(BlockTable, GrowthThatDoesNotFitChangesNothing) {
  BlockPool pool(4);
  BlockTable table;
  ASSERT_TRUE(table.GrowTo(pool, 2));
  EXPECT_FALSE(table.GrowTo(pool, 4));
  EXPECT_EQ(table.num_blocks(), 2);
  EXPECT_EQ(pool.num_free(), 1);
}

TEST(BlockTable, NeverShrinks) {
  BlockPool pool(4);
  BlockTable table;
  ASSERT_TRUE(table.GrowTo(pool, 3));
  EXPECT_TRUE(table.GrowTo(pool, 1));
  EXPECT_EQ(table.num_blocks(), 3);
}

TEST(BlockTable, MoveCarriesTheBlocksAlong) {
  BlockPool pool(4);
  BlockTable table;
  ASSERT_TRUE(table.GrowTo(pool, 3));
  {
    const BlockTable keeper = std::move(table);
    table = BlockTable();
    EXPECT_EQ(pool.num_free(), 0);
  }
  EXPECT_EQ(pool.num_free(), 3);
}

TEST(BlockTable, AppendsIdsBehindOtherTables) {
  BlockPool pool(4);
  BlockTable table;
  ASSERT_TRUE(table.GrowTo(pool, 1));
  std::vector<int32_t> ids = {42};
  table.AppendIds(ids);
  ASSERT_EQ(ids.size(), 2u);
  EXPECT_EQ(ids[0], 42);
  EXPECT_GE(ids[1], 1);
}

}  // namespace
}  // namespace deepinfer::kv
