// Which ids of a row stay after min_p, top_p and top_k: a prefix of the ids by falling logit, the
// lower id first on ties.
//
// Found by radix select on the bits of the logits, in time linear in the row and without sorting
// it.  Masses are integers, so the order in which they are added does not matter.
//
// Threading: a KeptPrefixFinder owns scratch memory: one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace deepinfer::runner {

// The ids whose logit is above the threshold, and those at it up to last_tied_id.
struct KeptPrefix {
  uint32_t threshold_key = 0;  // OrderedKey of the last kept logit
  int32_t last_tied_id = 0;

  // All ids.
  static KeptPrefix All() { return {.threshold_key = 0, .last_tied_id = INT32_MAX}; }

  bool Contains(uint32_t key, int32_t id) const {
    return key > threshold_key || (key == threshold_key && id <= last_tied_id);
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
  // `row` may hold -infinity but no NaN; `weights` are its weights, in the same order.
  KeptPrefix Find(std::span<const float> row, std::span<const float> weights,
                  const PrefixLimits& limits);

 private:
  struct Bucket {
    int64_t count = 0;
    uint64_t mass = 0;
  };
  static constexpr int32_t kNumBuckets = 2048;

  bool Narrow(std::span<const float> row, std::span<const float> weights, int32_t shift,
              uint32_t mask, PrefixLimits& left);

  std::vector<int32_t> candidates_;  // ids that may be the last to stay, ascending
  std::vector<Bucket> buckets_;
};

}  // namespace deepinfer::runner
