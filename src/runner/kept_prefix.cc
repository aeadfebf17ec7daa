#include "runner/kept_prefix.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/check.h"
#include "runner/row_math.h"

namespace deepinfer::runner {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();
constexpr size_t kFewEnoughToSort = 64;
// Groups of ids whose maximum is looked at: more groups make a better bound, and take more time.
constexpr size_t kMinGroupSize = 8;
constexpr size_t kMaxGroups = 1024;

}  // namespace

KeptPrefix KeptPrefixFinder::Find(std::span<const float> row, std::span<const float> weights,
                                  uint64_t total_mass, const PrefixLimits& limits) {
  DI_CHECK(!row.empty() && row.size() == weights.size(), "row=", row.size());
  DI_CHECK(limits.max_count >= 1, "max_count=", limits.max_count);
  if (limits.is_off()) return KeptPrefix();
  CollectCandidates(row, weights, total_mass, limits);
  // Candidates are a prefix, too: what is in front of the last that stays is among them.
  PrefixLimits left = limits;
  for (int32_t shift = 32 - kDigitBits; shift >= 0; shift -= kDigitBits) {
    if (candidates_.size() <= kFewEnoughToSort) break;
    if (!Narrow(row, weights, shift, left)) return LastCandidate(row);
  }
  // Either few, or all of one key and in order.
  if (candidates_.size() <= kFewEnoughToSort) {
    std::sort(candidates_.begin(), candidates_.end(), [row](int32_t a, int32_t b) {
      const float za = row[static_cast<size_t>(a)];
      const float zb = row[static_cast<size_t>(b)];
      return za != zb ? za > zb : a < b;
    });
  }
  // Narrow may have taken everything that stays off `left`: then no candidate does.
  KeptPrefix prefix{.threshold = row[static_cast<size_t>(candidates_[0])], .last_tied_id = -1};
  uint64_t mass = 0;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    if (static_cast<int64_t>(i) >= left.max_count || mass > left.max_mass) break;
    const size_t id = static_cast<size_t>(candidates_[i]);
    prefix = {.threshold = row[id], .last_tied_id = candidates_[i]};
    mass += MassOf(weights[id]);
  }
  return prefix;
}

// The ids, ascending, that are not under a bound which every kept id reaches.
void KeptPrefixFinder::CollectCandidates(std::span<const float> row, std::span<const float> weights,
                                         uint64_t total_mass, const PrefixLimits& limits) {
  // Ids of mass t each: all of them together weigh at most row.size() * t.  While that is less than
  // what max_mass leaves over, more than max_mass stands in front of each.
  float min_weight = 0;
  if (limits.max_mass < total_mass) {
    const uint64_t t = (total_mass - limits.max_mass - 1) / row.size();
    // Rounded down, so that no id above the bound gets lost.
    min_weight = static_cast<float>(std::ldexp(static_cast<double>(t), -kMassBits) * (1 - 1e-6));
  }
  const float min_logit = LowestOfTop(row, limits.max_count);
  candidates_.resize(row.size());
  size_t num_candidates = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    candidates_[num_candidates] = static_cast<int32_t>(i);
    num_candidates += (weights[i] >= min_weight) & (row[i] >= min_logit);
  }
  candidates_.resize(num_candidates);
}

// A lower bound of the `count` largest elements: that many groups have a maximum of at least this.
float KeptPrefixFinder::LowestOfTop(std::span<const float> row, int64_t count) {
  const size_t num_groups = std::min(kMaxGroups, row.size() / kMinGroupSize);
  if (count > static_cast<int64_t>(num_groups)) return kNone;
  group_max_.resize(num_groups);
  GroupMaxima(row, group_max_);
  const auto nth = group_max_.begin() + static_cast<std::ptrdiff_t>(count - 1);
  std::nth_element(group_max_.begin(), nth, group_max_.end(), std::greater<>());
  return *nth;
}

// Keeps the candidates whose digit is that of the threshold, and takes those above it off `left`.
// False when all of them are within the limits.
bool KeptPrefixFinder::Narrow(std::span<const float> row, std::span<const float> weights,
                              int32_t shift, PrefixLimits& left) {
  const auto digit_of = [row, shift](int32_t id) {
    return OrderedKey(row[static_cast<size_t>(id)]) >> shift & (kNumBuckets - 1);
  };
  std::fill(std::begin(buckets_), std::end(buckets_), Bucket());
  for (const int32_t id : candidates_) {
    Bucket& bucket = buckets_[digit_of(id)];
    ++bucket.count;
    bucket.mass += MassOf(weights[static_cast<size_t>(id)]);
  }
  // Whole buckets stay while both limits hold behind them; the first other one has the threshold.
  int32_t b = kNumBuckets - 1;
  for (; b >= 0; --b) {
    const Bucket& bucket = buckets_[b];
    if (bucket.count > left.max_count || bucket.mass > left.max_mass) break;
    left.max_count -= bucket.count;
    left.max_mass -= bucket.mass;
  }
  if (b < 0) return false;
  size_t num_left = 0;
  for (const int32_t id : candidates_) {
    if (digit_of(id) == static_cast<uint32_t>(b)) candidates_[num_left++] = id;
  }
  candidates_.resize(num_left);
  return true;
}

// The prefix that ends with the last of the candidates.
KeptPrefix KeptPrefixFinder::LastCandidate(std::span<const float> row) const {
  KeptPrefix prefix{.threshold = row[static_cast<size_t>(candidates_[0])],
                    .last_tied_id = candidates_[0]};
  for (const int32_t id : candidates_) {
    const float z = row[static_cast<size_t>(id)];
    if (z <= prefix.threshold) prefix = {.threshold = z, .last_tied_id = id};
  }
  return prefix;
}

}  // namespace deepinfer::runner
