// The pools of kv/ against sets and maps, under any sequence of calls.
#include "kv/block_pool.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>

#include "kv/state_slots.h"
#include "property/seeded_rng.h"

namespace deepinfer::kv {
namespace {

TEST(BlockPoolProperty, AgreesWithCountsOfReferences) {
  testing::SeededRng rng(1);
  constexpr int32_t kNumBlocks = 40;
  BlockPool pool(kNumBlocks);
  std::map<int32_t, std::vector<BlockRef>> held;
  std::map<int32_t, int32_t> num_refs;  // of live blocks
  const auto drop = [&num_refs](const std::vector<BlockRef>& blocks) {
    for (const BlockRef& block : blocks) {
      if (--num_refs[block.id()] == 0) num_refs.erase(block.id());
    }
  };
  for (int32_t step = 0; step < 20'000; ++step) {
    const int64_t action = rng.Uniform(0, 3);
    if (action <= 1 || held.empty()) {
      const int32_t count = static_cast<int32_t>(rng.Uniform(0, 6));
      std::vector<BlockRef> blocks;
      const bool fits = count <= kNumBlocks - 1 - static_cast<int32_t>(num_refs.size());
      ASSERT_EQ(pool.Acquire(count, blocks), fits) << "step " << step;
      ASSERT_EQ(blocks.size(), fits ? static_cast<size_t>(count) : 0u);
      for (const BlockRef& block : blocks) {
        ASSERT_GE(block.id(), 1);
        ASSERT_LT(block.id(), kNumBlocks);
        ASSERT_TRUE(num_refs.emplace(block.id(), 1).second) << "block " << block.id();
      }
      held[step] = std::move(blocks);
    } else if (action == 2) {  // a second holder of the same blocks
      std::vector<BlockRef> shared;
      for (const BlockRef& block : rng.Pick(held)->second) {
        shared.push_back(block.Share());
        ++num_refs[block.id()];
      }
      held[step] = std::move(shared);
    } else {
      const auto it = rng.Pick(held);
      drop(it->second);
      held.erase(it);
    }
    ASSERT_EQ(pool.num_free() + static_cast<int32_t>(num_refs.size()), kNumBlocks - 1);
    for (const auto& [id, refs] : num_refs) ASSERT_EQ(pool.num_refs(id), refs);
  }
  held.clear();
  EXPECT_EQ(pool.num_free(), kNumBlocks - 1);
}

TEST(StateSlotPoolProperty, AgreesWithASet) {
  testing::SeededRng rng(2);
  constexpr int32_t kNumSlots = 12;
  StateSlotPool pool(kNumSlots);
  std::map<int32_t, StateSlotRef> held;
  std::set<int32_t> live;
  for (int32_t step = 0; step < 10'000; ++step) {
    if (rng.Coin() || held.empty()) {
      std::optional<StateSlotRef> slot = pool.Acquire();
      ASSERT_EQ(slot.has_value(), static_cast<int32_t>(live.size()) < kNumSlots - 1);
      if (!slot.has_value()) continue;
      ASSERT_TRUE(live.insert(slot->id()).second);
      held[step] = std::move(*slot);
    } else {
      const auto it = rng.Pick(held);
      live.erase(it->second.id());
      held.erase(it);
    }
    ASSERT_EQ(pool.num_free() + static_cast<int32_t>(live.size()), kNumSlots - 1);
  }
  held.clear();
}

}  // namespace
}  // namespace deepinfer::kv
