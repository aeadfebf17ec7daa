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

inline float ExpNegativeInline(float x) {
  constexpr float kLog2E = 1.44269504f;
  // ln 2 in two parts; products of the first with |n| <= 126 are exact.
  constexpr float kLn2High = 0x1.62ep-1f;
  constexpr float kLn2Low = 0x1.0bfbe8p-15f;
  constexpr float kSmallest = -87.0f;    // e^-87 is still a normal number
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const float clamped = x < kSmallest ? kSmallest : x;
  const float shifted = clamped * kLog2E + kRound;
  const float n = shifted - kRound;
  const float r = (clamped - n * kLn2High) - n * kLn2Low;  // |r| <= ln(2) / 2
  // Taylor's series; the first term left out is below 2^-26 of the result.
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  // The low bits of `shifted` hold n; moved up they are n steps of the exponent.
  const uint32_t exponent = std::bit_cast<uint32_t>(shifted) << 23;
  const float scaled = std::bit_cast<float>(std::bit_cast<uint32_t>(p) + exponent);
  return x < kSmallest ? 0.0f : scaled;
}

}  // namespace

float ExpNegative(float x) { return ExpNegativeInline(x); }

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

void ExpWeights(std::span<const float> row, float max, float inverse_temperature, float* weights) {
  size_t i = 0;
  for (; i + kLanes <= row.size(); i += kLanes) {
    for (size_t l = 0; l < kLanes; ++l) {
      weights[i + l] = ExpNegativeInline((row[i + l] - max) * inverse_temperature);
    }
  }
  for (; i < row.size(); ++i) {
    weights[i] = ExpNegativeInline((row[i] - max) * inverse_temperature);
  }
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
