// UTF-8: decoding one code point at a time, and encoding.
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
// Strict: no overlong forms, no surrogates, nothing above U+10FFFF.  Bad bytes are taken the way
// Python and the WHATWG decoder do: the longest prefix that could have begun a character is one
// U+FFFD.
Utf8Char DecodeUtf8(std::string_view text, size_t at);

// Appends a code point.  Requires a scalar value (not a surrogate, at most U+10FFFF).
void AppendUtf8(std::string& out, uint32_t code_point);

// Whether the whole text is valid UTF-8.
bool IsValidUtf8(std::string_view text);

// The byte offset of the first byte that is not valid UTF-8, or text.size().
size_t FirstInvalidUtf8(std::string_view text);

}  // namespace deepinfer
