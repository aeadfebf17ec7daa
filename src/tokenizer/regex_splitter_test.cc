#include "tokenizer/regex_splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace deepinfer::tokenizer {
namespace {

using testing::HasSubstr;
using Pieces = std::vector<std::string_view>;

Pieces Split(std::string_view pattern, std::string_view text) {
  RegexScratch scratch;
  Pieces pieces;
  EXPECT_TRUE(RegexSplitter::Compile(pattern).value().Split(text, scratch, pieces).ok());
  return pieces;
}

TEST(RegexSplitter, MatchesAndWhatLiesBetweenAreAllPieces) {
  EXPECT_EQ(Split("b+", "abbcb"), (Pieces{"a", "bb", "c", "b"}));
  EXPECT_EQ(Split("b+", "bb"), (Pieces{"bb"}));
  EXPECT_EQ(Split("b+", "acd"), (Pieces{"acd"}));
  EXPECT_EQ(Split("b+", ""), Pieces{});
}

TEST(RegexSplitter, AppendsToThePieces) {
  RegexScratch scratch;
  Pieces pieces = {"kept"};
  ASSERT_TRUE(RegexSplitter::Compile("b").value().Split("ab", scratch, pieces).ok());
  EXPECT_EQ(pieces, (Pieces{"kept", "a", "b"}));
}

TEST(RegexSplitter, ClassesAreUnicode) {
  EXPECT_EQ(Split(R"(\p{L}+)", "1é中2"), (Pieces{"1", "é中", "2"}));
  EXPECT_EQ(Split(R"(\s)", "a\u3000b"), (Pieces{"a", "\u3000", "b"}));
  EXPECT_EQ(Split("[一-龥]+", "a一龥b"), (Pieces{"a", "一龥", "b"}));
}

TEST(RegexSplitter, EmptyMatchesSeparate) {
  EXPECT_EQ(Split("(?=[A-Z])", "oneTwoThree"), (Pieces{"one", "Two", "Three"}));
  EXPECT_EQ(Split("x*", "éaxx中"), (Pieces{"é", "a", "xx", "中"}));
  EXPECT_EQ(Split("", "中a"), (Pieces{"中", "a"}));
}

TEST(RegexSplitter, LookBehindSeesTheWholeText) {
  EXPECT_EQ(Split("(?<=a)b", "abbb"), (Pieces{"a", "b", "bb"}));
}

TEST(RegexSplitter, RefusesAPatternWithTheOffset) {
  const auto splitter = RegexSplitter::Compile("ab(c");
  ASSERT_FALSE(splitter.ok());
  EXPECT_EQ(splitter.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(splitter.status().message(), HasSubstr("pattern \"ab(c\" at byte 4: "));
}

TEST(RegexSplitter, RefusesWhatWouldCutCharacters) {
  EXPECT_FALSE(RegexSplitter::Compile(R"(\C)").ok());
  EXPECT_FALSE(RegexSplitter::Compile("\xFF").ok());
}

TEST(RegexSplitter, RefusesALongPattern) {
  EXPECT_TRUE(RegexSplitter::Compile(std::string(RegexSplitter::kMaxPatternBytes, 'a')).ok());
  const auto splitter =
      RegexSplitter::Compile(std::string(RegexSplitter::kMaxPatternBytes + 1, 'a'));
  ASSERT_FALSE(splitter.ok());
  EXPECT_THAT(splitter.status().message(), HasSubstr("expected a pattern of at most 16.0 KiB"));
}

TEST(RegexSplitter, DeepNestingIsRefusedNotARunawayStack) {
  const size_t depth = RegexSplitter::kMaxPatternBytes / 2;
  EXPECT_FALSE(RegexSplitter::Compile(std::string(depth, '(') + std::string(depth, ')')).ok());
}

TEST(RegexSplitter, ExponentialBacktrackingGivesUp) {
  const RegexSplitter splitter = RegexSplitter::Compile("(?:a|a)+[^a](?<=c)").value();
  RegexScratch scratch;
  Pieces pieces;
  const Status status = splitter.Split(std::string(60, 'a') + "b", scratch, pieces);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("gave up at byte 0 of the text"));
  // The scratch is as good as new.
  pieces.clear();
  EXPECT_TRUE(splitter.Split("xaac", scratch, pieces).ok());
  EXPECT_EQ(pieces, (Pieces{"x", "aac"}));
}

TEST(RegexSplitter, DeepRecursionInAMatchGivesUp) {
  const RegexSplitter splitter = RegexSplitter::Compile(R"((\((?1)*\)))").value();
  RegexScratch scratch;
  Pieces pieces;
  const std::string text = std::string(200000, '(') + std::string(200000, ')');
  EXPECT_FALSE(splitter.Split(text, scratch, pieces).ok());
}

TEST(RegexSplitter, OneScratchServesSeveralSplittersAndMoves) {
  const RegexSplitter digits = RegexSplitter::Compile("[0-9]").value();
  RegexSplitter letters = RegexSplitter::Compile("[a-z]").value();
  RegexScratch scratch;
  Pieces pieces;
  ASSERT_TRUE(digits.Split("1+a", scratch, pieces).ok());
  RegexScratch moved = std::move(scratch);
  const RegexSplitter moved_letters = std::move(letters);
  ASSERT_TRUE(moved_letters.Split("1+a", moved, pieces).ok());
  EXPECT_EQ(pieces, (Pieces{"1", "+a", "1+", "a"}));
}

}  // namespace
}  // namespace deepinfer::tokenizer
