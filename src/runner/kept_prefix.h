// Which ids of a row stay after top_p and top_k: a prefix of the ids by falling logit, the lower id
// first on ties.
//
// Found in time linear in the row and without sorting it: a bound that no kept id lies under leaves a
// few candidates, and radix select on the bits of their logits finds the last that stays.  Masses are
// integers, so the order in which they are added does not matter.
//
// Threading: a KeptPrefixFinder owns scratch memory: one thread at a time.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace deepinfer::runner {

// The ids whose logit is above the threshold, and those at it up to last_tied_id.
struct KeptPrefix {
  float threshold = -std::numeric_limits<float>::infinity();
  int32_t last_tied_id = INT32_MAX;  // all ids

  bool Contains(float z, int32_t id) const {
    return z > threshold || (z == threshold && id <= last_tied_id);
  }

  // Of two prefixes of one order the one that the other contains.
  static KeptPrefix Shorter(const KeptPrefix& a, const KeptPrefix& b) {
    if (a.threshold != b.threshold) return a.threshold > b.threshold ? a : b;
    return a.last_tied_id < b.last_tied_id ? a : b;
  }
};

// What bounds the prefix.  An id stays while fewer than max_count ids, and not more than max_mass of
// mass, stand before it; the first always stays.
struct PrefixLimits {
  int64_t max_count = INT64_MAX;
  uint64_t max_mass = UINT64_MAX;

  bool is_off() const { return max_count == INT64_MAX && max_mass == UINT64_MAX; }
};

class KeptPrefixFinder {
 public:
  // `row` may hold -infinity but no NaN; `weights` are its weights, in the same order, and
  // `total_mass` the sum of their masses.
  KeptPrefix Find(std::span<const float> row, std::span<const float> weights, uint64_t total_mass,
                  const PrefixLimits& limits);

 private:
  struct Bucket {
    int64_t count = 0;
    uint64_t mass = 0;
  };
  static constexpr int32_t kDigitBits = 8;
  static constexpr int32_t kNumBuckets = 1 << kDigitBits;

  void CollectCandidates(std::span<const float> row, std::span<const float> weights,
                         uint64_t total_mass, const PrefixLimits& limits);
  float LowestOfTop(std::span<const float> row, int64_t count);
  bool Narrow(std::span<const float> row, std::span<const float> weights, int32_t shift,
              PrefixLimits& left);
  KeptPrefix LastCandidate(std::span<const float> row) const;

  std::vector<int32_t> candidates_;  // ids that may be the last to stay
  std::vector<float> group_max_;
  Bucket buckets_[kNumBuckets];
};

}  // namespace deepinfer::runner
