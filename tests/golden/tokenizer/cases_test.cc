// The tokenizer against what the public package gave, recorded in tiny_cases.jsonl (generate.py).
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "base/json.h"
#include "base/strings.h"
#include "tokenizer/incremental_decoder.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_json.h"

namespace deepinfer::tokenizer {
namespace {

const std::string kRoot = DI_SOURCE_DIR;

std::string Read(const std::string& path) {
  return ReadFile(PosixFileSystem(), JoinPath(kRoot, path), kMaxTokenizerJsonBytes).value();
}

Tokenizer MakeTokenizer(const json::Cursor& line) {
  json::Value file = json::Parse(Read(line.Read<std::string>("file").value())).value();
  for (const auto& [key, value] : line.Get("overrides")->Members().value()) {
    file.Set(std::string(key), value.value());
  }
  return Tokenizer::FromJson(json::Write(file)).value();
}

std::vector<int32_t> Ids(const json::Cursor& line, std::string_view key) {
  return line.Read<std::vector<int32_t>>(key).value();
}

std::string Streamed(const Tokenizer& tokenizer, const std::vector<int32_t>& ids,
                     const DecodeOptions& options) {
  IncrementalDecoder decoder(tokenizer, options);
  std::string text;
  for (const int32_t id : ids) text += decoder.Push(id);
  return text + decoder.Finish();
}

void CheckDecoding(const Tokenizer& tokenizer, const json::Cursor& line) {
  const std::vector<int32_t> ids = Ids(line, "ids");
  const DecodeOptions skip = {.skip_special = true};
  const std::string text = line.Read<std::string>("text").value();
  const std::string skip_text = line.Read<std::string>("skip_text").value();
  EXPECT_EQ(tokenizer.Decode(ids), text);
  EXPECT_EQ(tokenizer.Decode(ids, skip), skip_text);
  EXPECT_EQ(Streamed(tokenizer, ids, {}), text);
  EXPECT_EQ(Streamed(tokenizer, ids, skip), skip_text);
}

TEST(RecordedCases, EveryIdAndTextEqualsThePublicPackage) {
  const std::string file = Read("tests/golden/tokenizer/tiny_cases.jsonl");
  std::vector<Tokenizer> tokenizers;
  int32_t num_encoded = 0;
  int32_t num_decoded = 0;
  for (const std::string_view text : StrSplit(file, '\n')) {
    if (text.empty()) continue;
    const json::Value value = json::Parse(text).value();
    const json::Cursor line(value);
    if (value.Find("file") != nullptr) {
      tokenizers.push_back(MakeTokenizer(line));
      continue;
    }
    ASSERT_FALSE(tokenizers.empty());
    const Tokenizer& tokenizer = tokenizers.back();
    SCOPED_TRACE(StrCat("tokenizer ", tokenizers.size(), ": ", text));
    if (line.Read<std::string>("kind").value() == "decode") {
      CheckDecoding(tokenizer, line);
      ++num_decoded;
      continue;
    }
    const std::string prompt = line.Read<std::string>("text").value();
    EXPECT_EQ(tokenizer.Encode(prompt).value(), Ids(line, "ids"));
    EXPECT_EQ(tokenizer.Encode(prompt, {.parse_added_tokens = false}).value(),
              Ids(line, "plain_ids"));
    ++num_encoded;
  }
  EXPECT_EQ(tokenizers.size(), 6u);
  EXPECT_GE(num_encoded, 200);
  EXPECT_GE(num_decoded, 30);
}

}  // namespace
}  // namespace deepinfer::tokenizer
