#include "tokenizer/tokenizer_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "base/strings.h"
#include "tokenizer/test_file.h"

namespace deepinfer::tokenizer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

json::Value Json(std::string_view text) { return json::Parse(text).value(); }

// The refusal of the test file after a change of it.
Status RefusalOf(const std::function<void(TestFile&)>& change) {
  TestFile file;
  change(file);
  return ParseTokenizerJson(file.Text()).status();
}

// The refusal of the test file with `value` under `key`.
Status RefusalOf(std::string_view key, std::string_view value) {
  return RefusalOf([&](TestFile& f) { f.root().Set(std::string(key), Json(value)); });
}

Status ModelRefusalOf(std::string_view key, std::string_view value) {
  return RefusalOf([&](TestFile& f) { f.model().Set(std::string(key), Json(value)); });
}

TEST(TokenizerJson, ReadsTheTestFile) {
  TestFile file;
  const int32_t ab = file.AddMerge("a", "b");
  file.AddAdded({.id = -1, .content = "<x>", .special = true});
  const TokenizerSpec spec = ParseTokenizerJson(file.Text()).value();
  EXPECT_EQ(spec.model_vocab_size, 257);
  EXPECT_EQ(spec.vocabulary.size(), 258);
  ASSERT_EQ(spec.merges.size(), 1u);
  EXPECT_EQ(spec.merges[0].left, 'a');
  EXPECT_EQ(spec.merges[0].right, 'b');
  EXPECT_EQ(spec.merges[0].merged, ab);
  ASSERT_EQ(spec.added_tokens.size(), 1u);
  EXPECT_TRUE(spec.added_tokens[0].special);
  EXPECT_FALSE(spec.added_tokens[0].normalized);
  EXPECT_TRUE(spec.split_patterns.empty());
  EXPECT_EQ(spec.bos_of_template, "");
}

TEST(TokenizerJson, ReadsBothCheckpoints) {
  for (const auto& [path, size, num_merges] : {std::tuple("models/DeepSeek-V4.1-Tiny", 4096, 3773u),
                                               std::tuple("tests/fixtures/branches", 512, 189u)}) {
    const std::string text = ReadSource(StrCat(path, "/tokenizer.json"));
    const TokenizerSpec spec = ParseTokenizerJson(text).value();
    EXPECT_EQ(spec.vocabulary.size(), size);
    EXPECT_EQ(spec.merges.size(), num_merges);
    EXPECT_EQ(spec.added_tokens.size(), 67u);
    EXPECT_EQ(spec.split_patterns.size(), 3u);
  }
}

TEST(TokenizerJson, MergesMayBeStringsWithAVersionLine) {
  TestFile file;
  const int32_t ab = file.AddToken("ab");
  file.model().Set("merges", Json(R"(["#version: 0.2", "a b"])"));
  const TokenizerSpec spec = ParseTokenizerJson(file.Text()).value();
  ASSERT_EQ(spec.merges.size(), 1u);
  EXPECT_EQ(spec.merges[0].merged, ab);
}

TEST(TokenizerJson, AddedTokensDefaultToNormalized) {
  TestFile file;
  file.root().Set("added_tokens", Json(R"([{"id": 300, "content": "<x>"}])"));
  const AddedToken token = ParseTokenizerJson(file.Text()).value().added_tokens.at(0);
  EXPECT_TRUE(token.normalized);
  EXPECT_FALSE(token.special || token.lstrip || token.rstrip || token.single_word);
}

TEST(TokenizerJson, NormalizersAndSplitsKeepTheirOrder) {
  TestFile file;
  file.root().Set("normalizer", Json(R"({"type": "Sequence", "normalizers": [{"type": "NFKD"},
    {"type": "NFC"}]})"));
  file.root().Set("pre_tokenizer", Json(R"({"type": "Sequence", "pretokenizers": [
    {"type": "Split", "pattern": {"Regex": "x"}, "behavior": "Isolated", "invert": true},
    {"type": "ByteLevel", "add_prefix_space": false}]})"));
  const TokenizerSpec spec = ParseTokenizerJson(file.Text()).value();
  EXPECT_THAT(spec.normalizers, ElementsAre(NormalizationForm::kNfkd, NormalizationForm::kNfc));
  EXPECT_THAT(spec.split_patterns, ElementsAre("x", HasSubstr("'s|'t|'re")));
}

