// What lies between the engine and the caller of one request: everything that came so far, and how
// much of it the caller has taken.
//
// A slow caller holds up nobody: what it has not taken waits here as one delta, and is bounded by
// the request's own max_tokens.
// Ownership: owners are the caller's handles and the engine's request table.
// Threading: thread-safe; Publish by the engine thread only.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/engine.h"
#include "deepinfer/output.h"
#include "engine/inbox.h"
#include "plan/step_result.h"

namespace deepinfer {

// What the engine adds to a stream.
struct StreamUpdate {
  std::span<const int32_t> token_ids;
  std::string_view text;
  std::span<plan::TokenLogprobs> logprobs;         // moved from
  std::span<plan::TokenLogprobs> prompt_logprobs;  // moved from
  std::optional<FinishReason> finish_reason;
  Status error;
};

struct RequestHandle::Stream {
 public:
  Stream(std::string request_id, std::vector<int32_t> prompt_token_ids,
         std::shared_ptr<engine::Inbox> inbox);

  // The engine's end.
  void set_seq_id(int64_t seq_id) { seq_id_.store(seq_id); }
  void Publish(const StreamUpdate& update);

  // The caller's end: see RequestHandle.
  const std::string& request_id() const { return total_.request_id; }
  const std::vector<int32_t>& prompt_token_ids() const { return total_.prompt_token_ids; }
  Result<TokenDelta> Next(std::chrono::milliseconds timeout);
  Result<RequestOutput> Wait(std::chrono::milliseconds timeout);
  bool finished() const;
  int64_t num_output_tokens() const;
  void Cancel();

 private:
  // Entries of total_ that Next has handed out.
  struct Taken {
    size_t num_tokens = 0;
    size_t num_text_bytes = 0;
    size_t num_logprobs = 0;
    size_t num_prompt_logprobs = 0;
    bool has_end = false;
  };

  bool HasNews() const;
  TokenDelta TakeNews();

  const std::shared_ptr<engine::Inbox> inbox_;
  std::atomic<int64_t> seq_id_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  RequestOutput total_;  // request_id and prompt_token_ids never change
  bool is_finished_ = false;
  Taken taken_;
};

}  // namespace deepinfer
