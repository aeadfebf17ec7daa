// Time, as something a test can hold still.
#pragma once

#include <chrono>
#include <mutex>
#include <thread>

namespace deepinfer {

// Monotonic time and sleeping.  Code that waits, retries or expires takes a Clock.
//
// Threading: thread-safe.
class Clock {
 public:
  using Duration = std::chrono::nanoseconds;
  using Time = std::chrono::time_point<std::chrono::steady_clock, Duration>;

  virtual ~Clock() = default;
  // Never goes backwards; the zero is arbitrary.
  virtual Time Now() = 0;
  virtual void SleepFor(Duration duration) = 0;
};

// The machine's clock.
class RealClock : public Clock {
 public:
  Time Now() override { return std::chrono::steady_clock::now(); }
  void SleepFor(Duration duration) override { std::this_thread::sleep_for(duration); }
};

// A clock that only moves when told to, or when somebody sleeps: then at once by the whole sleep,
// so that code with long waits runs in no time.
class FakeClock : public Clock {
 public:
  Time Now() override {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  void SleepFor(Duration duration) override {
    const std::lock_guard lock(mutex_);
    if (duration > Duration::zero()) {
      now_ += duration;
      slept_ += duration;
    }
  }
  void Advance(Duration duration) {
    const std::lock_guard lock(mutex_);
    now_ += duration;
  }
  // The sum of all sleeps so far.
  Duration slept() {
    const std::lock_guard lock(mutex_);
    return slept_;
  }

 private:
  std::mutex mutex_;
  Time now_ = Time(std::chrono::hours(1));
  Duration slept_ = Duration::zero();
};

}  // namespace deepinfer
