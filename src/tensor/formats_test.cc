// Scalar formats: every code, every bf16 input, every tie.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/bf16.h"
#include "tensor/float4.h"
#include "tensor/float8.h"

namespace deepinfer {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

float FromBits(uint32_t bits) { return std::bit_cast<float>(bits); }

// Nearest entry of an ascending grid of non-negative values; a tie goes to the even index.  This is
// the definition, in exact double arithmetic.
size_t NearestOnGrid(const std::vector<double>& grid, double magnitude) {
  if (magnitude >= grid.back()) return grid.size() - 1;
  size_t i = 0;
  while (grid[i + 1] <= magnitude) ++i;
  const double below = magnitude - grid[i], above = grid[i + 1] - magnitude;
  if (below == above) return i % 2 == 0 ? i : i + 1;
  return below < above ? i : i + 1;
}

std::vector<double> F8Grid() {
  std::vector<double> grid;
  for (int32_t exponent = 0; exponent < 16; ++exponent) {
    for (int32_t mantissa = 0; mantissa < 8; ++mantissa) {
      if (exponent == 15 && mantissa == 7) continue;  // NaN
      grid.push_back(exponent == 0 ? std::ldexp(mantissa / 8.0, -6)
                                   : std::ldexp(1 + mantissa / 8.0, exponent - 7));
    }
  }
  return grid;
}

std::vector<double> F4Grid() { return {0, 0.5, 1, 1.5, 2, 3, 4, 6}; }

// A value of either sign, and its neighbours in fp32.
template <typename Check>
void ForNeighbours(float magnitude, Check check) {
  for (const float v :
       {magnitude, std::nextafter(magnitude, 0.0f), std::nextafter(magnitude, kInfinity)}) {
    check(v);
    check(-v);
  }
}

TEST(Bf16, EveryCodeSurvivesTheRoundTrip) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const bf16 value{static_cast<uint16_t>(code)};
    const float wide = Bf16ToF32(value);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(RoundToBf16(wide))) << code;
    } else {
      ASSERT_EQ(F32ToBf16(wide), value) << code;
    }
  }
}

TEST(Bf16, RoundsToNearestWithTiesToEvenBetweenAllNeighbours) {
  for (uint32_t code = 0; code < 0x7F80; ++code) {  // up to the step from the largest to infinity
    const uint32_t bits = code << 16;
    const uint32_t even = code % 2 == 0 ? code : code + 1;
    ASSERT_EQ(F32ToBf16(FromBits(bits + 0x7FFF)).bits, code);
    ASSERT_EQ(F32ToBf16(FromBits(bits + 0x8000)).bits, even);
    ASSERT_EQ(F32ToBf16(FromBits(bits + 0x8001)).bits, code + 1);
    ASSERT_EQ(F32ToBf16(-FromBits(bits + 0x8000)).bits, even | 0x8000u);
  }
}

TEST(Bf16, KeepsNanAndInfinityApart) {
  EXPECT_TRUE(std::isnan(RoundToBf16(FromBits(0x7F800001))));
  EXPECT_TRUE(std::isnan(RoundToBf16(FromBits(0x7FFFFFFF))));
  EXPECT_TRUE(std::isnan(RoundToBf16(FromBits(0xFFFFFFFF))));
  EXPECT_EQ(RoundToBf16(kInfinity), kInfinity);
  EXPECT_EQ(RoundToBf16(-kInfinity), -kInfinity);
  EXPECT_EQ(RoundToBf16(std::numeric_limits<float>::max()), kInfinity);
}

TEST(F8E4M3, EveryCodeHasItsValue) {
  const std::vector<double> grid = F8Grid();
  ASSERT_EQ(grid.size(), 127u);
  for (uint32_t code = 0; code < 127; ++code) {
    EXPECT_EQ(F8E4M3ToF32(static_cast<uint8_t>(code)), grid[code]) << code;
    EXPECT_EQ(F8E4M3ToF32(static_cast<uint8_t>(code | 0x80)), -grid[code]) << code;
  }
  EXPECT_TRUE(std::isnan(F8E4M3ToF32(0x7F)));
  EXPECT_TRUE(std::isnan(F8E4M3ToF32(0xFF)));
  EXPECT_TRUE(std::signbit(F8E4M3ToF32(0x80)));
}

TEST(F8E4M3, EveryCodeSurvivesTheRoundTrip) {
  for (uint32_t code = 0; code < 256; ++code) {
    EXPECT_EQ(F32ToF8E4M3(F8E4M3ToF32(static_cast<uint8_t>(code))), code);
  }
}

TEST(F8E4M3, RoundsEveryBf16LikeTheDefinition) {
  const std::vector<double> grid = F8Grid();
  for (uint32_t code = 0; code < 0x7F80; ++code) {
    const float value = Bf16ToF32(bf16{static_cast<uint16_t>(code)});
    const size_t expected = NearestOnGrid(grid, value);
    ASSERT_EQ(F32ToF8E4M3(value), expected) << value;
    ASSERT_EQ(F32ToF8E4M3(-value), expected | 0x80) << value;
  }
}

