// f4e2m1: sixteen numbers, two codes a byte (model.md 0.2).
//
// Threading: values.
#pragma once

#include <bit>
#include <cstdint>

namespace deepinfer {

inline constexpr float kF4E2M1Max = 6.0f;  // code 7

// Value of each code; bit 3 is the sign.
inline constexpr float kF4E2M1Values[16] = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                                            -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};

// `code` in [0, 16).  Exact.
constexpr float F4E2M1ToF32(uint8_t code) { return kF4E2M1Values[code]; }

// Clamps to +-6, then rounds to nearest, ties to the even code.  The sign of a value that rounds to
// zero is kept (code 8 is -0); NaN gives a zero with its sign, for the format has no NaN.
constexpr uint8_t F32ToF4E2M1(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const float magnitude = std::bit_cast<float>(bits & 0x7FFFFFFFu);
  // Each term is a midpoint between neighbours; the strict ones send their tie down to an even
  // code.
  const int32_t code = (magnitude > 0.25f) + (magnitude >= 0.75f) + (magnitude > 1.25f) +
                       (magnitude >= 1.75f) + (magnitude > 2.5f) + (magnitude >= 3.5f) +
                       (magnitude > 5.0f);
  return static_cast<uint8_t>(static_cast<uint32_t>(code) | ((bits >> 28) & 0x8u));
}

// Element `i` of a packed row: element 2j in the low nibble of byte j, 2j + 1 in the high one.
constexpr uint8_t F4CodeAt(const uint8_t* packed, int64_t i) {
  return static_cast<uint8_t>((packed[i / 2] >> (i % 2 * 4)) & 0x0Fu);
}

// The byte of elements 2j (`low`) and 2j + 1 (`high`).
constexpr uint8_t PackF4(uint8_t low, uint8_t high) {
  return static_cast<uint8_t>(low | (high << 4));
}

}  // namespace deepinfer
