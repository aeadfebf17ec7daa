// The two-way map between token ids and token bytes.
//
// A token is *byte level* when its spelling in the file lies in the byte-level alphabet (byte_level.h) and
// then stands for those bytes, or *literal* when it does not and then stands for its own UTF-8.  Two tokens
// may have the same bytes if one is literal; so a look-up says which kind it means.
//
// Ids may have gaps: an id without a token has no bytes and no spelling.
//
// Ownership: the vocabulary owns all bytes; a string_view from it lives as long as it is neither changed
//   nor moved from.
// Threading: thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/status.h"

namespace deepinfer::tokenizer {

class Vocabulary {
 public:
  // Ids are below this number: enough for every published tokenizer thirty times over, and it bounds what a
  // hostile file can make us allocate.
  static constexpr int32_t kMaxTokens = int32_t{1} << 22;

  // Makes room for `num_tokens` tokens of `num_bytes` bytes in all; only for speed.
  void Reserve(size_t num_tokens, size_t num_bytes);

  // Gives `id` the token spelled `spelling` (valid UTF-8).  Refused when the id is out of range or taken or the
  // spelling is empty, taken or 1 GiB long in sum.
  Status Add(int32_t id, std::string_view spelling);

  // The largest id + 1, or 0.
  int32_t size() const { return static_cast<int32_t>(tokens_.size()); }

  // Whether `id` has a token.
  bool Has(int32_t id) const {
    return id >= 0 && id < size() && tokens_[static_cast<size_t>(id)].length != 0;
  }

  // Whether `id` has a token that is byte level.
  bool IsByteLevel(int32_t id) const {
    return Has(id) && tokens_[static_cast<size_t>(id)].is_literal == 0;
  }

  // What the token stands for in text; empty when `id` has no token.
  std::string_view Bytes(int32_t id) const {
    if (!Has(id)) return {};
    const Token& token = tokens_[static_cast<size_t>(id)];
    return std::string_view(bytes_).substr(token.offset, token.length);
  }

  // How the file writes the token; empty when `id` has no token.
  std::string Spelling(int32_t id) const;

  // The id of the token that the file writes as `spelling`.
  std::optional<int32_t> Find(std::string_view spelling) const;

  // The id of the byte-level token that stands for `bytes`.
  std::optional<int32_t> FindByteLevel(std::string_view bytes) const {
    return FindBytes(bytes, false);
  }

 private:
  struct Token {
    uint32_t offset = 0;
    uint32_t length : 31 = 0;  // 0: no token
    uint32_t is_literal : 1 = 0;
  };
  struct Slot {
    uint32_t tag = 0;  // high bits of the hash
    int32_t id = -1;
  };

  std::optional<int32_t> FindBytes(std::string_view bytes, bool is_literal) const;
  void Insert(uint64_t hash, int32_t id);
  void Rehash(size_t num_slots);
  uint64_t HashOf(const Token& token) const;

  std::string bytes_;
  std::vector<Token> tokens_;  // by id
  std::vector<Slot> slots_;    // open addressing, a power of two, at most half full
  size_t num_used_ = 0;
};

}  // namespace deepinfer::tokenizer