TEST(TokenizerJson, ATemplateMayPutOneTokenInFront) {
  TestFile file;
  file.AddAdded({.id = -1, .content = "<s>"});
  file.root().Set("post_processor", Json(R"({"type": "TemplateProcessing", "single": [
    {"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]})"));
  EXPECT_EQ(ParseTokenizerJson(file.Text()).value().bos_of_template, "<s>");
}

struct Refused {
  const char* key;
  const char* value;
  const char* message;
};

TEST(TokenizerJson, UnknownComponentsAreUnimplementedByName) {
  const std::vector<Refused> cases = {
      {"truncation", R"({"max_length": 5})", "truncation: an object"},
      {"padding", R"({"strategy": "BatchLongest"})", "padding: an object"},
      {"normalizer", R"({"type": "Lowercase"})", "normalizer: normalizer \"Lowercase\""},
      {"normalizer", R"({"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Strip"}]})",
       "normalizer.normalizers[1]: normalizer \"Strip\""},
      {"pre_tokenizer", "null", "pre_tokenizer: a tokenizer without ByteLevel"},
      {"pre_tokenizer", R"({"type": "Metaspace"})", "pre-tokenizer \"Metaspace\""},
      {"pre_tokenizer", R"({"type": "ByteLevel"})", "pre_tokenizer: add_prefix_space"},
      {"pre_tokenizer", R"({"type": "Sequence", "pretokenizers": []})",
       "without ByteLevel at the end"},
      {"pre_tokenizer",
       R"({"type": "Sequence", "pretokenizers": [{"type": "ByteLevel", "add_prefix_space": false},
           {"type": "Digits"}]})",
       "pre_tokenizer.pretokenizers[1]: a pre-tokenizer behind ByteLevel"},
      {"pre_tokenizer", R"({"type": "Split", "pattern": {"Regex": "a"}, "behavior": "Removed"})",
       "behavior \"Removed\""},
      {"pre_tokenizer", R"({"type": "Split", "pattern": {"String": "a"}, "behavior": "Isolated"})",
       "pre_tokenizer.pattern: a pattern other than \"Regex\""},
      {"post_processor", R"({"type": "BertProcessing"})", "post-processor \"BertProcessing\""},
      {"post_processor",
       R"({"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A"}},
           {"SpecialToken": {"id": "</s>"}}]})",
       "the token \"</s>\" in a template"},
      {"post_processor", R"({"type": "TemplateProcessing", "single": [{"Sequence": {"id": "B"}}]})",
       "sequence \"B\""},
      {"decoder", "null", "decoder: a tokenizer without ByteLevel decoder"},
      {"decoder", R"({"type": "WordPiece"})", "decoder \"WordPiece\""},
      {"decoder", R"({"type": "Sequence", "decoders": [{"type": "ByteLevel"}, {"type": "Fuse"}]})",
       "a decoder other than one ByteLevel"}};
  for (const Refused& c : cases) {
    const Status status = RefusalOf(c.key, c.value);
    EXPECT_EQ(status.code(), StatusCode::kUnimplemented) << c.value;
    EXPECT_THAT(status.message(), HasSubstr(c.message));
    EXPECT_THAT(status.message(), HasSubstr("is not supported"));
  }
}

TEST(TokenizerJson, UnknownModelsAreUnimplementedByName) {
  const std::vector<Refused> cases = {
      {"type", "\"Unigram\"", "model: model \"Unigram\""},
      {"dropout", "0.1", "model: dropout"},
      {"continuing_subword_prefix", "\"##\"", "model.continuing_subword_prefix: \"##\""},
      {"end_of_word_suffix", "\"</w>\"", "model.end_of_word_suffix: \"</w>\""}};
  for (const Refused& c : cases) {
    const Status status = ModelRefusalOf(c.key, c.value);
    EXPECT_EQ(status.code(), StatusCode::kUnimplemented) << c.value;
    EXPECT_THAT(status.message(), HasSubstr(c.message));
  }
}

TEST(TokenizerJson, OffSwitchesAreFine) {
  EXPECT_TRUE(ModelRefusalOf("continuing_subword_prefix", "\"\"").ok());
  EXPECT_TRUE(ModelRefusalOf("dropout", "0.0").ok());
  EXPECT_TRUE(RefusalOf("truncation", "null").ok());
  EXPECT_TRUE(RefusalOf("padding", "false").ok());
}

