#include "deepinfer/output.h"

#include <iterator>

namespace deepinfer {

std::string_view FinishReasonName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kError:
      return "error";
  }
  return "?";
}

std::string_view ErrorKind(const Status& error) {
  constexpr std::string_view kPromptLength = "prompt_length_exceeded";
  if (error.message().rfind(kPromptLength, 0) == 0) return kPromptLength;
  return StatusCodeName(error.code());
}

void RequestOutput::Append(const TokenDelta& delta) {
  const auto append = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(token_ids, delta.token_ids);
  text += delta.text;
  append(logprobs, delta.logprobs);
  append(top_logprobs, delta.top_logprobs);
  append(prompt_logprobs, delta.prompt_logprobs);
  append(prompt_top_logprobs, delta.prompt_top_logprobs);
  num_cached_tokens = delta.usage.num_cached_tokens;
  if (delta.finish_reason.has_value()) {
    finish_reason = *delta.finish_reason;
    error = delta.error;
  }
}

}  // namespace deepinfer
