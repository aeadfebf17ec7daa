// Added tokens: markers such as <｜User｜> that are found in the text before any splitting or merging.
//
// The rules are the reference's, so that ids agree on every text:
//   * of the tokens that start leftmost the longest matches; the search goes on behind the match;
//   * a `single_word` token with a word character on either side does not match (and the search still goes
//     on behind it);
//   * `lstrip` and `rstrip` take the white space beside the match with it; lstrip not what an earlier match
//     took, and a match of which nothing is left is dropped;
//   * a token of white space without `lstrip` is found even where an earlier `rstrip` walked over it, and the
//     text behind it then counts again: the one case in which segments overlap.
// Tokens with `normalized` are looked for in the normalized text, the others before normalization; that is
// the caller's part (tokenizer.cc): it makes one matcher for each kind.
//
// Ownership: the matcher owns its patterns; segments point into the caller's text.
// Threading: thread-compatible.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace deepinfer::tokenizer {

// One entry of "added_tokens" in tokenizer.json, fields under their name there.
struct AddedToken {
  int32_t id = 0;
  std::string content;  // not empty, valid UTF-8
  bool single_word = false;
  bool lstrip = false;
  bool rstrip = false;
  bool normalized = false;
  bool special = false;  // left out when decoding with skip_special
};

// A stretch of text between added tokens, or one added token.
struct TextSegment {
  std::string_view text;
  int32_t id = -1;  // of the added token; -1 for text
};

class AddedTokenMatcher {
 public:
  // The longest content that a token may have, which bounds the work at one place of the text.
  static constexpr size_t kMaxContentBytes = 1024;

  AddedTokenMatcher() = default;  // matches nothing

  // Looks for each token's content, which has at most kMaxContentBytes.  Of two equal contents the first
  // is found.
  explicit AddedTokenMatcher(std::vector<AddedToken> tokens);

  bool empty() const { return tokens_.empty(); }

  // Appends the segments of `text` (valid UTF-8) in order; no text segment is empty.  Time is linear in the
  // text for any given set of tokens.
  void Split(std::string_view text, std::vector<TextSegment>& segments) const;

 private:
  // The token that starts at `at` with the longest content, or null.
  const AddedToken* LongestAt(std::string_view text, size_t at) const;

  std::vector<AddedToken> tokens_;  // sorted by content, contents unique
  std::array<bool, 256> can_start_{};
};

}  // namespace deepinfer::tokenizer
