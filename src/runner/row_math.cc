#include "runner/row_math.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace deepinfer::runner {
namespace {

// Elements that one iteration handles side by side; a fixed count lets the compiler use whatever
// vectors it has.
constexpr size_t kLanes = 16;

constexpr uint32_t kExponentBits = 0x7f800000u;

}  // namespace

RowScan ScanRow(std::span<const float> row) {
  DI_CHECK(!row.empty(), "an empty row");
  float max[kLanes];
  uint32_t is_bad[kLanes] = {};
  std::fill(max, max + kLanes, -std::numeric_limits<float>::infinity());
  size_t i = 0;
  for (; i + kLanes <= row.size(); i += kLanes) {
    for (size_t l = 0; l < kLanes; ++l) {
      const float value = row[i + l];
      is_bad[l] |= (std::bit_cast<uint32_t>(value) & kExponentBits) == kExponentBits ? 1u : 0u;
      max[l] = value > max[l] ? value : max[l];
    }
  }
  for (size_t l = 0; i < row.size(); ++i, ++l) {
    const float value = row[i];
    is_bad[l] |= (std::bit_cast<uint32_t>(value) & kExponentBits) == kExponentBits ? 1u : 0u;
    max[l] = value > max[l] ? value : max[l];
  }
  RowScan scan{.max = max[0], .is_finite = true};
  for (size_t l = 0; l < kLanes; ++l) {
    scan.max = std::max(scan.max, max[l]);
    if (is_bad[l] != 0) scan.is_finite = false;
  }
  return scan;
}

float MaxOf(std::span<const float> row) { return ScanRow(row).max; }

int32_t FirstIndexOf(std::span<const float> row, float value) {
  size_t i = 0;
  for (; i + kLanes <= row.size(); i += kLanes) {
    uint32_t found = 0;
    for (size_t l = 0; l < kLanes; ++l) found |= row[i + l] == value ? 1u : 0u;
    if (found != 0) break;
  }
  for (; i < row.size(); ++i) {
    if (row[i] == value) return static_cast<int32_t>(i);
  }
  DI_CHECK(false, "no element equals ", value);
  return 0;
}

uint64_t SumOfMasses(std::span<const float> weights) {
  uint64_t sum = 0;
  for (const float weight : weights) sum += MassOf(weight);
  return sum;
}

double LogSumExp(std::span<const float> row, float max, float* weights) {
  ExpWeights(row, max, 1.0f, weights);
  const double sum =
      std::ldexp(static_cast<double>(SumOfMasses({weights, row.size()})), -kMassBits);
  return static_cast<double>(max) + std::log(sum);
}

uint32_t OrderedKey(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value + 0.0f);  // -0 + 0 is +0
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

}  // namespace deepinfer::runner
