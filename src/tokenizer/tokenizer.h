// Tokenizer: text to token ids and back, exactly as the checkpoint's tokenizer.json defines it.
//
//   DI_ASSIGN_OR_RETURN(const Tokenizer t, Tokenizer::Load(PosixFileSystem(), model_dir));
//   DI_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, t.Encode("Hello", {.add_bos = t.adds_bos()}));
//   const std::string text = t.Decode(ids, {.skip_special = true});
//
// Byte-level BPE files are understood (tokenizer_json.h lists the components); anything else is refused by
// name.  Ids equal those of the public `tokenizers` package.
//
// Stages of Encode: invalid UTF-8 is replaced; added tokens are cut out; the rest is normalized (when the
// file says so), split into words, and each word merged.  The split of DeepSeek V3 and V4 files is a
// hand-written scanner (word_scanner.h); other patterns run in PCRE2 (regex_splitter.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "deepinfer/status.h"

namespace deepinfer::tokenizer {

struct EncodeOptions {
  // Puts the BOS in front unless the ids begin with it already.  Ignored when the tokenizer has none.
  bool add_bos = false;
  // Whether markers such as <｜User｜> in the text become their token.  False for text that is not trusted to
  // contain markers: they are then spelled out in ordinary tokens.
  bool parse_added_tokens = true;
};

struct DecodeOptions {
  // Leaves out tokens flagged `special` in the file (BOS, EOS, ...).  Other added tokens stay.
  bool skip_special = false;
};

// A tokenizer that was loaded from a checkpoint; it does not change.
//
// Ownership: owns everything; movable.  Views that it returns live as long as it does.
// Threading: thread-safe.  Working memory (a word cache of 1 MiB and buffers) is pooled, one for each call
//   that runs at the same time.
class Tokenizer {
 public:
  // Encode refuses longer texts; this bounds its memory (about 60 bytes for each byte of one word).
  static constexpr size_t kMaxTextBytes = size_t{64} << 20;

  // Reads tokenizer.json and, where present, tokenizer_config.json of a checkpoint's folder.
  static Result<Tokenizer> Load(FileSystem& fs, const std::string& model_dir);

  // From the two files' contents; an empty `tokenizer_config_json` means that there is none.
  static Result<Tokenizer> FromJson(std::string_view tokenizer_json,
                                    std::string_view tokenizer_config_json = "");

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // The ids of `text`.  Bytes that are not UTF-8 count as U+FFFD, one for each maximal invalid subpart, as if
  // the text had been decoded with replacement first.  Fails with kInvalidArgument when the text is longer
  // than kMaxTextBytes, or (never for DeepSeek files) when a regex gives up.
  Result<std::vector<int32_t>> Encode(std::string_view text,
                                      const EncodeOptions& options = {}) const;

  // The text of `ids`: their bytes together, then each maximal invalid subpart replaced by U+FFFD.  Ids
  // without a token (negative, too large, gaps) decode to nothing.  For text that arrives token by token
  // use IncrementalDecoder.
  std::string Decode(std::span<const int32_t> ids, const DecodeOptions& options = {}) const;

  // The bytes that `id` contributes to decoded text; may be part of a character.  Empty for ids without a
  // token.  Added tokens give their content.
  std::string_view TokenBytes(int32_t id) const;

  // How tokenizer.json writes the token, e.g. "Ġthe"; empty for ids without a token.
  std::string TokenSpelling(int32_t id) const;

  // The id of the token that tokenizer.json writes as `spelling`, added tokens by their content.
  std::optional<int32_t> TokenToId(std::string_view spelling) const;

  // The id of the added token with this content; nothing for ordinary tokens.
  std::optional<int32_t> AddedTokenId(std::string_view content) const;

  // Whether the file flags the token as special; false for ids without a token.
  bool IsSpecial(int32_t id) const;
  // Whether it is an added token, special or not.
  bool IsAdded(int32_t id) const;

  // The largest id + 1, added tokens included: what `len(tokenizer)` is elsewhere.  A model's vocab_size may
  // be larger; ids from here up have no token and must not be sampled.
  int32_t size() const;
  // The same without tokens that exist only as added tokens.
  int32_t vocab_size() const;

  // From tokenizer_config.json; nothing when the file, the key or the token is missing.
  std::optional<int32_t> bos_id() const;
  std::optional<int32_t> eos_id() const;
  std::optional<int32_t> pad_id() const;

  // Whether prompts get a BOS: there is one, and tokenizer_config.json does not say "add_bos_token": false.
  bool adds_bos() const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace deepinfer::tokenizer