TEST(F8E4M3, RoundsEveryTieToTheEvenCode) {
  const std::vector<double> grid = F8Grid();
  for (size_t i = 0; i + 1 < grid.size(); ++i) {
    const float midpoint = static_cast<float>((grid[i] + grid[i + 1]) / 2);  // exact
    ForNeighbours(midpoint, [&](float v) {
      const size_t sign = std::signbit(v) ? 0x80 : 0;
      EXPECT_EQ(F32ToF8E4M3(v), NearestOnGrid(grid, std::fabs(v)) | sign) << v;
    });
  }
}

TEST(F8E4M3, SaturatesAndKeepsNan) {
  EXPECT_EQ(F32ToF8E4M3(464.0f), 0x7E);
  EXPECT_EQ(F32ToF8E4M3(kInfinity), 0x7E);
  EXPECT_EQ(F32ToF8E4M3(-1e30f), 0xFE);
  EXPECT_EQ(F32ToF8E4M3(kNan), 0x7F);
  EXPECT_EQ(F32ToF8E4M3(-kNan), 0xFF);
}

TEST(F4E2M1, EveryCodeHasItsValueAndSurvivesTheRoundTrip) {
  const std::vector<double> grid = F4Grid();
  for (uint8_t code = 0; code < 16; ++code) {
    const double magnitude = grid[code % 8];
    EXPECT_EQ(F4E2M1ToF32(code), code < 8 ? magnitude : -magnitude);
    EXPECT_EQ(F32ToF4E2M1(F4E2M1ToF32(code)), code);
  }
}

TEST(F4E2M1, RoundsEveryBf16LikeTheDefinition) {
  const std::vector<double> grid = F4Grid();
  for (uint32_t code = 0; code < 0x7F80; ++code) {
    const float value = Bf16ToF32(bf16{static_cast<uint16_t>(code)});
    const size_t expected = NearestOnGrid(grid, value);
    ASSERT_EQ(F32ToF4E2M1(value), expected) << value;
    ASSERT_EQ(F32ToF4E2M1(-value), expected | 8) << value;
  }
}

TEST(F4E2M1, TiesGoToTheEvenCode) {
  const std::vector<std::pair<float, float>> ties = {{0.25f, 0}, {0.75f, 1}, {1.25f, 1}, {1.75f, 2},
                                                     {2.5f, 2},  {3.5f, 4},  {5.0f, 4}};
  for (const auto& [tie, value] : ties) {
    EXPECT_EQ(F4E2M1ToF32(F32ToF4E2M1(tie)), value) << tie;
    EXPECT_EQ(F4E2M1ToF32(F32ToF4E2M1(-tie)), -value) << tie;
    ForNeighbours(tie, [&](float v) {
      EXPECT_EQ(F32ToF4E2M1(v) & 7, NearestOnGrid(F4Grid(), std::fabs(v))) << v;
    });
  }
}

TEST(F4E2M1, SaturatesAndTurnsNanIntoZero) {
  EXPECT_EQ(F32ToF4E2M1(1e9f), 7);
  EXPECT_EQ(F32ToF4E2M1(-kInfinity), 15);
  EXPECT_EQ(F32ToF4E2M1(kNan), 0);
}

TEST(F4E2M1, TheLowNibbleComesFirst) {
  const uint8_t packed[2] = {0x21, 0xF8};
  EXPECT_EQ(F4E2M1ToF32(F4CodeAt(packed, 0)), 0.5f);
  EXPECT_EQ(F4E2M1ToF32(F4CodeAt(packed, 1)), 1.0f);
  EXPECT_EQ(F4CodeAt(packed, 2), 8);
  EXPECT_EQ(F4CodeAt(packed, 3), 15);
  EXPECT_EQ(PackF4(1, 2), 0x21);
}

TEST(UE8M0, TheByteIsAnExponentAndNotANumber) {
  for (int32_t code = 0; code < 255; ++code) {
    EXPECT_EQ(UE8M0ToF32(static_cast<uint8_t>(code)), std::ldexp(1.0, code - 127)) << code;
  }
  EXPECT_EQ(UE8M0ToF32(120), 0x1p-7f);
  EXPECT_TRUE(std::isnan(UE8M0ToF32(255)));
}

TEST(CeilLog2, IsExactAtEveryPowerAndBothNeighbours) {
  for (int32_t k = -125; k <= 127; ++k) {
    const float power = std::ldexp(1.0f, k);
    EXPECT_EQ(CeilLog2(power), k);
    EXPECT_EQ(CeilLog2(std::nextafter(power, 0.0f)), k);
    EXPECT_EQ(CeilLog2(std::nextafter(power, kInfinity)), k + 1);
  }
}

}  // namespace
}  // namespace deepinfer
