#include "engine/inbox.h"

#include <utility>

#include "base/strings.h"
#include "engine/request_stream.h"

namespace deepinfer::engine {

Status Inbox::PostRequest(NewRequest request) {
  {
    const std::lock_guard lock(mutex_);
    if (mail_.is_closed) return Unavailable("the engine is shutting down");
    if (num_open_ >= max_num_requests_) {
      return ResourceExhausted(StrCat("the engine has max_num_requests (", max_num_requests_,
                                      ") requests under way; try again later"));
    }
    ++num_open_;
    request.sequence.seq_id = ++last_seq_id_;
    request.stream->set_seq_id(last_seq_id_);
    mail_.requests.push_back(std::move(request));
  }
  has_mail_.notify_one();
  return OkStatus();
}

void Inbox::PostCancel(int64_t seq_id) {
  {
    const std::lock_guard lock(mutex_);
    if (mail_.is_closed) return;
    mail_.cancelled_seq_ids.push_back(seq_id);
  }
  has_mail_.notify_one();
}

void Inbox::RequestEnded() {
  const std::lock_guard lock(mutex_);
  --num_open_;
}

void Inbox::Close() {
  {
    const std::lock_guard lock(mutex_);
    mail_.is_closed = true;
  }
  has_mail_.notify_one();
}

void Inbox::Take(std::chrono::nanoseconds timeout, Mail& mail) {
  mail.requests.clear();
  mail.cancelled_seq_ids.clear();
  std::unique_lock lock(mutex_);
  if (timeout > std::chrono::nanoseconds::zero()) {
    has_mail_.wait_for(lock, timeout, [this] {
      return mail_.is_closed || !mail_.requests.empty() || !mail_.cancelled_seq_ids.empty();
    });
  }
  mail.requests.swap(mail_.requests);
  mail.cancelled_seq_ids.swap(mail_.cancelled_seq_ids);
  mail.is_closed = mail_.is_closed;
}

}  // namespace deepinfer::engine
