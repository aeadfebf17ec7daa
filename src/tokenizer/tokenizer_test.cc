#include "tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/faulty_file_system.h"
#include "base/strings.h"
#include "base/temp_dir.h"
#include "tokenizer/test_file.h"

namespace deepinfer::tokenizer {
namespace {

using testing::HasSubstr;
using Ids = std::vector<int32_t>;

constexpr char kBos[] = "<｜begin▁of▁sentence｜>";

Tokenizer Tiny() {
  return Tokenizer::Load(PosixFileSystem(), JoinPath(DI_SOURCE_DIR, "models/DeepSeek-V4.1-Tiny"))
      .value();
}

Ids Encode(const Tokenizer& tokenizer, std::string_view text, const EncodeOptions& options = {}) {
  return tokenizer.Encode(text, options).value();
}

TEST(Tokenizer, TheTinyModelsFacts) {
  const Tokenizer t = Tiny();
  EXPECT_EQ(t.size(), 4096);
  EXPECT_EQ(t.vocab_size(), 4032);
  EXPECT_EQ(t.bos_id(), 0);
  EXPECT_EQ(t.eos_id(), 1);
  EXPECT_EQ(t.pad_id(), 2);
  EXPECT_FALSE(t.adds_bos());
  EXPECT_EQ(t.TokenToId(kBos), 0);
  EXPECT_TRUE(t.IsSpecial(0));
  EXPECT_TRUE(t.IsAdded(0));
  const std::optional<int32_t> user = t.AddedTokenId("<｜User｜>");
  ASSERT_TRUE(user.has_value());
  EXPECT_EQ(t.TokenSpelling(*user), "<｜User｜>");
  EXPECT_EQ(t.TokenBytes(*user), "<｜User｜>");
}

TEST(Tokenizer, OrdinaryTokensAreNeitherAddedNorSpecial) {
  const Tokenizer t = Tiny();
  const std::optional<int32_t> the = t.TokenToId("Ġthe");
  ASSERT_TRUE(the.has_value());
  EXPECT_EQ(t.TokenBytes(*the), " the");
  EXPECT_EQ(t.AddedTokenId("Ġthe"), std::nullopt);
  EXPECT_FALSE(t.IsAdded(*the));
  EXPECT_FALSE(t.IsSpecial(*the));
  EXPECT_EQ(t.TokenToId("no such token"), std::nullopt);
}

TEST(Tokenizer, EveryTextOfUtf8SurvivesEncodingAndDecoding) {
  const Tokenizer t = Tiny();
  for (const std::string& text :
       {std::string(), std::string(" "), std::string("Hello, wörld!\n\n  你好 🇩🇪 12345"),
        std::string("a\0b", 3), std::string(kBos) + "x" + kBos, std::string(3000, 'q')}) {
    for (const bool parses : {true, false}) {
      EXPECT_EQ(t.Decode(Encode(t, text, {.parse_added_tokens = parses})), text);
    }
  }
}

TEST(Tokenizer, MarkersAreTokensOnlyWhenAskedFor) {
  const Tokenizer t = Tiny();
  const int32_t user = t.AddedTokenId("<｜User｜>").value();
  EXPECT_EQ(Encode(t, "<｜User｜>"), (Ids{user}));
  for (const int32_t id : Encode(t, "<｜User｜>", {.parse_added_tokens = false})) {
    EXPECT_FALSE(t.IsAdded(id));
  }
}

TEST(Tokenizer, BosGoesInFrontOnce) {
  const Tokenizer t = Tiny();
  const Ids plain = Encode(t, "Hi");
  Ids with_bos = plain;
  with_bos.insert(with_bos.begin(), 0);
  EXPECT_EQ(Encode(t, "Hi", {.add_bos = true}), with_bos);
  EXPECT_EQ(Encode(t, std::string(kBos) + "Hi", {.add_bos = true}), with_bos);
  EXPECT_EQ(Encode(t, "", {.add_bos = true}), (Ids{0}));
  EXPECT_EQ(Encode(t, ""), Ids{});
  // Spelled out it is text, so the real one comes in front of it.
  const Ids spelled = Encode(t, kBos, {.add_bos = true, .parse_added_tokens = false});
  EXPECT_EQ(spelled[0], 0);
  EXPECT_GT(spelled.size(), 2u);
}

TEST(Tokenizer, WithoutABosNoneIsAdded) {
  const Tokenizer t = TestFile().Load();
  EXPECT_EQ(t.bos_id(), std::nullopt);
  EXPECT_FALSE(t.adds_bos());
  EXPECT_EQ(Encode(t, "a", {.add_bos = true}), (Ids{'a'}));
}

TEST(Tokenizer, BosComesFromConfigOrTemplate) {
  TestFile file;
  const int32_t s = file.AddAdded({.id = -1, .content = "<s>", .special = true});
  const int32_t t = file.AddAdded({.id = -1, .content = "<t>", .special = true});
  EXPECT_EQ(file.Load(R"({"bos_token": "<s>"})").bos_id(), s);
  EXPECT_TRUE(file.Load(R"({"bos_token": "<s>"})").adds_bos());
  EXPECT_FALSE(file.Load(R"({"bos_token": "<s>", "add_bos_token": false})").adds_bos());
  file.root().Set("post_processor", json::Parse(R"({"type": "TemplateProcessing", "single": [
    {"SpecialToken": {"id": "<t>"}}, {"Sequence": {"id": "A"}}]})")
                                        .value());
  EXPECT_EQ(file.Load().bos_id(), t);
  EXPECT_TRUE(file.Load().adds_bos());
  EXPECT_EQ(file.Load(R"({"bos_token": "<s>"})").bos_id(), s);
}

