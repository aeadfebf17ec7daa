#include "tensor/quantize.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "base/check.h"
#include "gtest/gtest.h"
#include "tensor/bf16.h"
#include "tensor/float4.h"
#include "tensor/float8.h"

namespace deepinfer {
namespace {

std::vector<float> Normal(int64_t n, float deviation, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> x(n);
  for (float& v : x) v = normal(rng);
  return x;
}

// The smallest k with range * 2^k >= amax, in exact double arithmetic.
int32_t ExactExponent(double amax, double range) {
  int32_t k = -140;
  while (std::ldexp(range, k) < amax) ++k;
  return k;
}

TEST(Q8, ExponentIsExactForEveryBf16Amax) {
  for (uint32_t code = 0; code < 0x7F80; ++code) {
    const float amax = Bf16ToF32(bf16{static_cast<uint16_t>(code)});
    const float floored = std::max(amax, 1e-4f);
    ASSERT_EQ(Q8Exponent(amax), ExactExponent(floored, 448.0)) << amax;
    ASSERT_EQ(Q8Exponent(amax), CeilLog2(floored / 448.0f)) << amax;
  }
}

TEST(Q4x, ExponentIsExactForEveryBf16Amax) {
  for (uint32_t code = 0; code < 0x7F80; ++code) {
    const float amax = Bf16ToF32(bf16{static_cast<uint16_t>(code)});
    const double floored = std::max<double>(amax, std::ldexp(6.0, -126));
    ASSERT_EQ(Q4xExponent(amax), ExactExponent(floored, 6.0)) << amax;
  }
}

TEST(Q8, ExponentStepsRightAfterEachPowerTimes448) {
  for (int32_t k = -20; k <= 100; ++k) {
    const float edge = std::ldexp(448.0f, k);
    const float above =
        Bf16ToF32(bf16{static_cast<uint16_t>(F32ToBf16(edge).bits + 1)});  // next bf16
    EXPECT_EQ(Q8Exponent(edge), k);
    EXPECT_EQ(Q8Exponent(above), k + 1);
  }
}

// Any fp32 amax (mode F): the product with the fp32 constant and the quotient give the same k, for
// all mantissas, hence for all exponents.
TEST(CeilLog2, ProductAndQuotientAgreeForEveryFp32Mantissa) {
  for (uint32_t mantissa = 0; mantissa < (1u << 23); ++mantissa) {
    const float around_448 = std::bit_cast<float>(0x43800000u | mantissa);
    const float around_6 = std::bit_cast<float>(0x40800000u | mantissa);
    ASSERT_EQ(Q8Exponent(around_448), around_448 <= 448.0f ? 0 : 1) << mantissa;
    ASSERT_EQ(Q4xExponent(around_6), around_6 <= 6.0f ? 0 : 1) << mantissa;
  }
}

TEST(Q8, KnownScaleBytes) {
  EXPECT_EQ(Q8Exponent(448.0f) + 127, 127);
  EXPECT_EQ(Q8Exponent(450.0f) + 127, 128);
  EXPECT_EQ(Q8Exponent(0.0f) + 127, 105);
}

TEST(Q4x, KnownScaleBytes) {
  EXPECT_EQ(Q4xExponent(6.0f) + 127, 127);
  EXPECT_EQ(Q4xExponent(6.03125f) + 127, 128);
  EXPECT_EQ(Q4xExponent(0.0f) + 127, 1);
}

TEST(Q4s, KnownScaleBytes) {
  EXPECT_EQ(Q4sScale(6.0f), 0x38);
  EXPECT_EQ(Q4sScale(7.0f), 0x39);
  EXPECT_EQ(Q4sScale(0.0f), 0x01);
  EXPECT_EQ(Q4sScale(1e30f), 0x7E);
}

TEST(Q4s, AMaximumOfSevenBecomesSixTimesTheScale) {
  std::vector<float> x(16, 0.0f);
  x[3] = 7.0f;
  x[4] = -7.0f;
  uint8_t codes[8], scale;
  QuantizeQ4s(x.data(), 16, codes, &scale);
  EXPECT_EQ(scale, 0x39);
  DequantizeQ4s(codes, &scale, 16, x.data());
  EXPECT_EQ(x[3], 6.75f);
  EXPECT_EQ(x[4], -6.75f);
  EXPECT_EQ(x[0], 0.0f);
}

TEST(Q4s, DividesByTheScaleInsteadOfMultiplyingWithItsReciprocal) {
  // s = 1.875 (amax 11.25); 4.6875 / s is exactly the tie 2.5, but 4.6875 * (1 / s) lies above it.
  std::vector<float> x(16, 0.0f);
  x[0] = 11.25f;
  x[1] = 4.6875f;
  uint8_t codes[8], scale;
  QuantizeQ4s(x.data(), 16, codes, &scale);
  ASSERT_EQ(F8E4M3ToF32(scale), 1.875f);
  EXPECT_EQ(F4E2M1ToF32(F4CodeAt(codes, 1)), 2.0f);
}

TEST(Q8, QuantisesEachGroupByItsOwnMaximum) {
  std::vector<float> x(64, 0.0f);
  x[0] = 448.0f;
  x[1] = -3.3f;
  x[32] = 450.0f;
  x[33] = 2.0f;
  uint8_t codes[64], scales[2];
  QuantizeQ8(x.data(), 64, codes, scales);
  EXPECT_EQ(scales[0], 127);
  EXPECT_EQ(scales[1], 128);
  EXPECT_EQ(codes[0], 0x7E);
  EXPECT_EQ(codes[1], F32ToF8E4M3(-3.3f));
  EXPECT_EQ(codes[32], F32ToF8E4M3(225.0f));
  EXPECT_EQ(codes[33], F32ToF8E4M3(1.0f));
  EXPECT_EQ(codes[2], 0);
}

TEST(Q4x, PacksTheEvenElementInTheLowNibble) {
  std::vector<float> x(32, 0.0f);
  x[0] = 0.5f;
  x[1] = 1.0f;
  x[31] = -6.0f;
  uint8_t codes[16], scale;
  QuantizeQ4x(x.data(), 32, codes, &scale);
  EXPECT_EQ(scale, 127);
  EXPECT_EQ(codes[0], 0x21);
  EXPECT_EQ(codes[15], 0xF0);
}

// Dequantised values must be exact in bf16, so that a bf16 cache of them loses nothing; and
// quantising them again must change nothing.
template <typename Fake>
void ExpectExactAndIdempotent(Fake fake) {
  for (const float deviation : {1e-30f, 1e-5f, 1.0f, 300.0f, 1e20f}) {
    std::vector<float> once = Normal(4096, deviation, 7);
    fake(once.data(), 4096);
    for (const float v : once) ASSERT_EQ(RoundToBf16(v), v);
    std::vector<float> twice = once;
    fake(twice.data(), 4096);
    EXPECT_EQ(once, twice) << deviation;
  }
}

TEST(FakeQuant, ValuesAreExactInBf16AndStable) {
  ExpectExactAndIdempotent(FakeQuantQ8);
  ExpectExactAndIdempotent(FakeQuantQ4x);
}

TEST(FakeQuant, Q4sValuesAreExactInBf16) {
  std::vector<float> x = Normal(4096, 2.0f, 8);
  FakeQuantQ4s(x.data(), 4096);
  for (const float v : x) ASSERT_EQ(RoundToBf16(v), v);
}

TEST(FakeQuant, EqualsQuantiseThenDequantise) {
  const std::vector<float> x = Normal(128, 3.0f, 9);
  uint8_t codes[128], scales[8];
  std::vector<float> expected(128), fake = x;
  QuantizeQ8(x.data(), 128, codes, scales);
  DequantizeQ8(codes, scales, 128, expected.data());
  FakeQuantQ8(fake.data(), 128);
  EXPECT_EQ(fake, expected);
  QuantizeQ4x(x.data(), 128, codes, scales);
  DequantizeQ4x(codes, scales, 128, expected.data());
  fake = x;
  FakeQuantQ4x(fake.data(), 128);
  EXPECT_EQ(fake, expected);
  QuantizeQ4s(x.data(), 128, codes, scales);
  DequantizeQ4s(codes, scales, 128, expected.data());
  fake = x;
  FakeQuantQ4s(fake.data(), 128);
  EXPECT_EQ(fake, expected);
}

TEST(FakeQuant, IsTheIdentityOnIncompleteGroups) {
  const std::vector<float> x = Normal(40, 1.0f, 10);
  std::vector<float> y = x;
  FakeQuantQ8(y.data(), 40);
  FakeQuantQ4x(y.data(), 40);
  FakeQuantQ4s(y.data(), 40);
  EXPECT_EQ(x, y);
}

TEST(FakeQuant, ErrorStaysWithinHalfAStep) {
  std::vector<float> x = Normal(32 * 64, 1.0f, 11), y = x;
  FakeQuantQ8(y.data(), 32 * 64);
  for (size_t i = 0; i < x.size(); ++i) {
    // Half a step of a 3-bit mantissa, or half the subnormal step of the largest scale here (2^-6).
    EXPECT_LE(std::fabs(y[i] - x[i]), std::max(std::fabs(x[i]) / 16, 0x1p-16f));
  }
}

TEST(Quantize, SurvivesInfinitiesAndNans) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> x(32, 1.0f);
  x[0] = infinity;
  x[1] = nan;
  uint8_t codes[32], scales[2];
  QuantizeQ8(x.data(), 32, codes, scales);
  EXPECT_EQ(scales[0], 254);  // 255 would be NaN
  EXPECT_EQ(codes[1], 0x7F);
  QuantizeQ4x(x.data(), 32, codes, scales);
  EXPECT_EQ(scales[0], 254);
  EXPECT_EQ(F4CodeAt(codes, 1), 0);
  QuantizeQ4s(x.data(), 32, codes, scales);
  EXPECT_EQ(scales[0], 0x7E);
}

TEST(Quantize, RefusesIncompleteGroups) {
  std::vector<float> x(40);
  uint8_t codes[40], scales[3];
  EXPECT_THROW(QuantizeQ8(x.data(), 40, codes, scales), InternalError);
  EXPECT_THROW(QuantizeWeightF4(x.data(), 2, 20, codes, scales), InternalError);
}

TEST(QuantizeWeightF8, GivesEach32x32TileItsScale) {
  constexpr int64_t kRows = 40, kCols = 70;  // ragged tiles at both ends
  std::vector<float> w(kRows * kCols, 1.0f);
  w[0 * kCols + 31] = 449.0f;     // tile (0, 0)
  w[39 * kCols + 69] = -1792.0f;  // tile (1, 2): 448 * 4
  std::vector<uint8_t> codes(w.size()), scales(2 * 3);
  QuantizeWeightF8(w.data(), kRows, kCols, codes.data(), scales.data());
  const uint8_t ones = static_cast<uint8_t>(Q8Exponent(1.0f) + 127);
  EXPECT_EQ(scales, (std::vector<uint8_t>{128, ones, ones, ones, ones, 129}));
  EXPECT_EQ(F8E4M3ToF32(codes[31 * kCols]) * UE8M0ToF32(128), 1.0f);  // last row of tile (0, 0)
  EXPECT_EQ(codes[39 * kCols + 69], 0xFE);
  EXPECT_EQ(F8E4M3ToF32(codes[32 * kCols + 64]), 0.25f);
}

TEST(QuantizeWeightF4, GivesEachRowAnd32ColumnsItsScale) {
  std::vector<float> w(2 * 64, 1.0f);
  w[0] = 12.0f;         // row 0, columns 0..31
  w[64 + 32] = -24.0f;  // row 1, columns 32..63
  std::vector<uint8_t> codes(64), scales(4);
  QuantizeWeightF4(w.data(), 2, 64, codes.data(), scales.data());
  const uint8_t ones = static_cast<uint8_t>(Q4xExponent(1.0f) + 127);
  EXPECT_EQ(scales, (std::vector<uint8_t>{128, ones, ones, 129}));
  EXPECT_EQ(codes[0], PackF4(7, 1));               // 12 / 2 = 6 and 1 / 2 = 0.5
  EXPECT_EQ(F4CodeAt(codes.data() + 32, 32), 15);  // -24 / 4 = -6
}

}  // namespace
}  // namespace deepinfer
