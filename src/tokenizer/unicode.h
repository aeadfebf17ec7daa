// The part of Unicode 16.0.0 that tokenization needs: general category, white space, word
// characters, normalization and lower-casing.
//
// The system's libraries follow other versions (Debian 12 has 14), and about 10 300 code points are
// classed differently between 14 and 16, so the tables are our own: tools/generate_unicode.py makes
// them, and unicode_test.cc compares every code point with an independent implementation.
//
// Threading: functions without state; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tokenizer/unicode_tables.h"

namespace deepinfer::tokenizer {

// The general category; the order is that of the generated tables.  The first letter of the Unicode
// short name groups them: L = kLu..kLo, M = kMn..kMe, N = kNd..kNo, P = kPc..kPo, S = kSm..kSo, Z =
// kZs..kZp.
enum class Category : uint8_t {
  kLu,  // upper-case letter
  kLl,  // lower-case letter
  kLt,  // title-case letter
  kLm,  // modifier letter
  kLo,  // other letter
  kMn,  // non-spacing mark
  kMc,  // spacing mark
  kMe,  // enclosing mark
  kNd,  // decimal digit
  kNl,  // letter number
  kNo,  // other number
  kPc,  // connector punctuation
  kPd,  // dash
  kPs,  // opening punctuation
  kPe,  // closing punctuation
  kPi,  // initial quote
  kPf,  // final quote
  kPo,  // other punctuation
  kSm,  // mathematical symbol
  kSc,  // currency symbol
  kSk,  // modifier symbol
  kSo,  // other symbol
  kZs,  // space separator
  kZl,  // line separator
  kZp,  // paragraph separator
  kCc,  // control
  kCf,  // format
  kCs,  // surrogate
  kCo,  // private use
  kCn,  // unassigned
};

namespace internal {
inline uint8_t PropertiesOf(char32_t cp) {
  if (cp > 0x10FFFF) return static_cast<uint8_t>(Category::kCn);
  return kPropertyBlock[kPropertyIndex[cp >> kPropertyShift] << kPropertyShift |
                        (cp & ((1u << kPropertyShift) - 1))];
}
}  // namespace internal

// kCn for a number above U+10FFFF.
inline Category GeneralCategory(char32_t cp) {
  return static_cast<Category>(internal::PropertiesOf(cp) & internal::kCategoryMask);
}

// Category M: non-spacing, spacing and enclosing marks.
inline bool IsMark(char32_t cp) {
  const Category c = GeneralCategory(cp);
  return c >= Category::kMn && c <= Category::kMe;
}

// The property White_Space: 25 code points.  The classes \s of the reference's two regex engines
// agree with it.
inline bool IsWhiteSpace(char32_t cp) {
  return (internal::PropertiesOf(cp) & internal::kWhiteSpaceBit) != 0;
}

// Alphabetic, marks, decimal digits, connector punctuation and the two joiners: the class \w that
// decides whether a `single_word` added token stands alone.
inline bool IsWordCharacter(char32_t cp) {
  return (internal::PropertiesOf(cp) & internal::kWordBit) != 0;
}

// Canonical_Combining_Class, 0 for starters.
uint8_t CombiningClass(char32_t cp);

// The four forms of Unicode Standard Annex 15.
enum class NormalizationForm : uint8_t {
  kNfc,   // canonical, composed
  kNfd,   // canonical, decomposed
  kNfkc,  // compatibility, composed
  kNfkd,  // compatibility, decomposed
};

// The normalized text.  Invalid UTF-8 is replaced first (utf8.h).  Time O(n log n) for any input,
// with no limit on the number of marks behind one starter.
std::string Normalize(std::string_view text, NormalizationForm form);

// Each character's full lower-case mapping, with no rule that looks at its neighbours (so capital
// sigma is always U+03C3) and none that depends on a language.  Invalid UTF-8 is replaced first.
std::string LowerCase(std::string_view text);

}  // namespace deepinfer::tokenizer