TEST(Tokenizer, ANamedTokenMustExist) {
  const Status status =
      Tokenizer::FromJson(TestFile().Text(), R"({"eos_token": "<none>"})").status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(),
              HasSubstr("eos_token: expected a token of tokenizer.json, got \"<none>\""));
}

TEST(Tokenizer, InvalidBytesCountAsReplacementCharacters) {
  const Tokenizer t = Tiny();
  EXPECT_EQ(Encode(t, "a\xFF\xE4\xBDz"), Encode(t, "a\uFFFD\uFFFDz"));
  EXPECT_EQ(Encode(t, "\xED\xA0\x80"), Encode(t, "\uFFFD\uFFFD\uFFFD"));
}

TEST(Tokenizer, TextsAreBounded) {
  const Tokenizer t = TestFile().Load();
  const std::string text(Tokenizer::kMaxTextBytes + 1, 'a');
  const auto ids = t.Encode(text);
  ASSERT_FALSE(ids.ok());
  EXPECT_EQ(ids.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(ids.status().message(), HasSubstr("text: expected at most 64.0 MiB"));
}

TEST(Tokenizer, DecodesIdsWithoutTokenToNothing) {
  const Tokenizer t = Tiny();
  const int32_t a = t.TokenToId("a").value();
  EXPECT_EQ(t.Decode(Ids{-1, a, INT32_MIN, 4096, INT32_MAX}), "a");
  for (const int32_t id : {-1, 4096, INT32_MAX, INT32_MIN}) {
    EXPECT_EQ(t.TokenBytes(id), "");
    EXPECT_EQ(t.TokenSpelling(id), "");
    EXPECT_FALSE(t.IsSpecial(id));
    EXPECT_FALSE(t.IsAdded(id));
  }
}

TEST(Tokenizer, DecodeSkipsSpecialTokensOnly) {
  TestFile file;
  const int32_t special = file.AddAdded({.id = -1, .content = "<s>", .special = true});
  const int32_t added = file.AddAdded({.id = -1, .content = "<a>"});
  const Tokenizer t = file.Load();
  const Ids ids = {special, 'x', added, special};
  EXPECT_EQ(t.Decode(ids), "<s>x<a><s>");
  EXPECT_EQ(t.Decode(ids, {.skip_special = true}), "x<a>");
}

TEST(Tokenizer, DecodeReplacesWhatIsNoCharacter) {
  const Tokenizer t = TestFile().Load();
  EXPECT_EQ(t.Decode(Ids{'a', 0xE4, 0xBD, 'b', 0xFF}), "a\uFFFDb\uFFFD");
  EXPECT_EQ(t.Decode(Ids{0xE4, 0xBD, 0xA0}), "你");
}

TEST(Tokenizer, NormalizesWhatLiesBetweenAddedTokens) {
  TestFile file;
  const int32_t raw = file.AddAdded({.id = -1, .content = "ﬁ"});
  const int32_t normalized = file.AddAdded({.id = -1, .content = "<fi>", .normalized = true});
  file.root().Set("normalizer", json::Parse(R"({"type": "NFKC"})").value());
  const Tokenizer t = file.Load();
  EXPECT_EQ(Encode(t, "ﬂﬁ<ﬂ"), (Ids{'f', 'l', raw, '<', 'f', 'l'}));
  EXPECT_EQ(Encode(t, "＜fi＞"), (Ids{normalized}));
  EXPECT_EQ(Encode(t, "＜fi＞ﬁ", {.parse_added_tokens = false}),
            (Ids{'<', 'f', 'i', '>', 'f', 'i'}));
}

TEST(Tokenizer, AContentThatTheNormalizerChangesIsRefused) {
  TestFile file;
  file.AddAdded({.id = -1, .content = "ﬁ", .normalized = true});
  EXPECT_TRUE(Tokenizer::FromJson(file.Text()).ok());
  file.root().Set("normalizer", json::Parse(R"({"type": "NFKC"})").value());
  const Status status = Tokenizer::FromJson(file.Text()).status();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(), HasSubstr("a content that the normalizer changes"));
}

