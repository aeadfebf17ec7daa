#include "tokenizer/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/file_system.h"
#include "base/strings.h"
#include "base/temp_dir.h"

namespace deepinfer::tokenizer {
namespace {

using testing::HasSubstr;

TEST(Vocabulary, StartsEmpty) {
  const Vocabulary v;
  EXPECT_EQ(v.size(), 0);
  EXPECT_FALSE(v.Has(0));
  EXPECT_EQ(v.Bytes(0), "");
  EXPECT_EQ(v.Spelling(0), "");
  EXPECT_EQ(v.Find("a"), std::nullopt);
  EXPECT_EQ(v.FindByteLevel("a"), std::nullopt);
}

TEST(Vocabulary, ByteLevelSpellingsStandForBytes) {
  Vocabulary v;
  ASSERT_TRUE(v.Add(7, "Ġthe").ok());
  EXPECT_TRUE(v.IsByteLevel(7));
  EXPECT_EQ(v.Bytes(7), " the");
  EXPECT_EQ(v.Spelling(7), "Ġthe");
  EXPECT_EQ(v.Find("Ġthe"), 7);
  EXPECT_EQ(v.FindByteLevel(" the"), 7);
  EXPECT_EQ(v.Find(" the"), std::nullopt);
}

TEST(Vocabulary, OtherSpellingsStandForThemselves) {
  Vocabulary v;
  ASSERT_TRUE(v.Add(3, "<｜User｜>").ok());
  EXPECT_FALSE(v.IsByteLevel(3));
  EXPECT_TRUE(v.Has(3));
  EXPECT_EQ(v.Bytes(3), "<｜User｜>");
  EXPECT_EQ(v.Spelling(3), "<｜User｜>");
  EXPECT_EQ(v.Find("<｜User｜>"), 3);
  EXPECT_EQ(v.FindByteLevel("<｜User｜>"), std::nullopt);
}

TEST(Vocabulary, LiteralAndByteLevelTokensMayHaveTheSameBytes) {
  Vocabulary v;
  ASSERT_TRUE(v.Add(0, "Ġ").ok());
  ASSERT_TRUE(v.Add(1, " ").ok());
  EXPECT_EQ(v.Bytes(0), v.Bytes(1));
  EXPECT_EQ(v.Find("Ġ"), 0);
  EXPECT_EQ(v.Find(" "), 1);
  EXPECT_EQ(v.FindByteLevel(" "), 0);
}

TEST(Vocabulary, IdsMayHaveGaps) {
  Vocabulary v;
  ASSERT_TRUE(v.Add(Vocabulary::kMaxTokens - 1, "last").ok());
  ASSERT_TRUE(v.Add(2, "two").ok());
  EXPECT_EQ(v.size(), Vocabulary::kMaxTokens);
  EXPECT_FALSE(v.Has(0));
  EXPECT_FALSE(v.IsByteLevel(0));
  EXPECT_EQ(v.Bytes(0), "");
  EXPECT_EQ(v.Find("two"), 2);
  EXPECT_EQ(v.Find("last"), Vocabulary::kMaxTokens - 1);
}

TEST(Vocabulary, IdsOutOfRangeHaveNoToken) {
  Vocabulary v;
  ASSERT_TRUE(v.Add(0, "a").ok());
  for (const int32_t id : {-1, INT32_MIN, 1, INT32_MAX}) {
    EXPECT_FALSE(v.Has(id));
    EXPECT_FALSE(v.IsByteLevel(id));
    EXPECT_EQ(v.Bytes(id), "");
    EXPECT_EQ(v.Spelling(id), "");
  }
}

TEST(Vocabulary, RefusesBadIdsAndRepeats) {
  Vocabulary v;
  ASSERT_TRUE(v.Add(5, "Ġa").ok());
  EXPECT_THAT(v.Add(-1, "b").message(), HasSubstr("expected an id in 0..4194303, got -1"));
  EXPECT_THAT(v.Add(Vocabulary::kMaxTokens, "b").message(), HasSubstr("got 4194304"));
  EXPECT_THAT(v.Add(6, "").message(), HasSubstr("token 6: its spelling is empty"));
  EXPECT_THAT(v.Add(5, "b").message(), HasSubstr("id 5 is used twice"));
  EXPECT_THAT(v.Add(6, "Ġa").message(), HasSubstr("occurs twice, as id 5 and 6"));
}

TEST(Vocabulary, ARefusalChangesNothing) {
  Vocabulary v;
  ASSERT_TRUE(v.Add(0, "a").ok());
  ASSERT_FALSE(v.Add(0, "b").ok());
  ASSERT_FALSE(v.Add(1, "a").ok());
  EXPECT_EQ(v.size(), 1);
  EXPECT_EQ(v.Find("b"), std::nullopt);
  ASSERT_TRUE(v.Add(1, "b").ok());
  EXPECT_EQ(v.Find("a"), 0);
  EXPECT_EQ(v.Find("b"), 1);
}

TEST(Vocabulary, RefusesAGibibyte) {
  // A file that is all hole: nothing of it is ever read.
  const TempDir dir;
  const auto file = PosixFileSystem().Open(dir / "hole", OpenMode::kCreateNew);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->Resize((uint64_t{1} << 30) + 1).ok());
  const auto map = PosixFileSystem().Map(dir / "hole");
  ASSERT_TRUE(map.ok());
  const std::string_view spelling(static_cast<const char*>(map->data()), map->num_bytes());
  Vocabulary v;
  EXPECT_THAT(v.Add(0, spelling).message(), HasSubstr("the vocabulary exceeds 1"));
}

TEST(Vocabulary, FindsEachOfManyTokens) {
  constexpr int32_t kNumTokens = 50000;
  const auto spelling = [](int32_t id) { return StrCat(id % 2 == 0 ? "t" : "｜", id); };
  for (const bool reserves : {false, true}) {
    Vocabulary v;
    if (reserves) v.Reserve(1000, 4000);
    for (int32_t id = 0; id < kNumTokens; ++id) ASSERT_TRUE(v.Add(id, spelling(id)).ok());
    for (int32_t id = 0; id < kNumTokens; ++id) {
      ASSERT_EQ(v.Find(spelling(id)), id);
      ASSERT_EQ(v.Spelling(id), spelling(id));
    }
    EXPECT_EQ(v.Find("t1"), std::nullopt);
  }
}

TEST(Vocabulary, ReserveKeepsTokensAndIgnoresTheAbsurd) {
  Vocabulary v;
  ASSERT_TRUE(v.Add(0, "a").ok());
  v.Reserve(SIZE_MAX, 1);
  v.Reserve(1, SIZE_MAX);
  v.Reserve(1000, 1000);
  EXPECT_EQ(v.Find("a"), 0);
  EXPECT_EQ(v.size(), 1);
}

}  // namespace
}  // namespace deepinfer::tokenizer
