// Engine: submit requests, stream their tokens, cancel them.
//
// An Engine owns one model on one device and serves any number of callers at once.  Requests are
// batched as they come; each gets the tokens that it would get alone.  For a list of prompts that
// are answered as a whole, llm.h is simpler.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/config.h"
#include "deepinfer/output.h"
#include "deepinfer/request.h"
#include "deepinfer/status.h"

namespace deepinfer {

// The caller's end of one request.
//
// Ownership: may outlive the Engine, which ends all requests with kCancelled when it goes. Dropping
//   the handle does not cancel the request: call Cancel.
// Threading: thread-safe, but deltas go to whoever asks first.
class RequestHandle {
 public:
  struct Stream;  // the engine's end

  RequestHandle() = default;                      // of no request: only assignment is allowed
  RequestHandle(std::shared_ptr<Stream> stream);  // NOLINT: made by the engine

  const std::string& request_id() const;
  const std::vector<int32_t>& prompt_token_ids() const;

  // Waits for new tokens and takes all there are.  The last delta has a finish_reason; calling
  // again after it is kInvalidArgument.  kDeadlineExceeded when nothing came within `timeout`: the
  // request goes on.
  Result<TokenDelta> Next(std::chrono::milliseconds timeout);

  // Waits for the end and returns everything, what Next took already included.
  Result<RequestOutput> Wait(std::chrono::milliseconds timeout);

  // Whether the last delta is there, taken or not.
  bool finished() const;

  // Output tokens so far.
  int64_t num_output_tokens() const;

  // Ends the request with kCancelled as soon as the running step is done; its last delta still
  // comes.  Any number of calls at any time.
  void Cancel();

 private:
  std::shared_ptr<Stream> stream_;  // owners: the caller's handles and the engine's request table
};

// What the engine did so far, and does now.
struct EngineMetrics {
  int64_t num_requests_running = 0;  // hold cache
  int64_t num_requests_waiting = 0;
  int64_t num_requests_finished_total = 0;
  int64_t num_requests_failed_total = 0;  // of them, those that ended with kError
  int64_t num_steps_total = 0;
  int64_t num_rows_total = 0;  // tokens that ran through the model, again after preemption included
  int64_t num_prompt_tokens_total = 0;
  int64_t num_output_tokens_total = 0;
  int64_t num_preemptions_total = 0;
  int64_t num_blocks = 0;  // that can be handed out
  int64_t num_free_blocks = 0;
  int64_t num_free_state_slots = 0;
  int64_t forward_us_total = 0;  // time on the device
};

// Facts of the loaded model.
struct ModelInfo {
  std::string path;         // folder of the checkpoint
  std::string name;         // its last component
  std::string device;       // "cpu:avx2"
  bool is_builtin = false;  // nobody named a model
  int32_t vocab_size = 0;
  int32_t max_model_len = 0;  // tokens of prompt and output
  int32_t num_layers = 0;
  int32_t num_blocks = 0;  // of the cache, 128 tokens each
  int64_t kv_cache_bytes = 0;
  int64_t workspace_bytes = 0;
  std::vector<int32_t> eos_token_ids;
  SamplingParams sampling_defaults;  // of generation_config.json
};

// Threading: thread-safe.
class Engine {
 public:
  // Loads the model and starts the threads.  Errors name the file or option.
  static Result<std::unique_ptr<Engine>> Create(const EngineConfig& config);

  // Ends every request with kCancelled and stops the threads.
  virtual ~Engine() = default;

  // Checks the request and queues it.  A text prompt is encoded here, on the caller's thread.
  //   kInvalidArgument    a parameter, an id or the length of the prompt is out of range
  //   kResourceExhausted  max_num_requests are under way
  //   kUnavailable        the engine failed
  virtual Result<RequestHandle> Submit(Request request) = 0;

  // Ok while the engine serves; else why it stopped.
  virtual Status health() const = 0;

  virtual EngineMetrics metrics() const = 0;
  virtual const ModelInfo& model_info() const = 0;

  // The tokenizer's ids of `text` as a prompt: markers in it become special tokens, and the
  // begin-of-sequence id is in front where the checkpoint says so.
  virtual Result<std::vector<int32_t>> Encode(std::string_view text) const = 0;

  // The ids of `text` as one user turn without thinking, ready for an answer.  Markers in `text`
  // are ordinary text.  kInvalidArgument when the tokenizer has no chat markers.
  virtual Result<std::vector<int32_t>> EncodeChat(std::string_view text) const = 0;

  // Text of `token_ids`, without tokens flagged special.
  virtual Result<std::string> Decode(const std::vector<int32_t>& token_ids) const = 0;
};

}  // namespace deepinfer
