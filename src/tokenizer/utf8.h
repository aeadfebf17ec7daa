// UTF-8: reading, writing, and what to do with bytes that are none.
//
// Invalid bytes become U+FFFD, one for each maximal subpart (Unicode 16, section 3.9): the longest
// prefix of a well-formed sequence that is there, or one byte.  Rust's from_utf8_lossy, Python's
// errors="replace" and browsers do the same, so that the results can be compared.
//
// Threading: functions without state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace deepinfer::tokenizer {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;

// One step of a decoder.
struct Utf8Char {
  char32_t code_point = 0;  // kReplacementCharacter when not valid
  int32_t num_bytes = 0;    // consumed, 1..4
  bool is_valid = false;
  bool is_truncated = false;  // not valid only because `text` ends: more bytes could complete it
};

// The first character of `text`.  Requires a non-empty `text`.
Utf8Char DecodeUtf8(std::string_view text);

// As above for text that is known to be valid: advances `*p` and does not look at an end.
inline char32_t DecodeValidUtf8(const char** p) {
  const auto* s = reinterpret_cast<const uint8_t*>(*p);
  if (s[0] < 0x80) {
    *p += 1;
    return s[0];
  }
  if (s[0] < 0xE0) {
    *p += 2;
    return (s[0] & 0x1Fu) << 6 | (s[1] & 0x3Fu);
  }
  if (s[0] < 0xF0) {
    *p += 3;
    return (s[0] & 0x0Fu) << 12 | (s[1] & 0x3Fu) << 6 | (s[2] & 0x3Fu);
  }
  *p += 4;
  return (s[0] & 0x07u) << 18 | (s[1] & 0x3Fu) << 12 | (s[2] & 0x3Fu) << 6 | (s[3] & 0x3Fu);
}

// Appends the encoding of a scalar value; anything else is written as U+FFFD.
void AppendUtf8(char32_t code_point, std::string& out);

// True when the whole text is well formed.
bool IsValidUtf8(std::string_view text);

// Appends `text` with each maximal invalid subpart replaced by U+FFFD.
void AppendUtf8Lossy(std::string_view text, std::string& out);

}  // namespace deepinfer::tokenizer