TEST(Tokenizer, IgnoreMergesKeepsWholeWords) {
  TestFile file;
  const int32_t ab = file.AddMerge("a", "b");
  const int32_t abc = file.AddToken("abc");
  EXPECT_EQ(Encode(file.Load(), "abc"), (Ids{ab, 'c'}));
  file.model().Set("ignore_merges", true);
  EXPECT_EQ(Encode(file.Load(), "abc"), (Ids{abc}));
  EXPECT_EQ(Encode(file.Load(), "abcd"), (Ids{ab, 'c', 'd'}));
}

TEST(Tokenizer, OtherPatternsRunAsRegex) {
  TestFile file;
  const int32_t ab = file.AddMerge("a", "b");
  const int32_t aa = file.AddMerge("a", "a");
  file.root().Set("pre_tokenizer", json::Parse(R"({"type": "Sequence", "pretokenizers": [
    {"type": "Split", "pattern": {"Regex": "b"}, "behavior": "Isolated"},
    {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]})")
                                       .value());
  EXPECT_EQ(Encode(file.Load(), "aab"), (Ids{aa, 'b'}));
  EXPECT_NE(Encode(file.Load(), "ab"), (Ids{ab}));
}

TEST(Tokenizer, ABadPatternIsRefusedWithItsPlace) {
  TestFile file;
  file.root().Set("pre_tokenizer", json::Parse(R"({"type": "Sequence", "pretokenizers": [
    {"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated"},
    {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]})")
                                       .value());
  EXPECT_THAT(Tokenizer::FromJson(file.Text()).status().message(),
              HasSubstr("tokenizer.json: pre_tokenizer: pattern \"(\" at byte 1"));
}

TEST(Tokenizer, APatternThatGivesUpFailsTheCallOnly) {
  TestFile file;
  json::Value pre_tokenizer = json::Parse(R"({"type": "Sequence", "pretokenizers": [
    {"type": "Split", "pattern": {}, "behavior": "Isolated"},
    {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]})")
                                  .value();
  json::Value& split = pre_tokenizer.Find("pretokenizers")->items()[0];
  split.Find("pattern")->Set("Regex", "(?:a|a)+[^a](?<=c)");
  file.root().Set("pre_tokenizer", pre_tokenizer);
  const Tokenizer t = file.Load();
  EXPECT_FALSE(t.Encode(std::string(60, 'a') + "b").ok());
  EXPECT_EQ(Encode(t, "ac"), (Ids{'a', 'c'}));
}

