// A fork-join team of threads: the caller and num_threads - 1 workers run the pieces of one loop.
//
// Not a task queue: there is one region at a time, and it ends before ParallelFor returns.  Regions
// do not nest.  A region costs about a microsecond while the workers are hot; they spin briefly for
// the next region and then park, so an idle team uses no processor time and an oversubscribed
// machine is not stalled by spinning.
//
// Results must not depend on how a loop is cut: the pieces of ParallelFor are a function of
// num_items and num_threads, those of ParallelForDynamic also of timing.
//
// Ownership: owns its threads and scratch; the destructor joins them.
// Threading: one caller at a time.  The body must not throw.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace deepinfer::cpu {

// Memory that grows to the largest request and then stays: the steady state allocates nothing.
// Contents do not survive the next Get.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  // At least `num_bytes` of uninitialised memory aligned to 64 bytes.
  void* Get(size_t num_bytes);

  // `count` elements of T, uninitialised.
  template <typename T>
  T* GetArray(int64_t count) {
    static_assert(std::is_trivial_v<T>);
    return static_cast<T*>(Get(static_cast<size_t>(count) * sizeof(T)));
  }

 private:
  void* data_ = nullptr;
  size_t num_bytes_ = 0;
};

class Team {
 public:
  // Requires num_threads >= 1; 1 runs everything inline on the caller.
  explicit Team(int32_t num_threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int32_t num_threads() const { return num_threads_; }

  // Calls body(begin, end, thread_idx) with one contiguous piece for each thread that gets any, of
  // sizes that differ by one at most.  thread_idx is in [0, num_threads); the caller is 0.
  template <typename Body>
  void ParallelFor(int64_t num_items, const Body& body) {
    if (num_items <= 0) return;
    if (num_threads_ == 1 || num_items == 1) {
      body(int64_t{0}, num_items, int32_t{0});
      return;
    }
    const auto piece = [&](int32_t thread_idx) {
      const int64_t begin = num_items * thread_idx / num_threads_;
      const int64_t end = num_items * (thread_idx + 1) / num_threads_;
      if (begin < end) body(begin, end, thread_idx);
    };
    Run(piece);
  }

  // The same with pieces of `chunk` items that threads take as they get free, ascending.
  template <typename Body>
  void ParallelForDynamic(int64_t num_items, int64_t chunk, const Body& body) {
    if (num_items <= 0) return;
    if (num_threads_ == 1 || num_items <= chunk) {
      body(int64_t{0}, num_items, int32_t{0});
      return;
    }
    std::atomic<int64_t> next{0};
    const auto piece = [&](int32_t thread_idx) {
      while (true) {
        const int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
        if (begin >= num_items) return;
        body(begin, begin + chunk < num_items ? begin + chunk : num_items, thread_idx);
      }
    };
    Run(piece);
  }

  // Private memory of a thread, for use inside a region by that thread.
  Scratch& thread_scratch(int32_t thread_idx) { return thread_scratch_[thread_idx]; }

 private:
  using Entry = void (*)(const void* body, int32_t thread_idx);

  template <typename Piece>
  void Run(const Piece& piece) {
    RunErased([](const void* p, int32_t idx) { (*static_cast<const Piece*>(p))(idx); }, &piece);
  }
  void RunErased(Entry entry, const void* body);
  void WorkerLoop(int32_t thread_idx);

  const int32_t num_threads_;
  std::unique_ptr<Scratch[]> thread_scratch_;

  // Written by the caller before epoch_ is raised, read by workers after they saw it.
  Entry entry_ = nullptr;
  const void* body_ = nullptr;
  bool stop_ = false;

  alignas(64) std::atomic<uint32_t> epoch_{0};       // number of regions started
  alignas(64) std::atomic<int32_t> num_parked_{0};   // workers that may sleep on epoch_
  alignas(64) std::atomic<int32_t> num_running_{0};  // workers that have not finished the region
  std::vector<std::thread> workers_;
};

// Processors that this process may run on: its affinity mask, and the quota of its control group.
int32_t NumUsableCores();

}  // namespace deepinfer::cpu
