// Reads tokenizer.json and tokenizer_config.json into plain data.
//
// Only what we reproduce exactly is accepted; every other component is kUnimplemented with its name and path
// (`pre_tokenizer.pretokenizers[0].type: "Metaspace" is not supported`), because a tokenizer that is almost
// right gives a model that is quietly worse.  Accepted:
//   model          BPE without dropout, prefix and suffix, with a token for each byte
//   normalizer     null, NFC, NFD, NFKC, NFKD, and Sequences of them.  They follow Unicode 16 (unicode.h), the
//                  public package an older version: the forms differ for 191 characters that came later.
//   pre_tokenizer  ByteLevel without prefix space, alone or last in a Sequence behind Splits by regex with
//                  the behaviour Isolated
//   post_processor null, ByteLevel, and templates that put at most the BOS in front
//   decoder        ByteLevel
//   truncation, padding  null
//   added_tokens   whose content the normalizer leaves alone, or without `normalized`
// An added token gets the id that the file says; the package renumbers new ones when a file leaves gaps.
// Files are outside input: sizes are bounded, ids and references checked, and no file can make us crash.
//
// Threading: functions without state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/status.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/bpe.h"
#include "tokenizer/unicode.h"
#include "tokenizer/vocabulary.h"

namespace deepinfer::tokenizer {

inline constexpr size_t kMaxTokenizerJsonBytes = size_t{128} << 20;
inline constexpr size_t kMaxTokenizerConfigBytes = size_t{16} << 20;

// tokenizer.json, taken apart.
struct TokenizerSpec {
  Vocabulary vocabulary;  // of the model and the added tokens
  std::vector<Merge> merges;
  int32_t model_vocab_size = 0;  // ids of the model alone: the largest + 1
  bool ignore_merges = false;    // a word that is a token stays whole
  std::vector<AddedToken> added_tokens;
  std::vector<NormalizationForm> normalizers;  // applied in order
  std::vector<std::string> split_patterns;     // applied in order, each behaves as Isolated
  std::string bos_of_template;                 // content of the token that a template puts in front
};

// kInvalidArgument for a broken file, kUnimplemented for a component that we do not have.
Result<TokenizerSpec> ParseTokenizerJson(std::string_view text);

// What the engine needs of tokenizer_config.json.
struct TokenizerConfig {
  bool add_bos = true;    // false only when the file says "add_bos_token": false
  std::string bos_token;  // contents; empty when absent or null
  std::string eos_token;
  std::string pad_token;
};

Result<TokenizerConfig> ParseTokenizerConfig(std::string_view text);

}  // namespace deepinfer::tokenizer