TEST(TokenizerJson, WrongTypesNamePlaceAndType) {
  const std::vector<Refused> cases = {
      {"normalizer", "[]", "normalizer: expected an object"},
      {"normalizer", R"({"type": 3})", "normalizer.type: expected a string, got 3"},
      {"normalizer", "{}", "type"},
      {"normalizer", R"({"type": "Sequence", "normalizers": 7})", "normalizer.normalizers"},
      {"pre_tokenizer", "\"ByteLevel\"", "pre_tokenizer: expected an object"},
      {"pre_tokenizer", R"({"type": "ByteLevel", "add_prefix_space": 0})",
       "add_prefix_space: expected"},
      {"pre_tokenizer", R"({"type": "Split", "pattern": {"Regex": 1}, "behavior": "Isolated"})",
       "pre_tokenizer.pattern.Regex: expected a string"},
      {"decoder", "5", "decoder: expected an object"},
      {"model", "[]", "model"},
      {"added_tokens", "3", "added_tokens"},
      {"added_tokens", R"(["x"])", "added_tokens[0]: expected an object"},
      {"added_tokens", R"([{"id": "5", "content": "x"}])",
       "added_tokens[0].id: expected a 32-bit integer"},
      {"added_tokens", R"([{"id": 1.0, "content": "x"}])", "added_tokens[0].id"},
      {"added_tokens", R"([{"content": "x"}])", "added_tokens[0].id"},
      {"added_tokens", R"([{"id": 300}])", "added_tokens[0].content"},
      {"added_tokens", R"([{"id": 300, "content": "x", "special": "yes"}])", "special: expected"}};
  for (const Refused& c : cases) {
    const Status status = RefusalOf(c.key, c.value);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << c.value;
    EXPECT_THAT(status.message(), HasSubstr(c.message)) << c.value;
  }
  for (const char* text : {"[]", "null", "3", "{}", "", "{"}) {
    EXPECT_EQ(ParseTokenizerJson(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
}

TEST(TokenizerJson, BrokenVocabulariesAreRefused) {
  const std::vector<Refused> cases = {
      {"vocab", "[]", "model.vocab: expected an object"},
      {"vocab", R"({"a": "1"})", "\"a\": expected a 32-bit integer, got \"1\""},
      {"vocab", R"({"a": 1, "b": 1})", "id 1 is used twice, for \"a\" and \"b\""},
      {"vocab", R"({"a": -1})", "expected an id in 0..4194303, got -1"},
      {"vocab", R"({"a": 4194304})", "got 4194304"},
      {"vocab", R"({"a": 99999999999999999999})", "\"a\": expected"},
      {"vocab", R"({"": 1})", "its spelling is empty"},
      {"merges", "{}", "model.merges: expected an array"},
      {"merges", R"(["ab"])", "model.merges[0]: expected two parts with one blank between"},
      {"merges", R"(["a b c"])", "model.merges[0]: expected two parts"},
      {"merges", R"([["a"]])", "model.merges[0]: expected two strings"},
      {"merges", R"([["a", 1]])", "model.merges[0]: expected two strings"},
      {"merges", R"([7])", "model.merges[0]: expected two strings, got 7"},
      {"merges", R"([["zz", "a"]])", "model.merges[0]: \"zz\" is not in model.vocab"},
      {"merges", R"([["a", "zz"]])", "\"zz\" is not in model.vocab"},
      {"merges", R"([["a", "b"]])", "model.merges[0]: \"ab\" is not in model.vocab"},
      {"merges", R"([["", "a"]])", "model.merges[0]: \"\" is not in model.vocab"}};
  for (const Refused& c : cases) {
    const Status status = ModelRefusalOf(c.key, c.value);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << c.value;
    EXPECT_THAT(status.message(), HasSubstr(c.message)) << c.value;
  }
}

TEST(TokenizerJson, MissingPartsAreRefusedByName) {
  for (const char* key : {"pre_tokenizer", "decoder", "model"}) {
    const Status status = RefusalOf([&](TestFile& f) { f.root().Remove(key); });
    EXPECT_THAT(status.message(), HasSubstr(key));
  }
  for (const char* key : {"vocab", "merges"}) {
    const Status status = RefusalOf([&](TestFile& f) { f.model().Remove(key); });
    EXPECT_THAT(status.message(), HasSubstr(key));
  }
}

TEST(TokenizerJson, ContradictingAddedTokensAreRefused) {
  const std::vector<Refused> cases = {
      {"", R"([{"id": 5, "content": "a"}])",
       "added_tokens[0]: id 5 for \"a\", which has id 97 already"},
      {"", R"([{"id": 97, "content": "<x>"}])", "id 97 is used twice"},
      {"", R"([{"id": 300, "content": ""}])", "its spelling is empty"},
      {"", R"([{"id": 300, "content": "<x>"}, {"id": 300, "content": "<x>"}])",
       "\"<x>\" occurs twice"},
      {"", R"([{"id": 2147483647, "content": "<x>"}])", "expected an id in 0..4194303"}};
  for (const Refused& c : cases) {
    const Status status = RefusalOf("added_tokens", c.value);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << c.value;
    EXPECT_THAT(status.message(), HasSubstr(c.message)) << c.value;
  }
  const std::string longest(AddedTokenMatcher::kMaxContentBytes, '<');
  EXPECT_TRUE(RefusalOf([&](TestFile& f) { f.AddAdded({.id = -1, .content = longest}); }).ok());
  EXPECT_THAT(
      RefusalOf([&](TestFile& f) { f.AddAdded({.id = -1, .content = longest + "<"}); }).message(),
      HasSubstr("expected a content of at most 1024 bytes, got 1025"));
}

TEST(TokenizerJson, ATemplateTokenMustExist) {
  EXPECT_THAT(RefusalOf("post_processor", R"({"type": "TemplateProcessing", "single": [
    {"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}]})")
                  .message(),
              HasSubstr("the template's token \"<s>\" does not exist"));
}

TEST(TokenizerJson, NestingAndChainsAreBounded) {
  EXPECT_FALSE(ParseTokenizerJson(std::string(100000, '[')).ok());
  std::string chain = R"({"type": "NFC"})";
  for (int32_t i = 0; i < 32; ++i) chain += R"(, {"type": "NFC"})";
  EXPECT_THAT(
      RefusalOf("normalizer", StrCat(R"({"type": "Sequence", "normalizers": [)", chain, "]}"))
          .message(),
      HasSubstr("expected at most 32 components, got 33"));
}

TEST(TokenizerJson, ASequenceWithinASequenceIsNotTakenForOne) {
  EXPECT_THAT(RefusalOf("normalizer", R"({"type": "Sequence", "normalizers": [
    {"type": "Sequence", "normalizers": []}]})")
                  .message(),
              HasSubstr("normalizer.normalizers[0]: normalizer \"Sequence\" is not supported"));
}

TEST(TokenizerJson, ReadsAHundredThousandAddedTokens) {
  std::string added;
  for (int32_t id = 256; id < 100'256; ++id) {
    added += StrCat(added.empty() ? "" : ",", R"({"id":)", id, R"(,"content":"<)", id, R"(>"})");
  }
  std::string text = TestFile().Text();
  const std::string_view empty = R"("added_tokens": [])";
  text.replace(text.find(empty), empty.size(), StrCat(R"("added_tokens": [)", added, "]"));
  EXPECT_EQ(ParseTokenizerJson(text).value().vocabulary.size(), 100'256);
}

TEST(TokenizerJson, RepeatedKeysAreRefused) {
  EXPECT_FALSE(ParseTokenizerJson(R"({"model": {}, "model": {}})").ok());
}

TEST(TokenizerConfig, NamesAndSwitch) {
  const TokenizerConfig none = ParseTokenizerConfig("{}").value();
  EXPECT_TRUE(none.add_bos);
  EXPECT_EQ(none.bos_token + none.eos_token + none.pad_token, "");
  const TokenizerConfig config = ParseTokenizerConfig(R"({"add_bos_token": false,
    "bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": true}, "pad_token": null})")
                                     .value();
  EXPECT_FALSE(config.add_bos);
  EXPECT_EQ(config.bos_token, "<s>");
  EXPECT_EQ(config.eos_token, "</s>");
  EXPECT_EQ(config.pad_token, "");
}

TEST(TokenizerConfig, RepeatedKeysCountAsInPython) {
  EXPECT_EQ(ParseTokenizerConfig(R"({"bos_token": "a", "bos_token": "b"})").value().bos_token, "b");
}

TEST(TokenizerConfig, WrongTypesAndEosAreRefused) {
  for (const char* text : {"[]", R"({"bos_token": 3})", R"({"bos_token": {}})", "",
                           R"({"add_bos_token": "no"})", R"({"eos_token": ["a"]})"}) {
    EXPECT_EQ(ParseTokenizerConfig(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
  EXPECT_EQ(ParseTokenizerConfig(R"({"add_eos_token": true})").status().code(),
            StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace deepinfer::tokenizer
