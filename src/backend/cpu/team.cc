#include "backend/cpu/team.h"

#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <new>

#include "base/check.h"

namespace deepinfer::cpu {
namespace {

// About 20 us of pauses covers the serial stretches between the ops of a decode step; beyond that
// the processor is worth more to somebody else.
constexpr int32_t kSpinsBeforeYield = 1500;
constexpr int32_t kYieldsBeforePark = 50;

// One step of waiting; returns false once the bounded spin is over.
bool SpinOnce(int32_t& num_spins) {
  if (++num_spins <= kSpinsBeforeYield) {
    __builtin_ia32_pause();
    return true;
  }
  if (num_spins <= kSpinsBeforeYield + kYieldsBeforePark) {
    sched_yield();
    return true;
  }
  return false;
}

}  // namespace

Scratch::~Scratch() { std::free(data_); }

void* Scratch::Get(size_t num_bytes) {
  if (num_bytes <= num_bytes_) return data_;
  // Grow by half at least, so that a slowly rising demand settles after a few calls.
  size_t grown = num_bytes_ + num_bytes_ / 2;
  if (grown < num_bytes) grown = num_bytes;
  grown = (grown + 4095) / 4096 * 4096;
  std::free(data_);
  data_ = std::aligned_alloc(4096, grown);
  num_bytes_ = data_ == nullptr ? 0 : grown;
  if (data_ == nullptr) throw std::bad_alloc();
  return data_;
}

Team::Team(int32_t num_threads)
    : num_threads_(num_threads),
      thread_scratch_(std::make_unique<Scratch[]>(static_cast<size_t>(num_threads))) {
  DI_CHECK(num_threads >= 1, "num_threads=", num_threads);
  workers_.reserve(static_cast<size_t>(num_threads - 1));
  for (int32_t i = 1; i < num_threads; ++i) workers_.emplace_back([this, i] { WorkerLoop(i); });
}

Team::~Team() {
  stop_ = true;
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  epoch_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Team::RunErased(Entry entry, const void* body) {
  entry_ = entry;
  body_ = body;
  num_running_.store(num_threads_ - 1, std::memory_order_relaxed);
  // Publishes the three stores above to the workers.  seq_cst, as is the workers' num_parked_:
  // either we see a worker as parked and wake it, or it sees the new epoch and does not sleep.
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  if (num_parked_.load(std::memory_order_seq_cst) > 0) epoch_.notify_all();

  entry(body, 0);

  // Acquire pairs with each worker's release decrement: its writes are visible to the caller.
  int32_t num_spins = 0;
  while (num_running_.load(std::memory_order_acquire) > 0) {
    if (!SpinOnce(num_spins)) sched_yield();  // a worker lost its processor: give it ours
  }
}

void Team::WorkerLoop(int32_t thread_idx) {
  uint32_t seen = 0;
  while (true) {
    int32_t num_spins = 0;
    while (epoch_.load(std::memory_order_acquire) == seen) {
      if (SpinOnce(num_spins)) continue;
      num_parked_.fetch_add(1, std::memory_order_seq_cst);
      epoch_.wait(seen, std::memory_order_seq_cst);
      num_parked_.fetch_sub(1, std::memory_order_relaxed);
    }
    ++seen;  // regions do not overlap, so no epoch is ever skipped
    if (stop_) return;
    entry_(body_, thread_idx);
    num_running_.fetch_sub(1, std::memory_order_release);
  }
}

namespace {

// Cores' worth of time that the control group may use, rounded up; 0 when it is not limited.  The
// file holds "<quota> <period>" or "max <period>".
int32_t GroupCores() {
  std::FILE* file = std::fopen("/sys/fs/cgroup/cpu.max", "re");
  if (file == nullptr) return 0;
  long long quota = 0, period = 0;
  const int num_read = std::fscanf(file, "%lld %lld", &quota, &period);
  std::fclose(file);
  if (num_read != 2 || quota <= 0 || period <= 0) return 0;
  const long long cores = (quota + period - 1) / period;
  return cores > 4096 ? 0 : static_cast<int32_t>(cores);
}

}  // namespace

int32_t NumUsableCores() {
  const int32_t affinity = static_cast<int32_t>(std::thread::hardware_concurrency());
  const int32_t group = GroupCores();
  const int32_t cores = group > 0 && group < affinity ? group : affinity;
  return cores < 1 ? 1 : cores;
}

}  // namespace deepinfer::cpu
