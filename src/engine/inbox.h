// The engine thread's mailbox: new requests and cancellations, from any thread.
//
// It also counts the requests under way, so that a full engine refuses at the door, and gives each
// its sequence id in order of arrival.
// Ownership: shared by the engine and every request's stream, so a handle may cancel after the
//   engine has gone: then nothing happens.
// Threading: thread-safe; Take by the engine thread only.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "deepinfer/engine.h"
#include "deepinfer/status.h"
#include "sched/scheduler.h"

namespace deepinfer::engine {

// A request that was admitted, on its way to the scheduler.
struct NewRequest {
  std::shared_ptr<RequestHandle::Stream> stream;  // owners: see RequestHandle
  sched::NewSequence sequence;
  std::optional<Clock::Time> deadline;
};

class Inbox {
 public:
  struct Mail {
    std::vector<NewRequest> requests;
    std::vector<int64_t> cancelled_seq_ids;
    bool is_closed = false;
  };

  explicit Inbox(int32_t max_num_requests) : max_num_requests_(max_num_requests) {}

  // kResourceExhausted when max_num_requests are under way, kUnavailable after Close.  Gives the
  // sequence its id.
  Status PostRequest(NewRequest request);
  void PostCancel(int64_t seq_id);

  // A request has ended: one more may come.
  void RequestEnded();

  // No request gets in any more.
  void Close();

  // Moves everything that came to `mail`; waits up to `timeout` when there is nothing.
  void Take(std::chrono::nanoseconds timeout, Mail& mail);

 private:
  const int32_t max_num_requests_;
  std::mutex mutex_;
  std::condition_variable has_mail_;
  Mail mail_;
  int32_t num_open_ = 0;
  int64_t last_seq_id_ = 0;
};

}  // namespace deepinfer::engine
