// A first-in first-out queue with a fixed capacity between any number of producers and consumers.
//
// A full queue is back-pressure: Push waits, TryPush refuses; nothing is ever dropped.  After Close
// no item gets in, what is inside still comes out, and every waiter wakes up.
//
// Ownership: owns the items inside.  Destroy it only when no call is running.
// Threading: thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "base/check.h"
#include "deepinfer/status.h"

namespace deepinfer {

template <typename T>
class BoundedQueue {
 public:
  using Timeout = std::chrono::nanoseconds;

  // Requires capacity >= 1.
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) {
    DI_CHECK(capacity >= 1, "capacity=", capacity);
  }
  BoundedQueue(const BoundedQueue&) = delete;
  BoundedQueue& operator=(const BoundedQueue&) = delete;

  // Waits up to `timeout` for room.  kDeadlineExceeded when there was none, kUnavailable when the
  // queue is or gets closed; in both cases `item` is untouched.
  Status Push(T& item, Timeout timeout) {
    std::unique_lock lock(mutex_);
    const bool woke =
        has_room_.wait_for(lock, timeout, [&] { return is_closed_ || items_.size() < capacity_; });
    if (is_closed_) return Unavailable("the queue is closed");
    if (!woke) return DeadlineExceeded("no room in the queue in time");
    items_.push_back(std::move(item));
    lock.unlock();
    has_item_.notify_one();
    return OkStatus();
  }
  Status Push(T&& item, Timeout timeout) { return Push(item, timeout); }

  // Without waiting: kResourceExhausted when full, kUnavailable when closed; `item` is then
  // untouched.
  Status TryPush(T& item) {
    std::unique_lock lock(mutex_);
    if (is_closed_) return Unavailable("the queue is closed");
    if (items_.size() >= capacity_) return ResourceExhausted("the queue is full");
    items_.push_back(std::move(item));
    lock.unlock();
    has_item_.notify_one();
    return OkStatus();
  }
  Status TryPush(T&& item) { return TryPush(item); }

  // The oldest item; waits up to `timeout` for one.  kDeadlineExceeded when none came, kUnavailable
  // when the queue is closed and empty.
  Result<T> Pop(Timeout timeout) {
    std::unique_lock lock(mutex_);
    const bool woke =
        has_item_.wait_for(lock, timeout, [&] { return is_closed_ || !items_.empty(); });
    if (!items_.empty()) return TakeFront(lock);
    if (!woke) return DeadlineExceeded("no item in the queue in time");
    return Unavailable("the queue is closed");
  }

  // The oldest item, or nothing when there is none now.
  std::optional<T> TryPop() {
    std::unique_lock lock(mutex_);
    if (items_.empty()) return std::nullopt;
    return TakeFront(lock);
  }

  // No further item gets in.  May be called more than once.
  void Close() {
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
    }
    has_room_.notify_all();
    has_item_.notify_all();
  }

  bool is_closed() const {
    const std::lock_guard lock(mutex_);
    return is_closed_;
  }
  size_t size() const {
    const std::lock_guard lock(mutex_);
    return items_.size();
  }
  size_t capacity() const { return capacity_; }

 private:
  T TakeFront(std::unique_lock<std::mutex>& lock) {
    T item = std::move(items_.front());
    items_.pop_front();
    lock.unlock();
    has_room_.notify_one();
    return item;
  }

  const size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable has_room_;
  std::condition_variable has_item_;
  std::deque<T> items_;
  bool is_closed_ = false;
};

}  // namespace deepinfer
