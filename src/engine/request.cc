#include "deepinfer/request.h"

#include <cmath>

#include "base/strings.h"
#include "engine/number_text.h"

namespace deepinfer {
namespace {

using engine::NumberText;

Status OutOfRange(std::string_view field, std::string_view expected, double got) {
  return InvalidArgument(StrCat(field, ": expected ", expected, ", got ", NumberText(got)));
}

// Ok when `value` is a number in [min, max], or (min, max] when `is_open`.
Status CheckNumber(std::string_view field, double value, double min, double max,
                   bool is_open = false) {
  if ((is_open ? value > min : value >= min) && value <= max) return OkStatus();
  return OutOfRange(
      field,
      StrCat("a number in ", is_open ? "(" : "[", NumberText(min), ", ", NumberText(max), "]"),
      value);
}

Status CheckLogprobs(std::string_view field, const std::optional<int32_t>& value) {
  if (!value.has_value()) return OkStatus();
  return CheckNumber(field, *value, 0, SamplingParams::kMaxLogprobs);
}

Status CheckStopStrings(const std::vector<std::string>& stop) {
  if (stop.size() > SamplingParams::kMaxStopStrings) {
    return OutOfRange("stop", StrCat("at most ", SamplingParams::kMaxStopStrings, " strings"),
                      static_cast<double>(stop.size()));
  }
  for (size_t i = 0; i < stop.size(); ++i) {
    if (stop[i].empty() || stop[i].size() > SamplingParams::kMaxStopStringBytes) {
      return OutOfRange(StrCat("stop[", i, "]"),
                        StrCat("1..", SamplingParams::kMaxStopStringBytes, " bytes"),
                        static_cast<double>(stop[i].size()));
    }
  }
  return OkStatus();
}

}  // namespace

Status ValidateSamplingParams(const SamplingParams& p) {
  constexpr double kMaxTemperature = 1e6;
  DI_RETURN_IF_ERROR(CheckNumber("temperature", p.temperature, 0, kMaxTemperature));
  if (p.top_k != SamplingParams::kAllTokens && p.top_k < 1) {
    return OutOfRange("top_k", "-1 for all, or at least 1", p.top_k);
  }
  DI_RETURN_IF_ERROR(CheckNumber("top_p", p.top_p, 0, 1, /*is_open=*/true));
  DI_RETURN_IF_ERROR(CheckNumber("min_p", p.min_p, 0, 1));
  if (p.max_tokens < 0) return OutOfRange("max_tokens", "at least 1", p.max_tokens);
  const int32_t max_tokens = p.max_tokens == 0 ? 1 : p.max_tokens;
  if (p.min_tokens < 0 || p.min_tokens > max_tokens) {
    return OutOfRange("min_tokens", StrCat("0..max_tokens (", max_tokens, ")"), p.min_tokens);
  }
  DI_RETURN_IF_ERROR(CheckStopStrings(p.stop));
  DI_RETURN_IF_ERROR(
      CheckNumber("repetition_penalty", p.repetition_penalty, 0, 100, /*is_open=*/true));
  DI_RETURN_IF_ERROR(CheckNumber("presence_penalty", p.presence_penalty, -2, 2));
  DI_RETURN_IF_ERROR(CheckNumber("frequency_penalty", p.frequency_penalty, -2, 2));
  for (size_t i = 0; i < p.logit_bias.size(); ++i) {
    DI_RETURN_IF_ERROR(CheckNumber(StrCat("logit_bias[", p.logit_bias[i].token_id, "]"),
                                   p.logit_bias[i].bias, -1e6, 1e6));
  }
  DI_RETURN_IF_ERROR(CheckLogprobs("logprobs", p.logprobs));
  DI_RETURN_IF_ERROR(CheckLogprobs("prompt_logprobs", p.prompt_logprobs));
  if (p.n < 1) return OutOfRange("n", "at least 1", p.n);
  if (p.n > 1) {
    return Unimplemented(StrCat("n: several samples of one prompt do not exist yet, got ", p.n));
  }
  return OkStatus();
}

}  // namespace deepinfer
