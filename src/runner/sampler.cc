#include "runner/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/rng.h"
#include "base/strings.h"
#include "runner/row_math.h"

namespace deepinfer::runner {
namespace {

constexpr double kGreedyTemperature = 1e-5;  // below it the largest logit wins
constexpr float kRemoved = -std::numeric_limits<float>::infinity();

Status NotFinite(int32_t position) {
  return Internal(StrCat("the logits for position ", position, " are not finite"));
}

bool HasPenalties(const SamplingParams& s) {
  return s.repetition_penalty != 1 || s.frequency_penalty != 0 || s.presence_penalty != 0;
}

// The ids with P >= min_p * max P, that is z - max >= T * log(min_p), as a threshold on z.
KeptPrefix MinPrefix(const SamplingParams& sampling, float max) {
  const double floor = sampling.temperature * std::log(sampling.min_p);
  const auto is_kept = [floor, max](float z) { return static_cast<double>(z) - max >= floor; };
  // The nearest float may lie on either side.
  float threshold = static_cast<float>(max + floor);
  while (!is_kept(threshold)) threshold = std::nextafter(threshold, max);
  while (is_kept(std::nextafter(threshold, kRemoved)) && threshold > kRemoved) {
    threshold = std::nextafter(threshold, kRemoved);
  }
  return {.threshold = threshold, .last_tied_id = INT32_MAX};
}

float ToLogprob(double value) { return std::max(static_cast<float>(value), kMinLogprob); }

}  // namespace

Sampler::Sampler(const SamplerOptions& options) : options_(options) {
  DI_CHECK(options.vocab_size >= 1 && options.num_token_ids >= 1, "vocab=", options.vocab_size);
  for (const int32_t id : options.banned_token_ids) {
    DI_CHECK(id >= 0 && id < options.vocab_size, "banned=", id);
  }
  const size_t size = static_cast<size_t>(options.vocab_size);
  adjusted_.resize(size);
  weights_.resize(size);
  block_sums_.reserve(size / 64 + 1);
}

bool Sampler::NeedsCounts(const SamplingParams& sampling) { return HasPenalties(sampling); }

Result<int32_t> Sampler::Sample(const SampleInput& input, plan::TokenLogprobs* logprobs) {
  const SamplingParams& sampling = *input.sampling;
  DI_CHECK(input.logits.size() == static_cast<size_t>(options_.vocab_size),
           "columns=", input.logits.size());
  const RowScan scan = ScanRow(input.logits);
  if (!scan.is_finite) return NotFinite(input.position);

  const std::span<const float> row = AdjustedRow(input);
  const bool is_unchanged = row.data() == input.logits.data() && row.size() == input.logits.size();
  auto distribution = MakeDistribution(row, is_unchanged ? scan.max : MaxOf(row), sampling);
  if (!distribution.ok()) return distribution.status();
  int32_t token_id = distribution->argmax;
  const size_t output_idx = static_cast<size_t>(input.num_output_tokens);
  if (output_idx < sampling.golden_token_ids.size() &&
      sampling.golden_token_ids[output_idx] != SamplingParams::kFreeToken) {
    token_id = sampling.golden_token_ids[output_idx];
  } else if (!distribution->is_greedy) {
    token_id = Draw(*distribution, input.seed, input.position);
  }
  if (logprobs != nullptr && sampling.logprobs.has_value()) {
    if (sampling.logprobs_mode == LogprobsMode::kProcessed) {
      ReportProcessed(*distribution, token_id, *sampling.logprobs, *logprobs);
    } else {
      ReportRaw(input.logits, scan.max, token_id, *sampling.logprobs, *logprobs);
    }
  }
  return token_id;
}

Status Sampler::PromptLogprob(std::span<const float> logits, const SamplingParams& sampling,
                              int32_t token_id, plan::TokenLogprobs& logprobs) {
  const RowScan scan = ScanRow(logits);
  if (!scan.is_finite) return Internal("the logits for a prompt position are not finite");
  const int32_t num_top = sampling.prompt_logprobs.value_or(0);
  if (sampling.logprobs_mode == LogprobsMode::kRaw) {
    ReportRaw(logits, scan.max, token_id, num_top, logprobs);
    return OkStatus();
  }
  DI_ASSIGN_OR_RETURN(const Distribution distribution,
                      MakeDistribution(logits, scan.max, sampling));
  ReportProcessed(distribution, token_id, num_top, logprobs);
  return OkStatus();
}

// The row after masks, bias and penalties: `input.logits` itself where nothing changes.
std::span<const float> Sampler::AdjustedRow(const SampleInput& input) {
  const SamplingParams& sampling = *input.sampling;
  // Ids that the tokenizer does not have stand behind all others: leave them out.
  const size_t num_ids = static_cast<size_t>(std::min(options_.num_token_ids, options_.vocab_size));
  const std::span<const float> row = input.logits.first(num_ids);
  const bool is_below_min =
      input.num_output_tokens < sampling.min_tokens && !input.masked_token_ids.empty();
  if (options_.banned_token_ids.empty() && sampling.banned_token_ids.empty() && !is_below_min &&
      sampling.logit_bias.empty() && !HasPenalties(sampling)) {
    return row;
  }
  std::copy(row.begin(), row.end(), adjusted_.begin());
  const auto remove = [&](std::span<const int32_t> ids) {
    for (const int32_t id : ids) {
      if (static_cast<size_t>(id) < num_ids) adjusted_[static_cast<size_t>(id)] = kRemoved;
    }
  };
  remove(options_.banned_token_ids);
  remove(sampling.banned_token_ids);
  if (is_below_min) remove(input.masked_token_ids);
  for (const LogitBias& bias : sampling.logit_bias) {
    const size_t id = static_cast<size_t>(bias.token_id);
    if (id < num_ids) adjusted_[id] += static_cast<float>(bias.bias);
  }
  if (HasPenalties(sampling)) {
    DI_CHECK(input.counts != nullptr, "penalties without counts");
    const float repetition = static_cast<float>(sampling.repetition_penalty);
    const float frequency = static_cast<float>(sampling.frequency_penalty);
    const float presence = static_cast<float>(sampling.presence_penalty);
    for (const TokenCounts::Entry& entry : input.counts->entries()) {
      if (static_cast<size_t>(entry.token_id) >= num_ids) continue;
      float& z = adjusted_[static_cast<size_t>(entry.token_id)];
      z = z > 0 ? z / repetition : z * repetition;
      if (entry.num_in_output > 0) {
        z -= frequency * static_cast<float>(entry.num_in_output) + presence;
      }
    }
  }
  return std::span<const float>(adjusted_).first(num_ids);
}

Result<Sampler::Distribution> Sampler::MakeDistribution(std::span<const float> row, float max,
                                                        const SamplingParams& sampling) {
  Distribution d{.row = row, .max = max};
  if (d.max == kRemoved) {
    return InvalidArgument("sampling: expected at least one allowed token id, all are banned");
  }
  d.argmax = FirstIndexOf(row, d.max);
  d.is_greedy = sampling.temperature < kGreedyTemperature;
  if (d.is_greedy) {
    d.kept = {.threshold = d.max, .last_tied_id = d.argmax};
    return d;
  }
  d.inverse_temperature = 1 / sampling.temperature;
  ExpWeights(row, d.max, static_cast<float>(d.inverse_temperature), weights_.data());
  d.kept_mass = SumOfMasses({weights_.data(), row.size()});
  RemoveTail(sampling, d);
  return d;
}

// The shortest of the prefixes that min_p, top_p and top_k keep.  Removed ids get a weight of 0.
void Sampler::RemoveTail(const SamplingParams& sampling, Distribution& d) {
  PrefixLimits limits;
  if (sampling.top_k != SamplingParams::kAllTokens &&
      static_cast<size_t>(sampling.top_k) < d.row.size()) {
    limits.max_count = sampling.top_k;
  }
  if (sampling.top_p < 1) {
    limits.max_mass = static_cast<uint64_t>(sampling.top_p * static_cast<double>(d.kept_mass));
  }
  if (limits.is_off() && sampling.min_p == 0) return;
  const std::span<float> weights(weights_.data(), d.row.size());
  d.kept = finder_.Find(d.row, weights, d.kept_mass, limits);
  if (sampling.min_p > 0) d.kept = KeptPrefix::Shorter(d.kept, MinPrefix(sampling, d.max));
  ZeroWeightsBelow(d.row, d.kept.threshold, weights.data());
  if (d.kept.last_tied_id < static_cast<int32_t>(weights.size()) - 1) {
    for (size_t i = static_cast<size_t>(d.kept.last_tied_id + 1); i < weights.size(); ++i) {
      if (d.row[i] == d.kept.threshold) weights[i] = 0;
    }
  }
  d.kept_mass = SumOfMasses(weights);
}

int32_t Sampler::Draw(const Distribution& d, uint64_t seed, int32_t position) {
  // p = weight / kept weight, then floor(p * 2^31).
  const double scale = std::ldexp(1.0, 31 + kMassBits) / static_cast<double>(d.kept_mass);
  const auto mass_of = [this, scale](size_t id) {
    return static_cast<uint64_t>(static_cast<int64_t>(static_cast<double>(weights_[id]) * scale));
  };
  // Sums of blocks, so that the search looks at few ids.
  constexpr size_t kBlockSize = 64;
  const size_t num_ids = d.row.size();
  block_sums_.clear();
  uint64_t total = 0;
  for (size_t begin = 0; begin < num_ids; begin += kBlockSize) {
    const size_t end = std::min(begin + kBlockSize, num_ids);
    uint64_t sum = 0;
    for (size_t i = begin; i < end; ++i) sum += mass_of(i);
    block_sums_.push_back(sum);
    total += sum;
  }
  DI_CHECK(total >= 1 && total <= 0xffffffffu, "total=", total);
  // Words at or above the largest multiple of `total` would favour some ids.
  const uint64_t limit = 0xffffffffu / total * total;
  PhiloxStream stream = TokenStream(seed, static_cast<uint64_t>(position), DrawPurpose::kSample);
  uint64_t word = stream.NextWord();
  while (word >= limit) word = stream.NextWord();
  uint64_t rest = word % total;
  size_t block = 0;
  for (; rest >= block_sums_[block]; ++block) rest -= block_sums_[block];
  size_t id = block * kBlockSize;
  for (; rest >= mass_of(id); ++id) rest -= mass_of(id);
  DI_CHECK(id < num_ids, "the draw ran past the last id");
  return static_cast<int32_t>(id);
}

void Sampler::ReportRaw(std::span<const float> logits, float max, int32_t token_id, int32_t num_top,
                        plan::TokenLogprobs& out) {
  const double log_sum = LogSumExp(logits, max, weights_.data());
  out.token_id = token_id;
  out.logprob = ToLogprob(static_cast<double>(logits[static_cast<size_t>(token_id)]) - log_sum);
  out.top.clear();
  TopIds(logits, num_top);
  for (const int32_t id : top_ids_) {
    const double z = static_cast<double>(logits[static_cast<size_t>(id)]);
    out.top.push_back({.token_id = id, .logprob = ToLogprob(z - log_sum)});
  }
}

void Sampler::ReportProcessed(const Distribution& d, int32_t token_id, int32_t num_top,
                              plan::TokenLogprobs& out) {
  out.token_id = token_id;
  out.logprob = ProcessedLogprob(d, token_id);
  out.top.clear();
  TopIds(d.row, num_top);
  for (const int32_t id : top_ids_) {
    out.top.push_back({.token_id = id, .logprob = ProcessedLogprob(d, id)});
  }
}

float Sampler::ProcessedLogprob(const Distribution& d, int32_t token_id) const {
  const size_t idx = static_cast<size_t>(token_id);
  if (idx >= d.row.size()) return kMinLogprob;
  const float z = d.row[idx];
  if (z == kRemoved || !d.kept.Contains(z, token_id)) return kMinLogprob;
  if (d.is_greedy) return 0;
  const double kept = std::ldexp(static_cast<double>(d.kept_mass), -kMassBits);
  return ToLogprob((static_cast<double>(z) - d.max) * d.inverse_temperature - std::log(kept));
}

// The `count` ids with the largest logits in top_ids_, largest first, lower id first on ties.
void Sampler::TopIds(std::span<const float> row, int32_t count) {
  const auto comes_before = [row](int32_t a, int32_t b) {
    const float za = row[static_cast<size_t>(a)];
    const float zb = row[static_cast<size_t>(b)];
    return za != zb ? za > zb : a < b;
  };
  top_ids_.clear();
  const size_t num_top = std::min(row.size(), static_cast<size_t>(std::max(count, 0)));
  if (num_top == 0) return;
  // A heap with the worst of the best on top.
  for (size_t i = 0; i < row.size(); ++i) {
    const int32_t id = static_cast<int32_t>(i);
    if (top_ids_.size() < num_top) {
      top_ids_.push_back(id);
      std::push_heap(top_ids_.begin(), top_ids_.end(), comes_before);
    } else if (comes_before(id, top_ids_.front())) {
      std::pop_heap(top_ids_.begin(), top_ids_.end(), comes_before);
      top_ids_.back() = id;
      std::push_heap(top_ids_.begin(), top_ids_.end(), comes_before);
    }
  }
  std::sort_heap(top_ids_.begin(), top_ids_.end(), comes_before);
}

}  // namespace deepinfer::runner
