// The device thread: takes plans from a queue, runs them, and puts the results into another.
//
// Both queues are bounded by the number of steps in flight.  What a step throws ends up in its
// task's status; the worker goes on, the engine decides.
// Ownership: owns the runner and the thread.  Tasks belong to whoever holds them.
// Threading: Push and Pop by the engine thread; the runner is touched by the worker's thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include "base/bounded_queue.h"
#include "deepinfer/status.h"
#include "plan/step_plan.h"
#include "plan/step_result.h"
#include "runner/runner.h"

namespace deepinfer::engine {

// One step on its way to the device and back; used again and again, so that its memory stays.
struct StepTask {
  plan::StepPlan plan;
  plan::StepResult result;
  Status error;  // the device or an invariant broke: nothing in `result` counts
};

class DeviceWorker {
 public:
  // `max_num_tasks` is the number of steps in flight.
  DeviceWorker(std::unique_ptr<runner::Runner> runner, int32_t max_num_tasks);
  // Waits for the step that runs.
  ~DeviceWorker();

  // Requires fewer than max_num_tasks tasks in flight.
  void Push(std::unique_ptr<StepTask> task);

  // The oldest task, when it has run.  kDeadlineExceeded when that takes longer than `timeout`.
  Result<std::unique_ptr<StepTask>> Pop(std::chrono::nanoseconds timeout);

 private:
  void Run();

  const std::unique_ptr<runner::Runner> runner_;
  BoundedQueue<std::unique_ptr<StepTask>> plans_;
  BoundedQueue<std::unique_ptr<StepTask>> results_;
  std::thread thread_;
};

}  // namespace deepinfer::engine
