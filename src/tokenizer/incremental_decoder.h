// Decodes token ids as they come and never hands out half a character.
//
//   IncrementalDecoder decoder(tokenizer, {.skip_special = true});
//   for (int32_t id : step) Emit(decoder.Push(id));
//   Emit(decoder.Finish());
//
// All that Push and Finish return, joined, equals Tokenizer::Decode of all ids.  A token that ends within a
// character is held back until the character is complete, or until it turns out not to be one; at most three
// bytes are held back, however long the stream.
//
// Ownership: borrows the tokenizer, which must outlive it.
// Threading: thread-compatible; one decoder for each sequence.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tokenizer/tokenizer.h"

namespace deepinfer::tokenizer {

class IncrementalDecoder {
 public:
  explicit IncrementalDecoder(const Tokenizer& tokenizer, const DecodeOptions& options = {})
      : tokenizer_(&tokenizer), options_(options) {}

  // The text that `id` completes; may be empty.  Valid UTF-8.
  std::string Push(int32_t id) { return Push(std::span(&id, 1)); }
  // The same for several ids at once.
  std::string Push(std::span<const int32_t> ids);

  // The end of the stream: U+FFFD if a character is incomplete, else nothing.  The decoder is as new then.
  std::string Finish();

  // Bytes of an incomplete character, 0..3: text that stands in the ids but was not handed out.
  int32_t num_pending_bytes() const { return static_cast<int32_t>(pending_.size()); }

 private:
  const Tokenizer* tokenizer_;
  DecodeOptions options_;
  std::string pending_;  // the beginning of a character
};

}  // namespace deepinfer::tokenizer
