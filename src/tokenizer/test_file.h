// A small tokenizer.json for tests, built up in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/tokenizer.h"

namespace deepinfer::tokenizer {

// Starts with one token for each byte, whose id is the byte, no merges, no added tokens, and a ByteLevel
// pre-tokenizer that does not split: a text is one word.
//
// Threading: thread-compatible.
class TestFile {
 public:
  TestFile();

  // Adds a token for `bytes` with the next free id, which it returns.
  int32_t AddToken(std::string_view bytes);

  // Adds the merge of two tokens, and the token that it makes unless it exists.  Returns that token's id.
  int32_t AddMerge(std::string_view left, std::string_view right);

  // Adds an added token; an id of -1 means the next free one.  Returns the id.
  int32_t AddAdded(AddedToken token);

  // The file, to be changed at will.
  json::Value& root() { return root_; }
  json::Value& model() { return *root_.Find("model"); }

  std::string Text() const { return json::Write(root_); }
  Tokenizer Load(std::string_view config = "") const {
    return Tokenizer::FromJson(Text(), config).value();
  }

 private:
  json::Value root_;
  int32_t next_id_ = 256;
};

// `bytes` in the byte-level alphabet.
std::string Spelled(std::string_view bytes);

// Seconds of processor time that `f` takes, the least of `num_runs`; for bounds on how time grows, which must
// hold on a busy machine too.
double CpuSeconds(int32_t num_runs, const std::function<void()>& f);

// A file of the source tree.
std::string ReadSource(std::string_view path);

}  // namespace deepinfer::tokenizer
