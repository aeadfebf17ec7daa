// Decoded fp4 weights for every scale: a table lookup applies code and scale at once, exactly.
//
// Threading: constants.
#pragma once

#include <array>
#include <cstdint>

namespace deepinfer::cpu {

// The 16 codes of f4e2m1 under one ue8m0 scale, as bf16.
struct alignas(64) F4WordTable {
  std::array<uint16_t, 32> words;  // twice, since a lookup in 32 words looks at five index bits
};
struct alignas(32) F4ByteTable {
  std::array<uint8_t, 16> high, low;  // the same, upper and lower bytes apart
};

// By the scale's byte.  A checkpoint uses a handful of neighbouring scales, so few lines are hot.
extern const std::array<F4WordTable, 256> kF4WordTables;
extern const std::array<F4ByteTable, 256> kF4ByteTables;

}  // namespace deepinfer::cpu
