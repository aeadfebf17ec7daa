// The engram's compressed vocabulary: tokens that differ in case, accents or blanks only share one id.
//
// A pure function of the tokenizer (spec model.md 13.1).  Each token gets a key: its text in NFKC, then NFD,
// without marks (general category M), in lower case without context rules, runs of blank, tab and newlines
// as one blank, stripped of white space unless it is exactly one blank; or its text when nothing is left of
// that; or its spelling in tokenizer.json when its bytes are not whole characters.  Keys are numbered in the
// order of their first token.
//
// Threading: a function without state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace deepinfer::tokenizer {

struct EngramVocabulary {
  // By token id, size Tokenizer::size(): added tokens included, and not the model's vocab_size, which may
  // be larger.  Ids beyond have no compressed id.
  std::vector<int32_t> compressed_ids;
  // The number of distinct compressed ids: must equal the checkpoint's engram_compressed_vocab_size.
  int32_t size = 0;
};

EngramVocabulary MakeEngramVocabulary(const Tokenizer& tokenizer);

// The normalized form of a token's text (valid UTF-8), empty when nothing is left of it.
std::string NormalizeForEngram(std::string_view text);

}  // namespace deepinfer::tokenizer
