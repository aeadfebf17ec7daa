#include "sched/sequence_state.h"

#include <gtest/gtest.h>

namespace deepinfer::sched {
namespace {

Storage TakeStorage(kv::BlockPool& blocks, kv::StateSlotPool& slots) {
  Storage storage;
  EXPECT_TRUE(storage.blocks.GrowTo(blocks, 2));
  storage.state_slot = *slots.Acquire();
  return storage;
}

template <typename State>
concept Preemptable = requires(State state, Storage storage) {
  Preempt(std::move(state), storage);
};

TEST(SequenceState, OnlyRunningStatesCanBePreempted) {
  static_assert(Preemptable<Prefilling>);
  static_assert(Preemptable<Decoding>);
  static_assert(!Preemptable<Waiting>);
  static_assert(!Preemptable<Finished>);
}

TEST(SequenceState, PrefillHandsItsStorageToDecode) {
  kv::BlockPool blocks(4);
  kv::StateSlotPool slots(2);
  Prefilling prefilling = Admit(Waiting{}, TakeStorage(blocks, slots));
  prefilling.num_computed_tokens = 7;
  const Decoding decoding = FinishPrefill(std::move(prefilling));
  EXPECT_EQ(decoding.num_computed_tokens, 7);
  EXPECT_EQ(decoding.storage.blocks.num_blocks(), 2);
  EXPECT_EQ(blocks.num_free(), 1);
}

TEST(SequenceState, PreemptionMovesTheStorageOut) {
  kv::BlockPool blocks(4);
  kv::StateSlotPool slots(2);
  {
    Storage released;
    (void)Preempt(Admit(Waiting{}, TakeStorage(blocks, slots)), released);
    EXPECT_EQ(blocks.num_free(), 1);  // `released` has it now
    EXPECT_EQ(slots.num_free(), 0);
  }
  EXPECT_EQ(blocks.num_free(), 3);
  EXPECT_EQ(slots.num_free(), 1);
}

TEST(SequenceState, FinishKeepsTheReasonAndNoStorage) {
  kv::BlockPool blocks(4);
  kv::StateSlotPool slots(2);
  Finished finished;
  {
    Storage released;
    Decoding decoding = FinishPrefill(Admit(Waiting{}, TakeStorage(blocks, slots)));
    finished = Finish(std::move(decoding), FinishReason::kLength, released);
  }
  EXPECT_EQ(finished.reason, FinishReason::kLength);
  EXPECT_EQ(blocks.num_free(), 3);
  EXPECT_EQ(Finish(Waiting{}, FinishReason::kCancelled).reason, FinishReason::kCancelled);
}

}  // namespace
}  // namespace deepinfer::sched
