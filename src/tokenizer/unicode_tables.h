// The generated Unicode tables behind unicode.h.  Private to the library: nothing but
// unicode.{h,cc} reads them.
//
// A table over code points has two levels: Block[Index[cp >> shift] << shift | (cp & mask)].
// The source of truth is tools/generate_unicode.py.
#pragma once

#include <cstdint>

namespace deepinfer::tokenizer::internal {

// One byte a code point: the general category (0..29, order of enum Category), then two bits.
inline constexpr int32_t kPropertyShift = 8;
inline constexpr uint8_t kCategoryMask = 31;
inline constexpr uint8_t kWordBit = 32;
inline constexpr uint8_t kWhiteSpaceBit = 64;
extern const uint8_t kPropertyIndex[];
extern const uint8_t kPropertyBlock[];

// Canonical combining class.
inline constexpr int32_t kCombiningShift = 7;
extern const uint8_t kCombiningIndex[];
extern const uint8_t kCombiningBlock[];

// Index into the pool, 0 for none.  A pool entry is a header, length * 2 + is_compatibility, then
// that many UTF-16 units: one step of the decomposition.
inline constexpr int32_t kDecompositionShift = 7;
extern const uint8_t kDecompositionIndex[];
extern const uint16_t kDecompositionBlock[];
extern const uint16_t kDecompositionPool[];

// Rows (first, second, composed), sorted.
extern const int32_t kNumCompositions;
extern const uint32_t kCompositions[];

// Rows (first, last, stride, delta), sorted: first, first + stride, .. last have the lower case cp
// + delta.
extern const int32_t kNumLowerRanges;
extern const int32_t kLowerRanges[];

}  // namespace deepinfer::tokenizer::internal
