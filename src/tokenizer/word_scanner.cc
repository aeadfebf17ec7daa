#include "tokenizer/word_scanner.h"

#include <array>
#include <cstdint>

#include "base/utf8.h"
#include "tokenizer/unicode.h"

namespace deepinfer::tokenizer {
namespace {

// What a character is to the patterns.  No bit at all: controls, formats, unassigned and private use.
enum : uint8_t {
  kWord = 1,     // \p{L} or \p{M}
  kSymbol = 2,   // \p{P} or \p{S}
  kSpace = 4,    // \s
  kNewline = 8,  // \r or \n; also kSpace
  kNumber = 16,  // \p{N}
  kCjk = 32,     // the ranges of stage 2; with kWord, kSymbol or nothing
};

// A piece ends where one of these bits changes.
constexpr uint8_t kPieceBits = kNumber | kCjk;

constexpr uint8_t BitsOfCategory(Category category) {
  if (category <= Category::kMe) return kWord;
  if (category <= Category::kNo) return kNumber;
  if (category <= Category::kSo) return kSymbol;
  return 0;
}

constexpr std::array<uint8_t, 32> MakeCategoryTable() {
  std::array<uint8_t, 32> table{};
  for (size_t i = 0; i < table.size(); ++i) table[i] = BitsOfCategory(static_cast<Category>(i));
  return table;
}

constexpr bool IsAsciiLetter(uint8_t c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

constexpr std::array<uint8_t, 128> MakeAsciiTable() {
  std::array<uint8_t, 128> table{};
  for (uint8_t c = 0; c < 128; ++c) {
    if (IsAsciiLetter(c)) {
      table[c] = kWord;
    } else if (c >= '0' && c <= '9') {
      table[c] = kNumber;
    } else if (c > ' ' && c < 0x7F) {
      table[c] = kSymbol;
    } else if (c == ' ' || (c >= 9 && c <= 13)) {
      table[c] = c == '\r' || c == '\n' ? kSpace | kNewline : kSpace;
    }
  }
  return table;
}

constexpr std::array<uint8_t, 32> kOfCategory = MakeCategoryTable();
constexpr std::array<uint8_t, 128> kOfAscii = MakeAsciiTable();

bool IsCjk(char32_t cp) { return (cp >= 0x4E00 && cp <= 0x9FA5) || (cp >= 0x3040 && cp <= 0x30FF); }

// The bits of the character at `*p`, which is moved behind it.
inline uint8_t Take(const char** p) {
  const auto byte = static_cast<uint8_t>(**p);
  if (byte < 0x80) {
    *p += 1;
    return kOfAscii[byte];
  }
  const char32_t cp = TakeValidUtf8(p);
  const uint8_t properties = internal::PropertiesOf(cp);
  return static_cast<uint8_t>(kOfCategory[properties & internal::kCategoryMask] |
                              ((properties & internal::kWhiteSpaceBit) != 0 ? kSpace : 0) |
                              (IsCjk(cp) ? kCjk : 0));
}

// Behind the run of characters from `p` on whose bits under `mask` equal `want`.
inline const char* SkipRun(const char* p, const char* end, uint8_t mask, uint8_t want) {
  while (p < end) {
    const char* next = p;
    if ((Take(&next) & mask) != want) break;
    p = next;
  }
  return p;
}

// Behind white space that starts at `p`: the last three alternatives of stage 3.
const char* MatchSpace(const char* p, const char* end) {
  const char* last = p;           // start of the run's last character
  const char* newline = nullptr;  // behind the run's last newline
  const char* at = p;
  while (at < end) {
    const char* next = at;
    const uint8_t bits = Take(&next);
    if ((bits & kSpace) == 0) {
      if (newline != nullptr) return newline;
      // The run is followed by a non-space: it leaves its last character to what follows, unless that is
      // all it has or the piece ends here.
      if ((bits & kPieceBits) != 0 || last == p) return at;
      return last;
    }
    last = at;
    at = next;
    if ((bits & kNewline) != 0) newline = at;
  }
  return newline != nullptr ? newline : at;
}

// Behind the match of stage 3 that starts at `p`, or `p` when none does.  `cjk` is kCjk inside a run of
// stage 2 and 0 outside; characters of the other kind end the piece.
const char* MatchAt(const char* p, const char* end, uint8_t cjk) {
  constexpr uint8_t kWordMask = kWord | kCjk;
  constexpr uint8_t kSymbolMask = kSymbol | kCjk;
  const auto word = static_cast<uint8_t>(kWord | cjk);
  const auto symbol = static_cast<uint8_t>(kSymbol | cjk);
  const char* second = p;
  const uint8_t first_bits = Take(&second);
  if ((first_bits & kWord) != 0) return SkipRun(second, end, kWordMask, word);
  const bool is_ascii_symbol = second == p + 1 && (first_bits & kSymbol) != 0;
  if (is_ascii_symbol && second < end && IsAsciiLetter(static_cast<uint8_t>(*second))) {
    const char* at = second + 1;
    while (at < end && IsAsciiLetter(static_cast<uint8_t>(*at))) ++at;
    return at;
  }
  const char* third = second;
  const uint8_t second_bits = second < end ? Take(&third) : 0;
  if ((first_bits & (kSymbol | kNewline)) == 0 && (second_bits & kWordMask) == word) {
    return SkipRun(third, end, kWordMask, word);
  }
  const char* after_symbols = nullptr;
  if ((first_bits & kSymbol) != 0) {
    after_symbols = SkipRun(second, end, kSymbolMask, symbol);
  } else if (*p == ' ' && (second_bits & kSymbolMask) == symbol) {
    after_symbols = SkipRun(third, end, kSymbolMask, symbol);
  }
  if (after_symbols != nullptr) {
    while (cjk == 0 && after_symbols < end && (*after_symbols == '\r' || *after_symbols == '\n')) {
      ++after_symbols;
    }
    return after_symbols;
  }
  return (first_bits & kSpace) != 0 ? MatchSpace(p, end) : p;
}

}  // namespace

bool WordScanner::Next(std::string_view* word) {
  const char* const start = next_;
  if (start == end_) return false;
  const char* at = start;
  const uint8_t first_bits = Take(&at);
  if ((first_bits & kNumber) != 0) {
    for (int32_t num_digits = 1; num_digits < 3 && at < end_; ++num_digits) {
      const char* next = at;
      if ((Take(&next) & kNumber) == 0) break;
      at = next;
    }
  } else {
    const uint8_t piece = first_bits & kPieceBits;
    at = MatchAt(start, end_, piece);
    if (at == start) {
      // No match here: everything up to the next one, or to the end of the piece, is a word.
      Take(&at);
      while (at < end_) {
        const char* next = at;
        if ((Take(&next) & kPieceBits) != piece || MatchAt(at, end_, piece) != at) break;
        at = next;
      }
    }
  }
  next_ = at;
  *word = std::string_view(start, static_cast<size_t>(at - start));
  return true;
}

}  // namespace deepinfer::tokenizer
