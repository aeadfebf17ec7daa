// What tokenization needs of UTF-8 beyond base/utf8.h.
//
// Invalid bytes become U+FFFD, one for each maximal subpart (Unicode 16, section 3.9), as in Rust's
// from_utf8_lossy and Python's errors="replace"; so results can be compared with theirs.
//
// Threading: functions without state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace deepinfer::tokenizer {

// The character at `*p`, which is moved behind it.  Requires valid UTF-8 there: the hot loops run on text
// that was checked once.
inline char32_t TakeValidUtf8(const char** p) {
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

// Appends `text` with each maximal invalid subpart replaced by U+FFFD.
void AppendUtf8Lossy(std::string_view text, std::string& out);

// The number of bytes, 0..3, at the end of `text` that begin a character and could be completed by more.
size_t IncompleteUtf8Suffix(std::string_view text);

}  // namespace deepinfer::tokenizer
