// bf16: the upper half of an fp32 (1-8-7).  Conversion rounds to nearest, ties to even.
//
// Threading: values.
#pragma once

#include <bit>
#include <cstdint>

namespace deepinfer {

// Storage only: it has no arithmetic, so every operation says where it rounds.
struct bf16 {
  uint16_t bits;

  friend constexpr bool operator==(bf16 a, bf16 b) { return a.bits == b.bits; }  // bitwise
};
static_assert(sizeof(bf16) == 2);

// Exact.
constexpr float Bf16ToF32(bf16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}

// Rounds to nearest even.  What rounds past the largest finite number becomes infinite; a NaN stays
// a NaN (quiet, with its sign).
constexpr bf16 F32ToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) {
    // Rounding could carry a NaN's mantissa into the sign or cut it to an infinity.
    return bf16{static_cast<uint16_t>((bits >> 16) | 0x0040u)};
  }
  const uint32_t lowest_kept_bit = (bits >> 16) & 1u;
  return bf16{static_cast<uint16_t>((bits + 0x7FFFu + lowest_kept_bit) >> 16)};
}

// The nearest bf16 number, as fp32.
constexpr float RoundToBf16(float value) { return Bf16ToF32(F32ToBf16(value)); }

}  // namespace deepinfer
