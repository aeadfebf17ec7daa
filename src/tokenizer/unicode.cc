#include "tokenizer/unicode.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/utf8.h"

namespace deepinfer::tokenizer {
namespace {

// Hangul syllables are computed (Unicode 16, section 3.12): 19 leads x 21 vowels x (no or 27
// tails).
constexpr char32_t kSyllableBase = 0xAC00;
constexpr char32_t kLeadBase = 0x1100;
constexpr char32_t kVowelBase = 0x1161;
constexpr char32_t kTailBase = 0x11A7;  // itself no tail
constexpr char32_t kNumLeads = 19;
constexpr char32_t kNumVowels = 21;
constexpr char32_t kNumTails = 28;
constexpr char32_t kNumSyllables = kNumLeads * kNumVowels * kNumTails;

// A character with its combining class, so that sorting does not look it up again.
struct ClassedChar {
  char32_t code_point;
  uint8_t combining_class;
};

void AppendDecomposed(char32_t cp, bool use_compatibility, std::vector<ClassedChar>& out) {
  const char32_t syllable = cp - kSyllableBase;
  if (syllable < kNumSyllables) {
    out.push_back({kLeadBase + syllable / (kNumVowels * kNumTails), 0});
    out.push_back({kVowelBase + syllable / kNumTails % kNumVowels, 0});
    const char32_t tail = syllable % kNumTails;
    if (tail != 0) out.push_back({kTailBase + tail, 0});
    return;
  }
  const uint16_t at = internal::kDecompositionBlock
      [internal::kDecompositionIndex[cp >> internal::kDecompositionShift]
           << internal::kDecompositionShift |
       (cp & ((1u << internal::kDecompositionShift) - 1))];
  const uint16_t header = internal::kDecompositionPool[at];
  if (at == 0 || ((header & 1) != 0 && !use_compatibility)) {
    out.push_back({cp, CombiningClass(cp)});
    return;
  }
  const uint16_t* unit = internal::kDecompositionPool + at + 1;
  const uint16_t* end = unit + (header >> 1);
  while (unit < end) {
    char32_t part = *unit++;
    if (part >= 0xD800 && part < 0xDC00) {
      part = 0x10000 + ((part - 0xD800) << 10) + (static_cast<char32_t>(*unit++) - 0xDC00);
    }
    AppendDecomposed(part, use_compatibility, out);  // the data nests at most four deep
  }
}

// Canonical ordering: marks between two starters, by class, equal classes in place.
void OrderMarks(std::vector<ClassedChar>& chars) {
  size_t i = 0;
  while (i < chars.size()) {
    if (chars[i].combining_class == 0) {
      ++i;
      continue;
    }
    size_t end = i + 1;
    while (end < chars.size() && chars[end].combining_class != 0) ++end;
    std::stable_sort(chars.begin() + static_cast<ptrdiff_t>(i),
                     chars.begin() + static_cast<ptrdiff_t>(end),
                     [](const ClassedChar& a, const ClassedChar& b) {
                       return a.combining_class < b.combining_class;
                     });
    i = end;
  }
}

// The primary composite of a pair, or 0.
char32_t ComposePair(char32_t first, char32_t second) {
  const char32_t lead = first - kLeadBase;
  const char32_t vowel = second - kVowelBase;
  if (lead < kNumLeads && vowel < kNumVowels) {
    return kSyllableBase + (lead * kNumVowels + vowel) * kNumTails;
  }
  const char32_t syllable = first - kSyllableBase;
  const char32_t tail = second - kTailBase;
  if (syllable < kNumSyllables && syllable % kNumTails == 0 && tail > 0 && tail < kNumTails) {
    return first + tail;
  }
  int32_t low = 0;
  int32_t high = internal::kNumCompositions;
  while (low < high) {
    const int32_t middle = (low + high) / 2;
    const uint32_t* row = internal::kCompositions + 3 * middle;
    if (row[0] == first && row[1] == second) return row[2];
    if (row[0] < first || (row[0] == first && row[1] < second)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return 0;
}

// Canonical composition, in place.
void Compose(std::vector<ClassedChar>& chars) {
  size_t num_out = 0;
  size_t starter = 0;
  bool has_starter = false;
  for (const ClassedChar c : chars) {
    // A character is blocked from the starter when something between them has no lower class.
    const bool is_adjacent = has_starter && starter + 1 == num_out;
    const bool is_blocked =
        !has_starter || (!is_adjacent && (chars[num_out - 1].combining_class == 0 ||
                                          chars[num_out - 1].combining_class >= c.combining_class));
    if (!is_blocked) {
      const char32_t composed = ComposePair(chars[starter].code_point, c.code_point);
      if (composed != 0) {
        chars[starter].code_point = composed;
        continue;
      }
    }
    if (c.combining_class == 0) {
      starter = num_out;
      has_starter = true;
    }
    chars[num_out++] = c;
  }
  chars.resize(num_out);
}

bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<uint8_t>(c) < 0x80; });
}

// The single-character mapping; U+0130, the only longer one, is the caller's.
char32_t LowerOf(char32_t cp) {
  int32_t low = 0;
  int32_t high = internal::kNumLowerRanges;
  const auto c = static_cast<int32_t>(cp);
  while (low < high) {
    const int32_t middle = (low + high) / 2;
    const int32_t* row = internal::kLowerRanges + 4 * middle;
    if (c < row[0]) {
      high = middle;
    } else if (c > row[1]) {
      low = middle + 1;
    } else {
      return (c - row[0]) % row[2] == 0 ? static_cast<char32_t>(c + row[3]) : cp;
    }
  }
  return cp;
}

}  // namespace

uint8_t CombiningClass(char32_t cp) {
  if (cp > 0x10FFFF) return 0;
  return internal::kCombiningBlock[internal::kCombiningIndex[cp >> internal::kCombiningShift]
                                       << internal::kCombiningShift |
                                   (cp & ((1u << internal::kCombiningShift) - 1))];
}

std::string Normalize(std::string_view text, NormalizationForm form) {
  if (IsAscii(text)) return std::string(text);
  const bool use_compatibility =
      form == NormalizationForm::kNfkc || form == NormalizationForm::kNfkd;
  std::vector<ClassedChar> chars;
  chars.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = DecodeUtf8(text, at);
    AppendDecomposed(c.code_point, use_compatibility, chars);
    at += static_cast<size_t>(c.num_bytes);
  }
  OrderMarks(chars);
  if (form == NormalizationForm::kNfc || form == NormalizationForm::kNfkc) Compose(chars);
  std::string out;
  out.reserve(chars.size() * 2);
  for (const ClassedChar c : chars) AppendUtf8(out, c.code_point);
  return out;
}

std::string LowerCase(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const char byte = text[at];
    if (static_cast<uint8_t>(byte) < 0x80) {
      out += byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte | 0x20) : byte;
      ++at;
      continue;
    }
    const Utf8Char c = DecodeUtf8(text, at);
    at += static_cast<size_t>(c.num_bytes);
    if (c.code_point == 0x130) {
      out += "i\u0307";
    } else {
      AppendUtf8(out, LowerOf(c.code_point));
    }
  }
  return out;
}

}  // namespace deepinfer::tokenizer
