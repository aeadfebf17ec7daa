#include "base/utf8.h"

#include <cstring>

#include "base/check.h"

namespace deepinfer {

Utf8Char DecodeUtf8(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(at);
  if (lead < 0x80) return {lead, 1, true};
  // Length, and the legal range of the second byte, by lead byte [Unicode, table 3-7].
  int32_t length = 0;
  uint8_t low = 0x80;
  uint8_t high = 0xbf;
  if (lead >= 0xc2 && lead <= 0xdf) {
    length = 2;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    length = 3;
    if (lead == 0xe0) low = 0xa0;
    if (lead == 0xed) high = 0x9f;
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    length = 4;
    if (lead == 0xf0) low = 0x90;
    if (lead == 0xf4) high = 0x8f;
  } else {
    return {};
  }
  uint32_t code_point = lead & (0xffu >> (length + 1));
  for (int32_t i = 1; i < length; ++i) {
    const size_t here = at + static_cast<size_t>(i);
    if (here >= text.size() || byte(here) < low || byte(here) > high) {
      return {kReplacementChar, i, false};
    }
    code_point = code_point << 6 | (byte(here) & 0x3f);
    low = 0x80;
    high = 0xbf;
  }
  return {code_point, length, true};
}

void AppendUtf8(std::string& out, uint32_t code_point) {
  DI_CHECK(code_point <= 0x10ffff && (code_point < 0xd800 || code_point > 0xdfff),
           "code_point=", code_point);
  if (code_point < 0x80) {
    out += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    out += static_cast<char>(0xc0 | code_point >> 6);
    out += static_cast<char>(0x80 | (code_point & 0x3f));
  } else if (code_point < 0x10000) {
    out += static_cast<char>(0xe0 | code_point >> 12);
    out += static_cast<char>(0x80 | (code_point >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code_point & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | code_point >> 18);
    out += static_cast<char>(0x80 | (code_point >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (code_point >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code_point & 0x3f));
  }
}

bool IsValidUtf8(std::string_view text) { return FirstInvalidUtf8(text) == text.size(); }

size_t FirstInvalidUtf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    // Most text is ASCII: eight bytes at once.
    uint64_t word = 0;
    while (at + sizeof(word) <= text.size()) {
      std::memcpy(&word, text.data() + at, sizeof(word));
      if ((word & 0x8080808080808080u) != 0) break;
      at += sizeof(word);
    }
    if (at == text.size()) break;
    const Utf8Char next = DecodeUtf8(text, at);
    if (!next.is_valid) return at;
    at += static_cast<size_t>(next.num_bytes);
  }
  return at;
}

void AppendUtf8Lossy(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const size_t valid = FirstInvalidUtf8(text);
    out.append(text.substr(0, valid));
    text.remove_prefix(valid);
    if (text.empty()) return;
    AppendUtf8(out, kReplacementChar);
    text.remove_prefix(static_cast<size_t>(DecodeUtf8(text, 0).num_bytes));
  }
}

size_t IncompleteUtf8Suffix(std::string_view text) {
  for (size_t length = 1; length <= 3 && length <= text.size(); ++length) {
    const std::string_view suffix = text.substr(text.size() - length);
    const auto lead = static_cast<uint8_t>(suffix[0]);
    if (lead < 0x80) return 0;
    if (lead < 0xc0) continue;  // a continuation byte: the lead is further left
    const size_t needed = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    const Utf8Char c = DecodeUtf8(suffix, 0);
    const bool is_whole_prefix = !c.is_valid && static_cast<size_t>(c.num_bytes) == length;
    // A lone byte that leads nothing (C0, C1, F5..FF) also decodes to one invalid byte.
    const bool can_lead = lead >= 0xc2 && lead <= 0xf4;
    return is_whole_prefix && can_lead && length < needed ? length : 0;
  }
  return 0;
}

}  // namespace deepinfer
