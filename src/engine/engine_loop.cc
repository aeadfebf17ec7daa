#include "engine/engine_loop.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/strings.h"

namespace deepinfer::engine {
namespace {

// A wait without news ends and begins again.
constexpr std::chrono::nanoseconds kIdleWait = std::chrono::hours(1);

}  // namespace

EngineLoop::EngineLoop(const EngineLoopOptions& options, std::shared_ptr<Inbox> inbox,
                       const tokenizer::Tokenizer& tokenizer,
                       std::unique_ptr<runner::Runner> runner, Clock& clock)
    : options_(options),
      inbox_(std::move(inbox)),
      clock_(clock),
      scheduler_(options.scheduler),
      router_(tokenizer),
      worker_(std::move(runner), options.max_steps_in_flight) {
  PublishMetrics();
}

void EngineLoop::Run() {
  try {
    Serve();
  } catch (const std::exception& error) {
    Fail(Internal(error.what()));
  }
  // A failed engine refuses what still comes, until it is closed.
  while (!is_closed_) {
    TakeMail(/*may_wait=*/true);
    PublishMetrics();
  }
  router_.EndAll(FinishReason::kCancelled, OkStatus());
}

void EngineLoop::Serve() {
  while (!is_closed_) {
    TakeMail(num_steps_in_flight_ == 0 && !scheduler_.has_sequences());
    ExpireRequests();
    PlanSteps();
    if (num_steps_in_flight_ > 0) {
      FinishStep();
    } else {
      DI_CHECK(!scheduler_.has_sequences(), "sequences wait, but nothing can be planned");
    }
    PublishMetrics();
    if (!health().ok()) return;
  }
}

// Takes new requests and cancellations; with `may_wait` until there are any.
void EngineLoop::TakeMail(bool may_wait) {
  std::chrono::nanoseconds timeout{0};
  if (may_wait) timeout = kIdleWait;
  inbox_->Take(timeout, mail_);
  is_closed_ = mail_.is_closed;
  for (NewRequest& request : mail_.requests) Accept(std::move(request));
  for (const int64_t seq_id : mail_.cancelled_seq_ids) {
    EndRequest(seq_id, FinishReason::kCancelled, OkStatus());
  }
}

void EngineLoop::Accept(NewRequest request) {
  const int64_t seq_id = request.sequence.seq_id;
  router_.Add(seq_id, std::move(request.stream), request.sequence.sampling);
  const Status status = health();
  if (!status.ok()) {
    EndRequest(seq_id, FinishReason::kError, status);
    return;
  }
  if (request.deadline.has_value()) {
    deadlines_.emplace(*request.deadline, seq_id);
    deadline_of_.emplace(seq_id, *request.deadline);
  }
  totals_.num_prompt_tokens_total += static_cast<int64_t>(request.sequence.prompt_token_ids.size());
  scheduler_.Add(std::move(request.sequence));
}

void EngineLoop::ExpireRequests() {
  if (deadlines_.empty()) return;
  const Clock::Time now = clock_.Now();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const int64_t seq_id = deadlines_.begin()->second;
    EndRequest(seq_id, FinishReason::kError,
               DeadlineExceeded("the request did not end within its timeout"));
  }
}

// Fills the device's queue as far as there is work.
void EngineLoop::PlanSteps() {
  while (num_steps_in_flight_ < options_.max_steps_in_flight) {
    std::unique_ptr<StepTask> task;
    if (free_tasks_.empty()) {
      task = std::make_unique<StepTask>();
    } else {
      task = std::move(free_tasks_.back());
      free_tasks_.pop_back();
    }
    scheduler_.Plan(scheduler_.Wish(), task->plan);
    if (task->plan.empty()) {
      free_tasks_.push_back(std::move(task));
      return;
    }
    worker_.Push(std::move(task));
    ++num_steps_in_flight_;
  }
}

// Waits for the oldest step and hands out what it gave.
void EngineLoop::FinishStep() {
  Result<std::unique_ptr<StepTask>> popped = worker_.Pop(options_.step_timeout);
  if (!popped.ok()) {
    Fail(DeadlineExceeded(StrCat("a step did not end within ",
                                 std::chrono::duration<double>(options_.step_timeout).count(),
                                 " s (step_timeout_seconds)")));
    return;
  }
  --num_steps_in_flight_;
  std::unique_ptr<StepTask> task = std::move(popped).value();
  if (!task->error.ok()) {
    Fail(task->error);
    return;
  }
  if (!task->plan.sequences.empty()) Deliver(*task);
  free_tasks_.push_back(std::move(task));
}

void EngineLoop::Deliver(StepTask& task) {
  ++totals_.num_steps_total;
  totals_.num_rows_total += task.plan.num_tokens();
  totals_.forward_us_total += task.result.forward_us;
  updates_.clear();
  scheduler_.Advance(task.result, updates_);
  for (const sched::SequenceUpdate& update : updates_) {
    plan::SequenceResult& result = task.result.sequences[static_cast<size_t>(update.result_idx)];
    totals_.num_output_tokens_total += update.num_tokens;
    if (!router_.Route(update, result)) continue;
    // A stop string ends a sequence that the scheduler would go on with.
    scheduler_.Finish(update.seq_id, FinishReason::kStop);
    CountEnd(update.seq_id, update.finish_reason == FinishReason::kError);
  }
  PublishMetrics();
  router_.Flush();
}

void EngineLoop::EndRequest(int64_t seq_id, FinishReason reason, Status error) {
  if (!router_.Contains(seq_id)) return;  // it had ended
  if (health().ok()) scheduler_.Finish(seq_id, reason);
  CountEnd(seq_id, reason == FinishReason::kError);
  PublishMetrics();
  router_.End(seq_id, reason, std::move(error));
}

void EngineLoop::CountEnd(int64_t seq_id, bool has_failed) {
  if (const auto found = deadline_of_.find(seq_id); found != deadline_of_.end()) {
    deadlines_.erase({found->second, seq_id});
    deadline_of_.erase(found);
  }
  ++totals_.num_requests_finished_total;
  if (has_failed) ++totals_.num_requests_failed_total;
  inbox_->RequestEnded();
}

// The engine does not limp on: everybody is told, and nobody gets in any more.
void EngineLoop::Fail(Status why) {
  const Status status = Unavailable(StrCat("the engine has failed: ", why.message()));
  LogError("engine_failed", {{"reason", why.ToString()}});
  {
    const std::lock_guard lock(mutex_);
    if (health_.ok()) health_ = status;
  }
  for (const int64_t seq_id : router_.seq_ids()) CountEnd(seq_id, /*has_failed=*/true);
  PublishMetrics();
  router_.EndAll(FinishReason::kError, status);
}

void EngineLoop::PublishMetrics() {
  const sched::SchedulerStats stats = scheduler_.stats();
  totals_.num_requests_running = stats.num_running;
  totals_.num_requests_waiting = stats.num_waiting;
  totals_.num_preemptions_total = stats.num_preemptions_total;
  totals_.num_blocks = scheduler_.options().num_blocks - 1;
  totals_.num_free_blocks = stats.num_free_blocks;
  totals_.num_free_state_slots = stats.num_free_state_slots;
  const std::lock_guard lock(mutex_);
  metrics_ = totals_;
}

Status EngineLoop::health() const {
  const std::lock_guard lock(mutex_);
  return health_;
}

EngineMetrics EngineLoop::metrics() const {
  const std::lock_guard lock(mutex_);
  return metrics_;
}

}  // namespace deepinfer::engine
