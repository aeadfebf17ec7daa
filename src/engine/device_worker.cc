#include "engine/device_worker.h"

#include <exception>
#include <utility>

#include "base/check.h"
#include "base/strings.h"

namespace deepinfer::engine {
namespace {

// A wait without news ends and begins again.
constexpr std::chrono::hours kIdleWait(1);

}  // namespace

DeviceWorker::DeviceWorker(std::unique_ptr<runner::Runner> runner, int32_t max_num_tasks)
    : runner_(std::move(runner)),
      plans_(static_cast<size_t>(max_num_tasks)),
      results_(static_cast<size_t>(max_num_tasks)),
      thread_([this] { Run(); }) {}

DeviceWorker::~DeviceWorker() {
  plans_.Close();
  results_.Close();
  thread_.join();
}

void DeviceWorker::Push(std::unique_ptr<StepTask> task) {
  const Status status = plans_.TryPush(std::move(task));
  DI_CHECK(status.ok(), status.ToString());
}

Result<std::unique_ptr<StepTask>> DeviceWorker::Pop(std::chrono::nanoseconds timeout) {
  return results_.Pop(timeout);
}

void DeviceWorker::Run() {
  while (true) {
    Result<std::unique_ptr<StepTask>> popped = plans_.Pop(kIdleWait);
    if (popped.status().code() == StatusCode::kDeadlineExceeded) continue;
    if (!popped.ok()) return;
    std::unique_ptr<StepTask> task = std::move(popped).value();
    task->error = OkStatus();
    try {
      runner_->Run(task->plan, task->result);
    } catch (const DeviceError& error) {
      task->error = Unavailable(StrCat("the device failed: ", error.what()));
    } catch (const std::exception& error) {
      task->error = Internal(error.what());
    }
    if (!results_.TryPush(std::move(task)).ok()) return;  // closed: nobody waits any more
  }
}

}  // namespace deepinfer::engine
