// The engine thread: mail in, plans out to the device, results back, tokens to their callers.
//
//   mail -> Scheduler::Plan -> DeviceWorker -> Scheduler::Advance -> OutputRouter
//
// With async_scheduling a second plan is made while the first runs; results are the same.
// Ownership: owns scheduler, router and worker; shares the inbox.  The tokenizer, the model and the
//   clock must outlive it.
// Threading: Run is the engine thread; the constructor and the destructor may be called by another;
//   metrics and health are thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "deepinfer/engine.h"
#include "engine/device_worker.h"
#include "engine/inbox.h"
#include "engine/output_router.h"
#include "runner/runner.h"
#include "sched/scheduler.h"
#include "tokenizer/tokenizer.h"

namespace deepinfer::engine {

struct EngineLoopOptions {
  sched::SchedulerOptions scheduler;
  int32_t max_steps_in_flight = 1;
  std::chrono::nanoseconds step_timeout{std::chrono::seconds(600)};
};

class EngineLoop {
 public:
  EngineLoop(const EngineLoopOptions& options, std::shared_ptr<Inbox> inbox,
             const tokenizer::Tokenizer& tokenizer, std::unique_ptr<runner::Runner> runner,
             Clock& clock);

  // Serves until the inbox is closed; then ends every request with kCancelled.
  void Run();

  Status health() const;
  EngineMetrics metrics() const;

 private:
  void Serve();
  void TakeMail(bool may_wait);
  void Accept(NewRequest request);
  void ExpireRequests();
  void PlanSteps();
  void FinishStep();
  void Deliver(StepTask& task);
  void CountEnd(int64_t seq_id, bool has_failed);
  void EndRequest(int64_t seq_id, FinishReason reason, Status error);
  void Fail(Status why);
  void PublishMetrics();

  const EngineLoopOptions options_;
  const std::shared_ptr<Inbox> inbox_;  // owners: see Inbox
  Clock& clock_;
  sched::Scheduler scheduler_;
  OutputRouter router_;
  DeviceWorker worker_;
  Inbox::Mail mail_;
  std::set<std::pair<Clock::Time, int64_t>> deadlines_;   // and whose, by seq_id; soonest first
  std::unordered_map<int64_t, Clock::Time> deadline_of_;  // of requests under way that have one
  std::vector<std::unique_ptr<StepTask>> free_tasks_;
  std::vector<sched::SequenceUpdate> updates_;
  int32_t num_steps_in_flight_ = 0;
  bool is_closed_ = false;
  EngineMetrics totals_;

  mutable std::mutex mutex_;  // guards what other threads read
  Status health_;
  EngineMetrics metrics_;
};

}  // namespace deepinfer::engine
