#include "tokenizer/utf8.h"

#include <cstring>

namespace deepinfer::tokenizer {
namespace {

// What a leading byte asks for: the sequence's length and the range of its second byte (Unicode 16,
// table 3-7). A length of 0 is no leading byte.
struct Lead {
  int32_t length;
  uint8_t second_min;
  uint8_t second_max;
};

Lead LeadOf(uint8_t b) {
  if (b < 0xC2) return {0, 0, 0};
  if (b < 0xE0) return {2, 0x80, 0xBF};
  if (b == 0xE0) return {3, 0xA0, 0xBF};
  if (b == 0xED) return {3, 0x80, 0x9F};  // no surrogates
  if (b < 0xF0) return {3, 0x80, 0xBF};
  if (b == 0xF0) return {4, 0x90, 0xBF};
  if (b < 0xF4) return {4, 0x80, 0xBF};
  if (b == 0xF4) return {4, 0x80, 0x8F};  // nothing above U+10FFFF
  return {0, 0, 0};
}

// The number of leading bytes below 0x80.
size_t AsciiPrefix(std::string_view text) {
  size_t i = 0;
  while (i + 8 <= text.size()) {
    uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    if ((word & 0x8080808080808080u) != 0) break;
    i += 8;
  }
  while (i < text.size() && static_cast<uint8_t>(text[i]) < 0x80) ++i;
  return i;
}

// The number of leading bytes that are well formed.
size_t ValidPrefix(std::string_view text) {
  size_t i = 0;
  while (true) {
    i += AsciiPrefix(text.substr(i));
    if (i == text.size()) return i;
    const Utf8Char c = DecodeUtf8(text.substr(i));
    if (!c.is_valid) return i;
    i += static_cast<size_t>(c.num_bytes);
  }
}

}  // namespace

Utf8Char DecodeUtf8(std::string_view text) {
  const auto* s = reinterpret_cast<const uint8_t*>(text.data());
  if (s[0] < 0x80) return {s[0], 1, true, false};
  const Lead lead = LeadOf(s[0]);
  if (lead.length == 0) return {kReplacementCharacter, 1, false, false};
  const int32_t available = text.size() < static_cast<size_t>(lead.length)
                                ? static_cast<int32_t>(text.size())
                                : lead.length;
  for (int32_t i = 1; i < available; ++i) {
    const bool is_good =
        i == 1 ? s[1] >= lead.second_min && s[1] <= lead.second_max : (s[i] & 0xC0) == 0x80;
    if (!is_good) return {kReplacementCharacter, i, false, false};
  }
  if (available < lead.length) return {kReplacementCharacter, available, false, true};
  const char* p = text.data();
  return {DecodeValidUtf8(&p), lead.length, true, false};
}

void AppendUtf8(char32_t code_point, std::string& out) {
  const auto put = [&out](char32_t byte) { out += static_cast<char>(byte); };
  if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point < 0xE000)) {
    code_point = kReplacementCharacter;
  }
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3F));
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

bool IsValidUtf8(std::string_view text) { return ValidPrefix(text) == text.size(); }

void AppendUtf8Lossy(std::string_view text, std::string& out) {
  while (!text.empty()) {
    const size_t valid = ValidPrefix(text);
    out.append(text.substr(0, valid));
    text.remove_prefix(valid);
    if (text.empty()) return;
    AppendUtf8(kReplacementCharacter, out);
    text.remove_prefix(static_cast<size_t>(DecodeUtf8(text).num_bytes));
  }
}

}  // namespace deepinfer::tokenizer
