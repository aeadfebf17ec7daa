#include "backend/cpu/team.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace deepinfer::cpu {
namespace {

TEST(Team, EveryItemRunsOnce) {
  for (const int32_t num_threads : {1, 2, 3, 7}) {
    Team team(num_threads);
    for (const int64_t num_items : {0, 1, 2, 3, 6, 7, 8, 100}) {
      std::vector<int32_t> counts(static_cast<size_t>(num_items), 0);
      team.ParallelFor(num_items, [&](int64_t begin, int64_t end, int32_t thread_idx) {
        EXPECT_LT(thread_idx, num_threads);
        for (int64_t i = begin; i < end; ++i) ++counts[i];
      });
      for (const int32_t count : counts) EXPECT_EQ(count, 1);
    }
  }
}

TEST(Team, DynamicChunksCoverEveryItemOnce) {
  Team team(3);
  std::vector<int32_t> counts(1001, 0);
  team.ParallelForDynamic(1001, 10, [&](int64_t begin, int64_t end, int32_t) {
    EXPECT_EQ(begin % 10, 0);
    for (int64_t i = begin; i < end; ++i) ++counts[i];
  });
  for (const int32_t count : counts) EXPECT_EQ(count, 1);
}

TEST(Team, ManyRegionsOnMoreThreadsThanCores) {
  Team team(NumUsableCores() + 2);
  std::vector<int64_t> sums(static_cast<size_t>(team.num_threads()), 0);
  constexpr int64_t kRegions = 100;
  for (int64_t region = 0; region < kRegions; ++region) {
    team.ParallelFor(team.num_threads(), [&](int64_t begin, int64_t, int32_t) { ++sums[begin]; });
  }
  for (const int64_t sum : sums) EXPECT_EQ(sum, kRegions);
}

TEST(Team, ParkedWorkersWakeUp) {
  Team team(2);
  int64_t ran[2] = {0, 0};
  for (int32_t i = 0; i < 5; ++i) {
    // Longer than any spin, so that the worker sleeps when the next region starts.  The promise
    // under test holds whether or not it does.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    team.ParallelFor(2, [&](int64_t begin, int64_t, int32_t) { ++ran[begin]; });
  }
  EXPECT_EQ(ran[0], 5);
  EXPECT_EQ(ran[1], 5);
}

TEST(Scratch, GrowsAndThenStays) {
  Scratch scratch;
  void* first = scratch.Get(100);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
  EXPECT_EQ(scratch.Get(50), first);
  float* large = scratch.GetArray<float>(100000);
  large[99999] = 1;
  EXPECT_EQ(scratch.Get(1), large);
}

}  // namespace
}  // namespace deepinfer::cpu
