#include "engine/request_stream.h"

#include <utility>

#include "base/check.h"
#include "base/strings.h"

namespace deepinfer {
namespace {

void AppendLogprobs(std::span<plan::TokenLogprobs> from, std::vector<float>& logprobs,
                    std::vector<std::vector<TokenAlternative>>& top) {
  for (plan::TokenLogprobs& entry : from) {
    logprobs.push_back(entry.logprob);
    top.push_back(std::move(entry.top));
  }
}

template <typename T>
std::vector<T> Tail(const std::vector<T>& all, size_t begin) {
  return {all.begin() + static_cast<std::ptrdiff_t>(begin), all.end()};
}

}  // namespace

RequestHandle::Stream::Stream(std::string request_id, std::vector<int32_t> prompt_token_ids,
                              std::shared_ptr<engine::Inbox> inbox)
    : inbox_(std::move(inbox)) {
  total_.request_id = std::move(request_id);
  total_.prompt_token_ids = std::move(prompt_token_ids);
}

void RequestHandle::Stream::Publish(const StreamUpdate& update) {
  {
    const std::lock_guard lock(mutex_);
    DI_CHECK(!is_finished_, "request ", total_.request_id, " has ended already");
    total_.token_ids.insert(total_.token_ids.end(), update.token_ids.begin(),
                            update.token_ids.end());
    total_.text += update.text;
    AppendLogprobs(update.logprobs, total_.logprobs, total_.top_logprobs);
    AppendLogprobs(update.prompt_logprobs, total_.prompt_logprobs, total_.prompt_top_logprobs);
    if (update.finish_reason.has_value()) {
      total_.finish_reason = *update.finish_reason;
      total_.error = update.error;
      is_finished_ = true;
    }
  }
  changed_.notify_all();
}

bool RequestHandle::Stream::HasNews() const {
  return is_finished_ || total_.token_ids.size() > taken_.num_tokens ||
         total_.text.size() > taken_.num_text_bytes ||
         total_.prompt_logprobs.size() > taken_.num_prompt_logprobs;
}

TokenDelta RequestHandle::Stream::TakeNews() {
  TokenDelta delta{
      .request_id = total_.request_id,
      .token_ids = Tail(total_.token_ids, taken_.num_tokens),
      .text = total_.text.substr(taken_.num_text_bytes),
      .logprobs = Tail(total_.logprobs, taken_.num_logprobs),
      .top_logprobs = Tail(total_.top_logprobs, taken_.num_logprobs),
      .prompt_logprobs = Tail(total_.prompt_logprobs, taken_.num_prompt_logprobs),
      .prompt_top_logprobs = Tail(total_.prompt_top_logprobs, taken_.num_prompt_logprobs)};
  delta.usage = {.num_prompt_tokens = static_cast<int32_t>(total_.prompt_token_ids.size()),
                 .num_output_tokens = static_cast<int32_t>(total_.token_ids.size()),
                 .num_cached_tokens = total_.num_cached_tokens};
  if (is_finished_) {
    delta.finish_reason = total_.finish_reason;
    delta.error = total_.error;
  }
  taken_ = {.num_tokens = total_.token_ids.size(),
            .num_text_bytes = total_.text.size(),
            .num_logprobs = total_.logprobs.size(),
            .num_prompt_logprobs = total_.prompt_logprobs.size(),
            .has_end = is_finished_};
  return delta;
}

Result<TokenDelta> RequestHandle::Stream::Next(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  if (taken_.has_end) {
    return InvalidArgument(StrCat("request ", Quoted(total_.request_id), " has no further tokens"));
  }
  if (!changed_.wait_for(lock, timeout, [this] { return HasNews(); })) {
    return DeadlineExceeded(StrCat("no token of request ", Quoted(total_.request_id), " within ",
                                   timeout.count(), " ms"));
  }
  return TakeNews();
}

Result<RequestOutput> RequestHandle::Stream::Wait(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, timeout, [this] { return is_finished_; })) {
    return DeadlineExceeded(StrCat("request ", Quoted(total_.request_id), " did not end within ",
                                   timeout.count(), " ms"));
  }
  return total_;
}

bool RequestHandle::Stream::finished() const {
  const std::lock_guard lock(mutex_);
  return is_finished_;
}

int64_t RequestHandle::Stream::num_output_tokens() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(total_.token_ids.size());
}

void RequestHandle::Stream::Cancel() { inbox_->PostCancel(seq_id_.load()); }

RequestHandle::RequestHandle(std::shared_ptr<Stream> stream) : stream_(std::move(stream)) {}
const std::string& RequestHandle::request_id() const { return stream_->request_id(); }
const std::vector<int32_t>& RequestHandle::prompt_token_ids() const {
  return stream_->prompt_token_ids();
}
Result<TokenDelta> RequestHandle::Next(std::chrono::milliseconds timeout) {
  return stream_->Next(timeout);
}
Result<RequestOutput> RequestHandle::Wait(std::chrono::milliseconds timeout) {
  return stream_->Wait(timeout);
}
bool RequestHandle::finished() const { return stream_->finished(); }
int64_t RequestHandle::num_output_tokens() const { return stream_->num_output_tokens(); }
void RequestHandle::Cancel() { stream_->Cancel(); }

}  // namespace deepinfer
