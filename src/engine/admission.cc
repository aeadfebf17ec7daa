#include "engine/admission.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "base/rng.h"
#include "base/strings.h"

namespace deepinfer::engine {
namespace {

using SharedIds = std::shared_ptr<const std::vector<int32_t>>;

SharedIds SortedUnion(std::vector<int32_t> a, const std::vector<int32_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  std::sort(a.begin(), a.end());
  a.erase(std::unique(a.begin(), a.end()), a.end());
  return std::make_shared<std::vector<int32_t>>(std::move(a));
}

}  // namespace

Result<sched::NewSequence> Admission::Admit(const Request& request) {
  const SamplingParams& sampling = request.sampling;
  DI_RETURN_IF_ERROR(ValidateSamplingParams(sampling));
  DI_RETURN_IF_ERROR(CheckIds(request));
  if (request.timeout.has_value() && request.timeout->count() <= 0) {
    return InvalidArgument(
        StrCat("timeout: expected more than 0 ms, got ", request.timeout->count()));
  }
  const size_t prompt_len = request.prompt_token_ids.size();
  if (prompt_len == 0) {
    return InvalidArgument("prompt: expected text or token ids, got an empty prompt");
  }
  if (prompt_len > static_cast<size_t>(limits_.max_model_len)) {
    return InvalidArgument(StrCat("prompt_length_exceeded: expected at most ",
                                  limits_.max_model_len, " prompt tokens (max_model_len), got ",
                                  prompt_len));
  }
  auto resolved = std::make_shared<SamplingParams>(sampling);
  resolved->max_tokens = std::max(sampling.max_tokens, 1);
  sched::NewSequence sequence;
  sequence.prompt_token_ids = request.prompt_token_ids;
  sequence.seed = sampling.seed.has_value() ? *sampling.seed : NextSeed();
  sequence.masked_token_ids = SortedUnion(limits_.eos_token_ids, sampling.stop_token_ids);
  sequence.stop_token_ids =
      sampling.ignore_eos ? SortedUnion({}, sampling.stop_token_ids) : sequence.masked_token_ids;
  sequence.sampling = std::move(resolved);
  return sequence;
}

Status Admission::CheckIds(const Request& request) const {
  const auto check = [this](std::string_view field, size_t idx, int32_t id) -> Status {
    if (id >= 0 && id < limits_.vocab_size) return OkStatus();
    return InvalidArgument(
        StrCat(field, "[", idx, "]: expected an id in 0..", limits_.vocab_size - 1, ", got ", id));
  };
  const auto check_all = [&check](std::string_view field, std::span<const int32_t> ids) -> Status {
    for (size_t i = 0; i < ids.size(); ++i) DI_RETURN_IF_ERROR(check(field, i, ids[i]));
    return OkStatus();
  };
  const SamplingParams& sampling = request.sampling;
  DI_RETURN_IF_ERROR(check_all("prompt_token_ids", request.prompt_token_ids));
  DI_RETURN_IF_ERROR(check_all("stop_token_ids", sampling.stop_token_ids));
  DI_RETURN_IF_ERROR(check_all("banned_token_ids", sampling.banned_token_ids));
  for (size_t i = 0; i < sampling.logit_bias.size(); ++i) {
    DI_RETURN_IF_ERROR(check("logit_bias", i, sampling.logit_bias[i].token_id));
  }
  for (size_t i = 0; i < sampling.golden_token_ids.size(); ++i) {
    if (sampling.golden_token_ids[i] == SamplingParams::kFreeToken) continue;
    DI_RETURN_IF_ERROR(check("golden_token_ids", i, sampling.golden_token_ids[i]));
  }
  return OkStatus();
}

uint64_t Admission::NextSeed() {
  return PhiloxStream(seed_key_, num_seeds_.fetch_add(1)).NextUint64();
}

}  // namespace deepinfer::engine
