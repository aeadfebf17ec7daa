// The two 8-bit number formats: f8e4m3 for values, ue8m0 for scales (model.md 0.2).
//
// Both travel as plain bytes; DType says which one a tensor holds.
// Threading: values.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace deepinfer {

inline constexpr float kF8E4M3Max = 448.0f;  // code 0x7E

// f8e4m3 "fn": 1-4-3, bias 7, subnormals down to 2^-9, no infinities; 0x7F and 0xFF are NaN. Exact.
constexpr float F8E4M3ToF32(uint8_t code) {
  const uint32_t sign = static_cast<uint32_t>(code & 0x80u) << 24;
  const uint32_t exponent = (code >> 3) & 0x0Fu;
  const uint32_t mantissa = code & 0x07u;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-9f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  if (exponent == 15 && mantissa == 7) {
    return std::bit_cast<float>(0x7FC00000u | sign);
  }
  return std::bit_cast<float>(sign | ((exponent - 7 + 127) << 23) | (mantissa << 20));
}

// Clamps to +-448, then rounds to nearest even.  The sign of a value that rounds to zero is kept;
// NaN gives 0x7F with its sign.
constexpr uint8_t F32ToF8E4M3(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint8_t sign = static_cast<uint8_t>((bits >> 24) & 0x80u);
  const uint32_t magnitude_bits = bits & 0x7FFFFFFFu;
  if (magnitude_bits > 0x7F800000u) return static_cast<uint8_t>(sign | 0x7Fu);
  float magnitude = std::bit_cast<float>(magnitude_bits);
  if (magnitude > kF8E4M3Max) magnitude = kF8E4M3Max;
  if (magnitude < 0x1p-6f) {
    // One unit in the last place of 2^14 is 2^-9, the subnormal step: the sum rounds for us.
    const uint32_t sum = std::bit_cast<uint32_t>(magnitude + 0x1p14f);
    return static_cast<uint8_t>(sign | (sum - std::bit_cast<uint32_t>(0x1p14f)));
  }
  const uint32_t clamped = std::bit_cast<uint32_t>(magnitude);
  const uint32_t rounded = clamped + 0x7FFFFu + ((clamped >> 20) & 1u);
  return static_cast<uint8_t>(sign | ((rounded >> 20) - ((127u - 7u) << 3)));
}

// ue8m0: a power of two, 2^(code - 127); 0 is 2^-127 (an fp32 subnormal) and 255 is NaN.  The byte
// is an exponent field, never a number to convert.  Exact.
constexpr float UE8M0ToF32(uint8_t code) {
  if (code == 0) return 0x1p-127f;
  if (code == 255) return std::numeric_limits<float>::quiet_NaN();
  return std::bit_cast<float>(static_cast<uint32_t>(code) << 23);
}

// The smallest k with 2^k >= value, from the bits: exact where log2f and ceilf are not.  Requires a
// positive normal fp32.
constexpr int32_t CeilLog2(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<int32_t>(bits >> 23) - 127 + ((bits & 0x7FFFFFu) != 0 ? 1 : 0);
}

}  // namespace deepinfer
