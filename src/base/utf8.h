// UTF-8: decoding one code point at a time, checking, repairing and encoding.
//
// Bad bytes count the way Python's errors="replace", Rust's from_utf8_lossy and the WHATWG decoder do:
// each maximal subpart (Unicode 16, section 3.9), the longest prefix that could have begun a character, is
// one U+FFFD.  So results can be compared with theirs.
//
// Threading: functions without state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace deepinfer {

inline constexpr uint32_t kReplacementChar = 0xfffd;

// One decoded code point and the bytes it took.
struct Utf8Char {
  uint32_t code_point = kReplacementChar;
  int32_t num_bytes = 1;
  bool is_valid = false;  // false: not UTF-8 here; code_point is U+FFFD
};

// Decodes the code point that starts at `text[at]`.  Requires at < text.size().
//
// Strict: no overlong forms, no surrogates, nothing above U+10FFFF.  `num_bytes` of bad bytes is the
// length of their maximal subpart.
Utf8Char DecodeUtf8(std::string_view text, size_t at);

// The code point at `*p`, which is moved behind it.  Requires valid UTF-8 there: for hot loops over text that
// was checked once.
inline uint32_t TakeValidUtf8(const char** p) {
  const auto* s = reinterpret_cast<const uint8_t*>(*p);
  if (s[0] < 0x80) {
    *p += 1;
    return s[0];
  }
  if (s[0] < 0xe0) {
    *p += 2;
    return (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu);
  }
  if (s[0] < 0xf0) {
    *p += 3;
    return (s[0] & 0x0fu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
  }
  *p += 4;
  return (s[0] & 0x07u) << 18 | (s[1] & 0x3fu) << 12 | (s[2] & 0x3fu) << 6 | (s[3] & 0x3fu);
}

// Appends a code point.  Requires a scalar value (not a surrogate, at most U+10FFFF).
void AppendUtf8(std::string& out, uint32_t code_point);

// Whether the whole text is valid UTF-8.
bool IsValidUtf8(std::string_view text);

// The byte offset of the first byte that is not valid UTF-8, or text.size().
size_t FirstInvalidUtf8(std::string_view text);

// Appends `text` with each maximal invalid subpart replaced by U+FFFD.
void AppendUtf8Lossy(std::string& out, std::string_view text);

// The number of bytes, 0..3, at the end of `text` that begin a character and could be completed by more.
size_t IncompleteUtf8Suffix(std::string_view text);

}  // namespace deepinfer
