// The loops over a whole row that the compiler is to turn into vectors.
//
// The file is compiled with -O3 -fno-trapping-math (src/CMakeLists.txt): without them g++ 12 makes
// jumps of the choices below.  Neither changes a result.
#include <bit>

#include "runner/row_math.h"

namespace deepinfer::runner {
namespace {

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

void ExpWeights(std::span<const float> row, float max, float inverse_temperature, float* weights) {
  const float* const z = row.data();
  float* const __restrict out = weights;  // never the row itself
  const size_t size = row.size();
  for (size_t i = 0; i < size; ++i) out[i] = ExpNegativeInline((z[i] - max) * inverse_temperature);
}

void ZeroWeightsBelow(std::span<const float> row, float threshold, float* weights) {
  const float* const z = row.data();
  float* const __restrict w = weights;  // never the row itself
  const size_t size = row.size();
  for (size_t i = 0; i < size; ++i) w[i] = z[i] >= threshold ? w[i] : 0.0f;
}

void GroupMaxima(std::span<const float> row, std::span<float> groups) {
  const size_t num_groups = groups.size();
  float* const __restrict max = groups.data();
  const float* z = row.data();
  const float* const end = z + row.size();
  for (size_t g = 0; g < num_groups; ++g) max[g] = z[g];
  for (z += num_groups; z + num_groups <= end; z += num_groups) {
    for (size_t g = 0; g < num_groups; ++g) max[g] = z[g] > max[g] ? z[g] : max[g];
  }
}

}  // namespace deepinfer::runner
