#include "base/bounded_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

namespace deepinfer {
namespace {

constexpr auto kNoWait = std::chrono::nanoseconds(0);
constexpr auto kLong = std::chrono::seconds(60);

TEST(BoundedQueue, FirstInFirstOutAndFullIsRefused) {
  BoundedQueue<int> queue(2);
  EXPECT_TRUE(queue.TryPush(1).ok());
  EXPECT_TRUE(queue.Push(2, kNoWait).ok());
  EXPECT_EQ(queue.TryPush(3).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(queue.Push(3, kNoWait).code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(*queue.Pop(kNoWait), 1);
  EXPECT_EQ(queue.TryPop(), 2);
  EXPECT_EQ(queue.TryPop(), std::nullopt);
  EXPECT_EQ(queue.Pop(kNoWait).status().code(), StatusCode::kDeadlineExceeded);
}

TEST(BoundedQueue, RefusedItemStaysWithTheCaller) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  ASSERT_TRUE(queue.TryPush(std::make_unique<int>(1)).ok());
  auto second = std::make_unique<int>(2);
  EXPECT_FALSE(queue.TryPush(second).ok());
  EXPECT_FALSE(queue.Push(second, kNoWait).ok());
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(*second, 2);
}

TEST(BoundedQueue, CloseDrainsThenReportsUnavailable) {
  BoundedQueue<int> queue(2);
  ASSERT_TRUE(queue.TryPush(1).ok());
  queue.Close();
  EXPECT_EQ(queue.TryPush(2).code(), StatusCode::kUnavailable);
  EXPECT_EQ(queue.Push(2, kLong).code(), StatusCode::kUnavailable);
  EXPECT_EQ(*queue.Pop(kLong), 1);
  EXPECT_EQ(queue.Pop(kLong).status().code(), StatusCode::kUnavailable);
}

TEST(BoundedQueue, CloseWakesWaitersOnBothSides) {
  BoundedQueue<int> empty(1);
  BoundedQueue<int> full(1);
  ASSERT_TRUE(full.TryPush(1).ok());
  std::thread consumer(
      [&] { EXPECT_EQ(empty.Pop(kLong).status().code(), StatusCode::kUnavailable); });
  std::thread producer([&] { EXPECT_EQ(full.Push(2, kLong).code(), StatusCode::kUnavailable); });
  empty.Close();
  full.Close();
  consumer.join();
  producer.join();
}

TEST(BoundedQueue, ManyThreadsLoseAndDoubleNothing) {
  constexpr int32_t kPerProducer = 2'000;
  BoundedQueue<int32_t> queue(7);
  std::atomic<int64_t> sum = 0;
  std::atomic<int64_t> count = 0;
  std::vector<std::thread> producers;
  std::vector<std::thread> consumers;
  for (int32_t p = 0; p < 3; ++p) {
    producers.emplace_back([&, p] {
      for (int32_t i = 0; i < kPerProducer; ++i)
        ASSERT_TRUE(queue.Push(p * kPerProducer + i, kLong).ok());
    });
    consumers.emplace_back([&] {
      while (true) {
        const Result<int32_t> item = queue.Pop(kLong);
        if (!item.ok()) return;
        sum += *item;
        ++count;
      }
    });
  }
  for (std::thread& t : producers) t.join();
  queue.Close();
  for (std::thread& t : consumers) t.join();
  constexpr int64_t kTotal = 3 * kPerProducer;
  EXPECT_EQ(count, kTotal);
  EXPECT_EQ(sum, kTotal * (kTotal - 1) / 2);
}

}  // namespace
}  // namespace deepinfer