TEST(Tokenizer, AMegabyteWithoutBlanksTakesNoQuadraticTime) {
  const Tokenizer t = Tiny();
  for (const std::string unit : {"a", "中文", "abcdefgh", "7", "!?", " "}) {
    std::string text;
    while (text.size() < 1'000'000) text += unit;
    const std::string_view start =
        std::string_view(text).substr(0, 20000 / unit.size() * unit.size());
    const double small = CpuSeconds(3, [&] { (void)t.Encode(start); });
    const double large = CpuSeconds(1, [&] { (void)t.Encode(text); });
    EXPECT_LT(large, 500 * (small + 1e-5)) << unit;  // 50 times the bytes; squared 2500
  }
}

TEST(Tokenizer, ThreadsGetTheSameIdsAsOne) {
  const Tokenizer t = Tiny();
  std::vector<std::string> texts;
  std::vector<Ids> expected;
  for (int32_t i = 0; i < 50; ++i) {
    texts.push_back(StrCat("text ", i, " with <｜User｜> und Größe ", i * 7919, "\n"));
    expected.push_back(Encode(t, texts.back()));
  }
  std::vector<std::thread> threads;
  std::vector<int32_t> num_wrong(4, 0);
  for (size_t n = 0; n < num_wrong.size(); ++n) {
    threads.emplace_back([&, n] {
      for (size_t i = 0; i < 10 * texts.size(); ++i) {
        const size_t k = (i * (n + 3)) % texts.size();
        const auto ids = t.Encode(texts[k]);
        if (!ids.ok() || *ids != expected[k] || t.Decode(*ids) != texts[k]) ++num_wrong[n];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_wrong, std::vector<int32_t>(4, 0));
}

TEST(Tokenizer, MovesWithItsViews) {
  Tokenizer a = TestFile().Load();
  const std::string_view bytes = a.TokenBytes('q');
  const Tokenizer b = std::move(a);
  EXPECT_EQ(b.TokenBytes('q').data(), bytes.data());
  EXPECT_EQ(Encode(b, "q"), (Ids{'q'}));
}

TEST(TokenizerLoad, TheConfigMayBeMissing) {
  const TempDir dir;
  ASSERT_TRUE(
      WriteFileAtomically(PosixFileSystem(), dir / "tokenizer.json", TestFile().Text()).ok());
  const Result<Tokenizer> t = Tokenizer::Load(PosixFileSystem(), dir.path());
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(t->bos_id(), std::nullopt);
}

TEST(TokenizerLoad, AMissingFileIsNotFoundWithItsPath) {
  const TempDir dir;
  const Status status = Tokenizer::Load(PosixFileSystem(), dir.path()).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr(dir / "tokenizer.json"));
}

TEST(TokenizerLoad, RefusalsNameFolderAndFile) {
  const TempDir dir;
  ASSERT_TRUE(WriteFileAtomically(PosixFileSystem(), dir / "tokenizer.json", "{}").ok());
  EXPECT_THAT(Tokenizer::Load(PosixFileSystem(), dir.path()).status().message(),
              HasSubstr(dir.path() + ": tokenizer.json: "));
  ASSERT_TRUE(
      WriteFileAtomically(PosixFileSystem(), dir / "tokenizer.json", TestFile().Text()).ok());
  ASSERT_TRUE(WriteFileAtomically(PosixFileSystem(), dir / "tokenizer_config.json", "[").ok());
  EXPECT_THAT(Tokenizer::Load(PosixFileSystem(), dir.path()).status().message(),
              HasSubstr(dir.path() + ": tokenizer_config.json: "));
}

TEST(TokenizerLoad, AConfigThatCannotBeReadIsNotTakenForMissing) {
  const TempDir dir;
  ASSERT_TRUE(
      WriteFileAtomically(PosixFileSystem(), dir / "tokenizer.json", TestFile().Text()).ok());
  ASSERT_TRUE(WriteFileAtomically(PosixFileSystem(), dir / "tokenizer_config.json", "{}").ok());
  FaultyFileSystem fs(PosixFileSystem());
  fs.FailNth(FileOp::kOpen, 2, DataLoss("device failed"));
  EXPECT_EQ(Tokenizer::Load(fs, dir.path()).status().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace deepinfer::tokenizer
