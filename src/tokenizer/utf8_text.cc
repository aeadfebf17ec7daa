#include "tokenizer/utf8_text.h"

#include "base/utf8.h"

namespace deepinfer::tokenizer {

void AppendUtf8Lossy(std::string_view text, std::string& out) {
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
    if (lead < 0xC0) continue;  // a continuation byte: the lead is further left
    const size_t needed = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    const Utf8Char c = DecodeUtf8(suffix, 0);
    const bool is_whole_prefix = !c.is_valid && static_cast<size_t>(c.num_bytes) == length;
    // A lone byte that leads nothing (C0, C1, F5..FF) also decodes to one invalid byte.
    const bool can_lead = lead >= 0xC2 && lead <= 0xF4;
    return is_whole_prefix && can_lead && length < needed ? length : 0;
  }
  return 0;
}

}  // namespace deepinfer::tokenizer
