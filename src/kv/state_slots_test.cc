#include "kv/state_slots.h"

#include <gtest/gtest.h>

#include <set>

#include "base/check.h"

namespace deepinfer::kv {
namespace {

TEST(StateSlotPool, HandsOutEverySlotButZero) {
  StateSlotPool pool(4);
  std::vector<StateSlotRef> held;
  std::set<int32_t> ids;
  for (int i = 0; i < 3; ++i) {
    std::optional<StateSlotRef> slot = pool.Acquire();
    ASSERT_TRUE(slot.has_value());
    ids.insert(slot->id());
    held.push_back(std::move(*slot));
  }
  EXPECT_EQ(ids, (std::set<int32_t>{1, 2, 3}));
  EXPECT_FALSE(pool.Acquire().has_value());
}

TEST(StateSlotPool, SlotIsFreeWhenItsOwnerIsGone) {
  StateSlotPool pool(3);
  {
    const std::optional<StateSlotRef> slot = pool.Acquire();
    EXPECT_EQ(pool.num_free(), 1);
  }
  EXPECT_EQ(pool.num_free(), 2);
}

TEST(StateSlotPool, MoveHandsTheSlotOver) {
  StateSlotPool pool(3);
  StateSlotRef first = *pool.Acquire();
  const int32_t id = first.id();
  StateSlotRef second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT: the state after a move is promised
  EXPECT_EQ(second.id(), id);
  EXPECT_EQ(pool.num_free(), 1);
  second.Reset();
  EXPECT_EQ(pool.num_free(), 2);
}

TEST(StateSlotPool, AssignmentLetsTheOldSlotGo) {
  StateSlotPool pool(3);
  StateSlotRef first = *pool.Acquire();
  first = *pool.Acquire();
  EXPECT_EQ(pool.num_free(), 1);
}

TEST(StateSlotPool, ResetTwiceIsHarmless) {
  StateSlotPool pool(3);
  StateSlotRef slot = *pool.Acquire();
  slot.Reset();
  slot.Reset();
  EXPECT_EQ(pool.num_free(), 2);
}

TEST(StateSlotPool, NeedsAtLeastOneUsableSlot) { EXPECT_THROW(StateSlotPool(1), InternalError); }

TEST(StateSlotPoolDeathTest, PoolMustOutliveItsSlots) {
  EXPECT_DEATH(
      {
        StateSlotRef slot;
        StateSlotPool pool(3);
        slot = *pool.Acquire();
      },
      "1 in use");
}

}  // namespace
}  // namespace deepinfer::kv
