// TokenDelta and RequestOutput: what comes back from the engine, as a stream and as a whole.
//
// Threading: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/status.h"

namespace deepinfer {

// Why a text ended.
enum class FinishReason : int32_t {
  kStop,       // an end-of-sequence id, a stop id or a stop string
  kLength,     // max_tokens, or the context is full
  kCancelled,  // the caller gave up
  kError,      // this request failed; its error says why
};

// "stop", "length", "cancelled", "error".
std::string_view FinishReasonName(FinishReason reason);

// The finer kind of a request's error for callers that tell kinds apart: "prompt_length_exceeded"
// where it fits, else the name of the code.
std::string_view ErrorKind(const Status& error);

// The smallest log-probability that is reported; stands for ids that were removed.
inline constexpr float kMinLogprob = -9999.0f;

// An id with its natural log-probability.
struct TokenAlternative {
  int32_t token_id = 0;
  float logprob = 0;
};

// Tokens of a request, for bills and limits.
struct Usage {
  int32_t num_prompt_tokens = 0;
  int32_t num_output_tokens = 0;
  int32_t num_cached_tokens = 0;  // of the prompt, found in the prefix cache
};

// What a request gained since its last delta.  The deltas of a request, put together, are its
// RequestOutput: nothing is repeated and nothing is taken back.
//
// `text` may lag behind `token_ids`: half a character and whatever could become a stop string is
// held back until it is decided.  Exactly one delta of a request has a `finish_reason`, and it is
// the last.
struct TokenDelta {
  std::string request_id;
  int32_t sample_idx = 0;          // in [0, SamplingParams::n)
  std::vector<int32_t> token_ids;  // may be empty
  std::string text;                // whole UTF-8 characters; may be empty
  std::vector<float> logprobs;     // one for each of token_ids when asked for, else empty
  std::vector<std::vector<TokenAlternative>> top_logprobs;  // the same; most probable first

  // Of the prompt, as they become known; entry i of all of them together belongs to prompt token
  // i + 1.
  std::vector<float> prompt_logprobs;
  std::vector<std::vector<TokenAlternative>> prompt_top_logprobs;

  std::optional<FinishReason> finish_reason;
  Status error;  // not ok exactly when finish_reason is kError
  Usage usage;   // so far
};

// The whole result of one request.  Always there, also for a request that failed or never ran.
struct RequestOutput {
  std::string request_id;
  std::vector<int32_t> prompt_token_ids;
  std::vector<int32_t> token_ids;  // with the id that ended the text, if one did
  std::string text;  // token_ids without tokens flagged special, cut before a stop string
  FinishReason finish_reason = FinishReason::kError;
  Status error;  // not ok exactly when finish_reason is kError

  std::vector<float> logprobs;  // one for each of token_ids when asked for, else empty
  std::vector<std::vector<TokenAlternative>> top_logprobs;
  std::vector<float> prompt_logprobs;  // prompt length - 1 when asked for, else empty
  std::vector<std::vector<TokenAlternative>> prompt_top_logprobs;

  int32_t num_cached_tokens = 0;

  // Appends a delta.
  void Append(const TokenDelta& delta);
};

}  // namespace deepinfer
