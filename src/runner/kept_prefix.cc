#include "runner/kept_prefix.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "runner/row_math.h"

namespace deepinfer::runner {
namespace {

// The three digits of a key, highest first.
struct Digit {
  int32_t shift;
  uint32_t mask;
};
constexpr Digit kDigits[] = {{21, 0x7ff}, {10, 0x7ff}, {0, 0x3ff}};

constexpr size_t kFewEnoughToSort = 128;

}  // namespace

KeptPrefix KeptPrefixFinder::Find(std::span<const float> row, std::span<const float> weights,
                                  const PrefixLimits& limits) {
  DI_CHECK(!row.empty() && row.size() == weights.size(), "row=", row.size());
  DI_CHECK(limits.max_count >= 1, "max_count=", limits.max_count);
  if (limits.is_off()) return KeptPrefix::All();
  candidates_.resize(row.size());
  std::iota(candidates_.begin(), candidates_.end(), 0);
  PrefixLimits left = limits;
  for (const Digit& digit : kDigits) {
    if (candidates_.size() <= kFewEnoughToSort) break;
    if (!Narrow(row, weights, digit.shift, digit.mask, left)) return KeptPrefix::All();
  }
  // Either few, or all of one key.
  if (candidates_.size() <= kFewEnoughToSort) {
    std::sort(candidates_.begin(), candidates_.end(), [row](int32_t a, int32_t b) {
      const float za = row[static_cast<size_t>(a)];
      const float zb = row[static_cast<size_t>(b)];
      return za != zb ? za > zb : a < b;
    });
  }
  // Narrow leaves no candidate out in front of the last one that stays, but may leave the last one
  // to be an id of a larger key: then the first candidate is not kept, and none is.
  KeptPrefix prefix{.threshold_key = OrderedKey(row[static_cast<size_t>(candidates_[0])]),
                    .last_tied_id = -1};
  uint64_t mass = 0;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    if (static_cast<int64_t>(i) >= left.max_count || mass > left.max_mass) break;
    const size_t id = static_cast<size_t>(candidates_[i]);
    prefix = {.threshold_key = OrderedKey(row[id]), .last_tied_id = candidates_[i]};
    mass += MassOf(weights[id]);
  }
  return prefix;
}

// Keeps the candidates whose digit is that of the threshold, and takes those above it off `left`.
// False when all of them are within the limits.
bool KeptPrefixFinder::Narrow(std::span<const float> row, std::span<const float> weights,
                              int32_t shift, uint32_t mask, PrefixLimits& left) {
  buckets_.assign(kNumBuckets, Bucket());
  for (const int32_t id : candidates_) {
    Bucket& bucket = buckets_[OrderedKey(row[static_cast<size_t>(id)]) >> shift & mask];
    ++bucket.count;
    bucket.mass += MassOf(weights[static_cast<size_t>(id)]);
  }
  // Whole buckets stay while both limits hold behind them; the first other one has the threshold.
  int32_t b = kNumBuckets - 1;
  for (; b >= 0; --b) {
    const Bucket& bucket = buckets_[static_cast<size_t>(b)];
    if (bucket.count > left.max_count || bucket.mass > left.max_mass) break;
    left.max_count -= bucket.count;
    left.max_mass -= bucket.mass;
  }
  if (b < 0) return false;
  size_t num_left = 0;
  for (const int32_t id : candidates_) {
    const uint32_t key = OrderedKey(row[static_cast<size_t>(id)]);
    if ((key >> shift & mask) == static_cast<uint32_t>(b)) candidates_[num_left++] = id;
  }
  candidates_.resize(num_left);
  return true;
}

}  // namespace deepinfer::runner
