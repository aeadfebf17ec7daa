#include "tokenizer/engram_vocabulary.h"

#include <unordered_map>

#include "base/utf8.h"
#include "tokenizer/unicode.h"

namespace deepinfer::tokenizer {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

std::string WithoutMarks(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (static_cast<uint8_t>(text[at]) < 0x80) {
      out += text[at++];
      continue;
    }
    const Utf8Char c = DecodeUtf8(text, at);
    const auto num_bytes = static_cast<size_t>(c.num_bytes);
    if (!IsMark(c.code_point)) out.append(text.substr(at, num_bytes));
    at += num_bytes;
  }
  return out;
}

std::string WithSingleBlanks(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!IsBlank(text[i])) {
      out += text[i];
    } else if (i == 0 || !IsBlank(text[i - 1])) {
      out += ' ';
    }
  }
  return out;
}

std::string_view Stripped(std::string_view text) {
  while (!text.empty()) {
    const Utf8Char c = DecodeUtf8(text, 0);
    if (!IsWhiteSpace(c.code_point)) break;
    text.remove_prefix(static_cast<size_t>(c.num_bytes));
  }
  while (!text.empty()) {
    size_t last = text.size() - 1;
    while (last > 0 && (static_cast<uint8_t>(text[last]) & 0xC0) == 0x80) --last;
    if (!IsWhiteSpace(DecodeUtf8(text, last).code_point)) break;
    text = text.substr(0, last);
  }
  return text;
}

// What decides whether two tokens are the same.
std::string KeyOf(const Tokenizer& tokenizer, int32_t id) {
  std::string text = tokenizer.Decode(std::span(&id, 1));
  if (text.find("\uFFFD") != std::string::npos) return tokenizer.TokenSpelling(id);
  std::string key = NormalizeForEngram(text);
  return key.empty() ? text : key;
}

}  // namespace

std::string NormalizeForEngram(std::string_view text) {
  std::string s = Normalize(text, NormalizationForm::kNfkc);
  s = Normalize(s, NormalizationForm::kNfd);
  s = WithSingleBlanks(LowerCase(WithoutMarks(s)));
  if (s == " ") return s;
  // The reference keeps a lone blank by writing it as U+E000 for a while; so a real U+E000 becomes one.
  constexpr std::string_view kStandIn = "\uE000";
  std::string out;
  std::string_view rest = Stripped(s);
  while (true) {
    const size_t at = rest.find(kStandIn);
    out += rest.substr(0, at);
    if (at == std::string_view::npos) return out;
    out += ' ';
    rest.remove_prefix(at + kStandIn.size());
  }
}

EngramVocabulary MakeEngramVocabulary(const Tokenizer& tokenizer) {
  EngramVocabulary out;
  out.compressed_ids.reserve(static_cast<size_t>(tokenizer.size()));
  std::unordered_map<std::string, int32_t> id_of_key;
  id_of_key.reserve(static_cast<size_t>(tokenizer.size()));
  for (int32_t id = 0; id < tokenizer.size(); ++id) {
    const auto [it, is_new] = id_of_key.try_emplace(KeyOf(tokenizer, id), out.size);
    if (is_new) ++out.size;
    out.compressed_ids.push_back(it->second);
  }
  return out;
}

}  // namespace deepinfer::tokenizer
