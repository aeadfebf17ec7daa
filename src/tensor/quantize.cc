#include "tensor/quantize.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "tensor/float4.h"
#include "tensor/float8.h"

namespace deepinfer {
namespace {

// Keeps the stored byte k + 127 below 255, which would be NaN; reached by infinities only.
constexpr int32_t kMaxExponent = 127;

float AbsMax(const float* x, int64_t n) {
  float amax = 0;
  for (int64_t i = 0; i < n; ++i) {
    const float magnitude = std::fabs(x[i]);
    if (magnitude > amax) amax = magnitude;
  }
  return amax;
}

float PowerOfTwo(int32_t k) { return UE8M0ToF32(static_cast<uint8_t>(k + 127)); }

uint8_t ScaleByte(int32_t k) { return static_cast<uint8_t>(k + 127); }

void CheckGroups(int64_t n, int64_t group) {
  DI_CHECK(n >= 0 && n % group == 0, "n=", n, " group=", group);
}

void PackCodes(const uint8_t* codes, int64_t n, uint8_t* packed) {
  for (int64_t i = 0; i < n; i += 2) packed[i / 2] = PackF4(codes[i], codes[i + 1]);
}

}  // namespace

int32_t Q8Exponent(float amax) {
  const float floored = std::max(amax, 1e-4f);
  return std::min(CeilLog2(floored * (1.0f / 448.0f)), kMaxExponent);
}

int32_t Q4xExponent(float amax) {
  const float floored = std::max(amax, 6.0f * 0x1p-126f);
  return std::min(CeilLog2(floored * (1.0f / 6.0f)), kMaxExponent);
}

uint8_t Q4sScale(float amax) {
  const float floored = std::max(amax, 6.0f * 0x1p-9f);
  return F32ToF8E4M3(floored / 6.0f);
}

void QuantizeQ8(const float* x, int64_t n, uint8_t* codes, uint8_t* scales) {
  CheckGroups(n, kQ8Group);
  for (int64_t begin = 0; begin < n; begin += kQ8Group) {
    const int32_t k = Q8Exponent(AbsMax(x + begin, kQ8Group));
    const float inverse = PowerOfTwo(-k);
    scales[begin / kQ8Group] = ScaleByte(k);
    for (int64_t i = begin; i < begin + kQ8Group; ++i) codes[i] = F32ToF8E4M3(x[i] * inverse);
  }
}

void QuantizeQ4x(const float* x, int64_t n, uint8_t* codes, uint8_t* scales) {
  CheckGroups(n, kQ4xGroup);
  for (int64_t begin = 0; begin < n; begin += kQ4xGroup) {
    const int32_t k = Q4xExponent(AbsMax(x + begin, kQ4xGroup));
    const float inverse = PowerOfTwo(-k);
    uint8_t group_codes[kQ4xGroup];
    for (int64_t i = 0; i < kQ4xGroup; ++i) group_codes[i] = F32ToF4E2M1(x[begin + i] * inverse);
    scales[begin / kQ4xGroup] = ScaleByte(k);
    PackCodes(group_codes, kQ4xGroup, codes + begin / 2);
  }
}

void QuantizeQ4s(const float* x, int64_t n, uint8_t* codes, uint8_t* scales) {
  CheckGroups(n, kQ4sGroup);
  for (int64_t begin = 0; begin < n; begin += kQ4sGroup) {
    const uint8_t scale_code = Q4sScale(AbsMax(x + begin, kQ4sGroup));
    const float scale = F8E4M3ToF32(scale_code);
    uint8_t group_codes[kQ4sGroup];
    // A true division: a product with the reciprocal may flip exact ties.
    for (int64_t i = 0; i < kQ4sGroup; ++i) group_codes[i] = F32ToF4E2M1(x[begin + i] / scale);
    scales[begin / kQ4sGroup] = scale_code;
    PackCodes(group_codes, kQ4sGroup, codes + begin / 2);
  }
}

void DequantizeQ8(const uint8_t* codes, const uint8_t* scales, int64_t n, float* x) {
  CheckGroups(n, kQ8Group);
  for (int64_t i = 0; i < n; ++i) {
    x[i] = F8E4M3ToF32(codes[i]) * UE8M0ToF32(scales[i / kQ8Group]);
  }
}

void DequantizeQ4x(const uint8_t* codes, const uint8_t* scales, int64_t n, float* x) {
  CheckGroups(n, kQ4xGroup);
  for (int64_t i = 0; i < n; ++i) {
    x[i] = F4E2M1ToF32(F4CodeAt(codes, i)) * UE8M0ToF32(scales[i / kQ4xGroup]);
  }
}

void DequantizeQ4s(const uint8_t* codes, const uint8_t* scales, int64_t n, float* x) {
  CheckGroups(n, kQ4sGroup);
  for (int64_t i = 0; i < n; ++i) {
    x[i] = F4E2M1ToF32(F4CodeAt(codes, i)) * F8E4M3ToF32(scales[i / kQ4sGroup]);
  }
}

void FakeQuantQ8(float* x, int64_t n) {
  if (n % kQ8Group != 0) return;
  for (int64_t begin = 0; begin < n; begin += kQ8Group) {
    uint8_t codes[kQ8Group], scale;
    QuantizeQ8(x + begin, kQ8Group, codes, &scale);
    DequantizeQ8(codes, &scale, kQ8Group, x + begin);
  }
}

void FakeQuantQ4x(float* x, int64_t n) {
  if (n % kQ4xGroup != 0) return;
  for (int64_t begin = 0; begin < n; begin += kQ4xGroup) {
    uint8_t codes[kQ4xGroup / 2], scale;
    QuantizeQ4x(x + begin, kQ4xGroup, codes, &scale);
    DequantizeQ4x(codes, &scale, kQ4xGroup, x + begin);
  }
}

void FakeQuantQ4s(float* x, int64_t n) {
  if (n % kQ4sGroup != 0) return;
  for (int64_t begin = 0; begin < n; begin += kQ4sGroup) {
    uint8_t codes[kQ4sGroup / 2], scale;
    QuantizeQ4s(x + begin, kQ4sGroup, codes, &scale);
    DequantizeQ4s(codes, &scale, kQ4sGroup, x + begin);
  }
}

void QuantizeWeightF8(const float* w, int64_t num_rows, int64_t num_cols, uint8_t* codes,
                      uint8_t* scales) {
  const int64_t num_col_tiles = (num_cols + kWeightTile - 1) / kWeightTile;
  for (int64_t row0 = 0; row0 < num_rows; row0 += kWeightTile) {
    const int64_t row1 = std::min(row0 + kWeightTile, num_rows);
    for (int64_t col0 = 0; col0 < num_cols; col0 += kWeightTile) {
      const int64_t width = std::min(kWeightTile, num_cols - col0);
      float amax = 0;
      for (int64_t row = row0; row < row1; ++row) {
        amax = std::max(amax, AbsMax(w + row * num_cols + col0, width));
      }
      const int32_t k = Q8Exponent(amax);
      const float inverse = PowerOfTwo(-k);
      scales[row0 / kWeightTile * num_col_tiles + col0 / kWeightTile] = ScaleByte(k);
      for (int64_t row = row0; row < row1; ++row) {
        for (int64_t i = row * num_cols + col0; i < row * num_cols + col0 + width; ++i) {
          codes[i] = F32ToF8E4M3(w[i] * inverse);
        }
      }
    }
  }
}

void QuantizeWeightF4(const float* w, int64_t num_rows, int64_t num_cols, uint8_t* codes,
                      uint8_t* scales) {
  CheckGroups(num_cols, kQ4xGroup);
  QuantizeQ4x(w, num_rows * num_cols, codes, scales);
}

}  // namespace deepinfer
