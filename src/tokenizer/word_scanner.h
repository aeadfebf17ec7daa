// Splits text into words the way the DeepSeek V3 and V4 tokenizers do, without a regex engine.
//
// Their tokenizer.json splits in three stages, each cutting the pieces of the one before:
//   1. \p{N}{1,3}                          runs of digits, three at a time from the left
//   2. [一-龥぀-ゟ゠-ヿ]+                  runs of common ideographs and kana
//   3. [!-/:-@\[-`{-~][A-Za-z]+            an ASCII symbol and ASCII letters
//    | [^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+  letters and marks, with one other character before
//    | ?[\p{P}\p{S}]+[\r\n]*              punctuation, with a blank before and newlines behind
//    | \s*[\r\n]+ | \s+(?!\S) | \s+        white space
// What no stage matches is a word too, as long as it is not interrupted.  A look-ahead ends where a piece
// ends: to stage 3, a digit or an ideograph is the end of the text.
//
// The scanner walks once from left to right; every character is looked at a bounded number of times, so the
// time is linear for any input.  It is the hot loop of encoding: classes come from a table (unicode.h).
//
// Ownership: borrows the text.  Threading: thread-compatible; a scanner is a cursor for one thread.
#pragma once

#include <string_view>

namespace deepinfer::tokenizer {

class WordScanner {
 public:
  // Requires valid UTF-8.
  explicit WordScanner(std::string_view text)
      : next_(text.data()), end_(text.data() + text.size()) {}

  // Sets `*word` to the next word, which is never empty, and returns true; false at the end.  The words
  // concatenate to the text.
  bool Next(std::string_view* word);

 private:
  const char* next_;
  const char* end_;
};

}  // namespace deepinfer::tokenizer
