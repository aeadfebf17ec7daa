#include "tokenizer/added_tokens.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "tokenizer/unicode.h"

namespace deepinfer::tokenizer {
namespace {

bool IsContinuation(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

// Start of the last character of a non-empty text.
size_t LastCharStart(std::string_view text) {
  size_t at = text.size() - 1;
  while (at > 0 && IsContinuation(text[at])) --at;
  return at;
}

bool EndsWithWord(std::string_view text) {
  return !text.empty() && IsWordCharacter(DecodeUtf8(text, LastCharStart(text)).code_point);
}

bool StartsWithWord(std::string_view text) {
  return !text.empty() && IsWordCharacter(DecodeUtf8(text, 0).code_point);
}

// Start of the white space that ends at `end`, not before `floor`.
size_t SpaceStart(std::string_view text, size_t floor, size_t end) {
  while (end > floor) {
    const size_t start = LastCharStart(text.substr(0, end));
    if (start < floor || !IsWhiteSpace(DecodeUtf8(text, start).code_point)) break;
    end = start;
  }
  return end;
}

size_t SpaceEnd(std::string_view text, size_t at) {
  while (at < text.size()) {
    const Utf8Char c = DecodeUtf8(text, at);
    if (!IsWhiteSpace(c.code_point)) break;
    at += static_cast<size_t>(c.num_bytes);
  }
  return at;
}

}  // namespace

AddedTokenMatcher::AddedTokenMatcher(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::stable_sort(tokens_.begin(), tokens_.end(),
                   [](const AddedToken& a, const AddedToken& b) { return a.content < b.content; });
  const auto same = [](const AddedToken& a, const AddedToken& b) { return a.content == b.content; };
  tokens_.erase(std::unique(tokens_.begin(), tokens_.end(), same), tokens_.end());
  for (const AddedToken& token : tokens_) can_start_[static_cast<uint8_t>(token.content[0])] = true;
}

const AddedToken* AddedTokenMatcher::LongestAt(std::string_view text, size_t at) const {
  // Narrows the range of tokens that begin with text[at, at + depth).  In it, a token that ends here is the
  // first, since the tokens are sorted.
  auto first = tokens_.begin();
  auto last = tokens_.end();
  const AddedToken* longest = nullptr;
  for (size_t depth = 0; first < last; ++depth) {
    if (first->content.size() == depth) {
      longest = &*first;
      ++first;
    }
    if (at + depth >= text.size()) break;
    const auto byte = static_cast<uint8_t>(text[at + depth]);
    const auto is_less = [depth](const AddedToken& token, uint8_t b) {
      return static_cast<uint8_t>(token.content[depth]) < b;
    };
    const auto is_greater = [depth](uint8_t b, const AddedToken& token) {
      return b < static_cast<uint8_t>(token.content[depth]);
    };
    first = std::lower_bound(first, last, byte, is_less);
    last = std::upper_bound(first, last, byte, is_greater);
  }
  return longest;
}

void AddedTokenMatcher::Split(std::string_view text, std::vector<TextSegment>& segments) const {
  size_t covered = 0;    // segments reach up to here
  size_t space_end = 0;  // the last white space walked over by rstrip ends here
  size_t at = 0;
  while (true) {
    while (at < text.size() && !can_start_[static_cast<uint8_t>(text[at])]) ++at;
    if (at >= text.size()) break;
    const AddedToken* token = LongestAt(text, at);
    if (token == nullptr) {
      ++at;
      continue;
    }
    size_t start = at;
    size_t stop = at + token->content.size();
    at = stop;
    if (token->single_word &&
        (EndsWithWord(text.substr(0, start)) || StartsWithWord(text.substr(stop)))) {
      continue;
    }
    if (token->lstrip) start = start > covered ? SpaceStart(text, covered, start) : covered;
    if (token->rstrip) {
      // Matches move forward, so what lies between this one and `space_end` is white space.
      if (stop >= space_end) space_end = SpaceEnd(text, stop);
      stop = space_end;
    }
    if (start >= stop) continue;  // an earlier match took all of it
    if (covered < start) segments.push_back({text.substr(covered, start - covered), -1});
    segments.push_back({text.substr(start, stop - start), token->id});
    covered = stop;
  }
  if (covered < text.size()) segments.push_back({text.substr(covered), -1});
}

}  // namespace deepinfer::tokenizer
