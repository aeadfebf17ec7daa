// Index keys of a few entries, laid out for products of bytes.
//
// Both sides of a dot product are f4e2m1 codes with power-of-two scales a group of 32 channels, so
// a group's sum is an integer times a power of two and can be formed exactly in bytes.  A key byte
// is 2 * value + kKeyBias, which makes it unsigned; a query byte is a signed multiple of the
// group's unit.
//
// Threading: pure functions.
#pragma once

#include <cstdint>

#include "backend/cpu/records.h"
#include "backend/ops/common.h"

namespace deepinfer::cpu {

inline constexpr int32_t kKeyBias = 12;       // 2 * 6, the largest f4e2m1
inline constexpr int32_t kKeysPerPanel = 64;  // 8 KiB of bytes at 128 channels

// Where the index keys of one sequence lie.
class IndexKeys {
 public:
  IndexKeys(const ops::PagedRecords& pages, const int32_t* block_table, int64_t width)
      : pages_(pages), block_table_(block_table), width_(width) {}

  int64_t width() const { return width_; }
  int64_t num_groups() const { return width_ / 32; }

  const uint8_t* Codes(int32_t entry) const {
    return IndexKeyCodes(pages_, block_table_, entry, width_);
  }
  const uint8_t* Scales(int32_t entry) const {
    return IndexKeyScales(pages_, block_table_, entry, width_);
  }

 private:
  const ops::PagedRecords& pages_;
  const int32_t* block_table_;
  int64_t width_;
};

// Memory of a panel of kKeysPerPanel keys.
struct KeyPanel {
  uint8_t* bytes;  // [width / 4][kKeysPerPanel][4]
  float* scales;   // [width / 32][kKeysPerPanel]; half the key's scale, for bytes are doubled
};

}  // namespace deepinfer::cpu
