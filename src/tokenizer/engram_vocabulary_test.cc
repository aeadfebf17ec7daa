#include "tokenizer/engram_vocabulary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/json.h"
#include "base/strings.h"
#include "tokenizer/test_file.h"

namespace deepinfer::tokenizer {
namespace {

TEST(EngramVocabulary, CheckpointsHaveTheSizeOfTheirConfig) {
  for (const char* folder : {"models/DeepSeek-V4.1-Tiny", "tests/fixtures/branches"}) {
    const json::Value config = json::Parse(ReadSource(StrCat(folder, "/config.json"))).value();
    const json::Value* text_config = config.Find("text_config");
    const json::Value* size =
        (text_config != nullptr ? text_config : &config)->Find("engram_compressed_vocab_size");
    ASSERT_NE(size, nullptr);
    const Tokenizer tokenizer =
        Tokenizer::FromJson(ReadSource(StrCat(folder, "/tokenizer.json"))).value();
    const EngramVocabulary v = MakeEngramVocabulary(tokenizer);
    EXPECT_EQ(v.size, size->AsInt32().value()) << folder;
    EXPECT_EQ(v.compressed_ids.size(), static_cast<size_t>(tokenizer.size()));
  }
}

TEST(EngramVocabulary, IdsAreNumberedByTheirFirstToken) {
  const Tokenizer tokenizer =
      Tokenizer::FromJson(ReadSource("models/DeepSeek-V4.1-Tiny/tokenizer.json")).value();
  const EngramVocabulary v = MakeEngramVocabulary(tokenizer);
  int32_t num_seen = 0;
  for (const int32_t id : v.compressed_ids) {
    ASSERT_LE(id, num_seen);
    num_seen = std::max(num_seen, id + 1);
  }
  EXPECT_EQ(num_seen, v.size);
}

TEST(EngramVocabulary, CoversAddedTokensAndGapsAndNothingBeyond) {
  TestFile file;
  const int32_t upper = file.AddAdded({.id = 300, .content = "<｜Mark｜>"});
  const int32_t lower = file.AddAdded({.id = 310, .content = "<｜mark｜>"});
  const Tokenizer tokenizer = file.Load();
  const EngramVocabulary v = MakeEngramVocabulary(tokenizer);
  ASSERT_EQ(v.compressed_ids.size(), 311u);
  EXPECT_EQ(v.compressed_ids[static_cast<size_t>(upper)],
            v.compressed_ids[static_cast<size_t>(lower)]);
}

TEST(EngramVocabulary, TokensThatDifferInCaseAccentOrBlanksShareAnId) {
  TestFile file;
  const auto same = [&](std::string_view a, std::string_view b) {
    const int32_t first = file.AddToken(a);
    const int32_t second = file.AddToken(b);
    return std::pair(static_cast<size_t>(first), static_cast<size_t>(second));
  };
  const auto pairs = {same("the", " The"),    same("cafe", "Café"), same("ab", "ＡＢ"),
                      same("i j", "i\n\t J"), same("fin", "ﬁn"),    same("Straße", "straße")};
  const auto [word, suffix] = same("one", "once");
  const EngramVocabulary v = MakeEngramVocabulary(file.Load());
  for (const auto& [a, b] : pairs) EXPECT_EQ(v.compressed_ids[a], v.compressed_ids[b]) << a;
  EXPECT_NE(v.compressed_ids[word], v.compressed_ids[suffix]);
}

TEST(EngramVocabulary, TokensThatAreNoWholeCharactersGoByTheirSpelling) {
  // Each of the bytes 80..FF decodes to U+FFFD, and all keep ids of their own.
  const EngramVocabulary v = MakeEngramVocabulary(TestFile().Load());
  std::vector<int32_t> ids(v.compressed_ids.begin() + 0x80, v.compressed_ids.end());
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
  EXPECT_EQ(v.compressed_ids['A'], v.compressed_ids['a']);
  EXPECT_EQ(v.compressed_ids[' '], v.compressed_ids['\n']);
}

TEST(EngramNormalization, FoldsWidthMarksCaseAndBlanks) {
  EXPECT_EQ(NormalizeForEngram("Ｈｅｌｌｏ"), "hello");  // NFKC
  EXPECT_EQ(NormalizeForEngram("①ﬃ㎏"), "1ffikg");
  EXPECT_EQ(NormalizeForEngram("ÀÉ\u0301"), "ae");                // Mn
  EXPECT_EQ(NormalizeForEngram("\u0915\u093E\u0903"), "\u0915");  // Mc
  EXPECT_EQ(NormalizeForEngram("a\u20DD"), "a");                  // Me
  EXPECT_EQ(NormalizeForEngram("İǅ"), "idz");
}

TEST(EngramNormalization, CapitalSigmaHasNoFinalForm) { EXPECT_EQ(NormalizeForEngram("ΑΣ"), "ασ"); }

TEST(EngramNormalization, BlanksAreFoldedAndStripped) {
  EXPECT_EQ(NormalizeForEngram(" a \t\r\n b "), "a b");
  EXPECT_EQ(NormalizeForEngram("\n\n"), " ");         // exactly one blank stays
  EXPECT_EQ(NormalizeForEngram("\u00A0"), " ");       // NFKC makes it a blank first
  EXPECT_EQ(NormalizeForEngram("\u2028\u0085"), "");  // other white space is only stripped
  EXPECT_EQ(NormalizeForEngram("a\u2028b"), "a\u2028b");
  EXPECT_EQ(NormalizeForEngram("\u0301"), "");
  EXPECT_EQ(NormalizeForEngram(""), "");
}

TEST(EngramNormalization, ThePrivateStandInBecomesABlank) {
  EXPECT_EQ(NormalizeForEngram("\uE000"), " ");
  EXPECT_EQ(NormalizeForEngram("a\uE000b"), "a b");
}

TEST(EngramVocabulary, ATokenOfWhichNothingIsLeftGoesByItsText) {
  TestFile file;
  const auto first = static_cast<size_t>(file.AddToken("\u2028"));
  const auto second = static_cast<size_t>(file.AddToken("\u0085"));
  const EngramVocabulary v = MakeEngramVocabulary(file.Load());
  EXPECT_NE(v.compressed_ids[first], v.compressed_ids[second]);
}

}  // namespace
}  // namespace deepinfer::tokenizer
