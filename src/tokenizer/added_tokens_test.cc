#include "tokenizer/added_tokens.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "tokenizer/test_file.h"

namespace deepinfer::tokenizer {
namespace {

// "text", "[id text]", "text", ...
std::vector<std::string> Split(std::vector<AddedToken> tokens, std::string_view text) {
  std::vector<TextSegment> segments;
  AddedTokenMatcher(std::move(tokens)).Split(text, segments);
  std::vector<std::string> out;
  for (const TextSegment& s : segments) {
    out.push_back(s.id < 0 ? std::string(s.text) : StrCat("[", s.id, " ", s.text, "]"));
  }
  return out;
}

using Segments = std::vector<std::string>;

TEST(AddedTokens, WithoutTokensTheTextIsOneSegment) {
  EXPECT_TRUE(AddedTokenMatcher().empty());
  EXPECT_EQ(Split({}, "a<b>"), (Segments{"a<b>"}));
  EXPECT_EQ(Split({}, ""), Segments{});
}

TEST(AddedTokens, AreCutOutWithTheTextBetween) {
  const std::vector<AddedToken> tokens = {{.id = 1, .content = "<a>"}, {.id = 2, .content = "<b>"}};
  EXPECT_EQ(Split(tokens, "x<a>y<b><a>"), (Segments{"x", "[1 <a>]", "y", "[2 <b>]", "[1 <a>]"}));
  EXPECT_EQ(Split(tokens, "<a"), (Segments{"<a"}));
  EXPECT_EQ(Split(tokens, "<<a>>"), (Segments{"<", "[1 <a>]", ">"}));
}

TEST(AddedTokens, TheLongestOfTheLeftmostMatches) {
  const std::vector<AddedToken> tokens = {
      {.id = 1, .content = "ab"}, {.id = 2, .content = "abcd"}, {.id = 3, .content = "bcdefg"}};
  EXPECT_EQ(Split(tokens, "abcdefg"), (Segments{"[2 abcd]", "efg"}));
  EXPECT_EQ(Split(tokens, "abcx"), (Segments{"[1 ab]", "cx"}));
  EXPECT_EQ(Split(tokens, "xbcdefg"), (Segments{"x", "[3 bcdefg]"}));
}

TEST(AddedTokens, OfEqualContentsTheFirstIsFound) {
  EXPECT_EQ(Split({{.id = 5, .content = "a"}, {.id = 4, .content = "a"}}, "a"),
            (Segments{"[5 a]"}));
}

TEST(AddedTokens, SingleWordStandsAlone) {
  const std::vector<AddedToken> tokens = {{.id = 1, .content = "in", .single_word = true},
                                          {.id = 2, .content = "n"}};
  EXPECT_EQ(Split(tokens, "in"), (Segments{"[1 in]"}));
  EXPECT_EQ(Split(tokens, "(in)"), (Segments{"(", "[1 in]", ")"}));
  EXPECT_EQ(Split(tokens, " in "), (Segments{" ", "[1 in]", " "}));
  EXPECT_EQ(Split(tokens, "in中"), (Segments{"in中"}));
  EXPECT_EQ(Split(tokens, "éin"), (Segments{"éin"}));
  EXPECT_EQ(Split(tokens, "in_"), (Segments{"in_"}));
  EXPECT_EQ(Split(tokens, "in\u0301"), (Segments{"in\u0301"}));
}

TEST(AddedTokens, TheSearchGoesOnBehindAWordThatDoesNotStandAlone) {
  const std::vector<AddedToken> tokens = {{.id = 1, .content = "ini", .single_word = true},
                                          {.id = 2, .content = "it"}};
  // "it" starts within the match that was refused.
  EXPECT_EQ(Split(tokens, "xinit it"), (Segments{"xinit ", "[2 it]"}));
}

TEST(AddedTokens, StripsTakeEveryKindOfWhiteSpace) {
  const std::vector<AddedToken> tokens = {
      {.id = 1, .content = "<l>", .lstrip = true},
      {.id = 2, .content = "<r>", .rstrip = true},
      {.id = 3, .content = "<b>", .lstrip = true, .rstrip = true}};
  EXPECT_EQ(Split(tokens, "a \t\u3000<l> b"), (Segments{"a", "[1  \t\u3000<l>]", " b"}));
  EXPECT_EQ(Split(tokens, "a <r>\n\u2028b"), (Segments{"a ", "[2 <r>\n\u2028]", "b"}));
  EXPECT_EQ(Split(tokens, " <b> "), (Segments{"[3  <b> ]"}));
}

TEST(AddedTokens, LstripLeavesWhatAnEarlierRstripTook) {
  const std::vector<AddedToken> tokens = {{.id = 1, .content = "<r>", .rstrip = true},
                                          {.id = 2, .content = "<l>", .lstrip = true}};
  EXPECT_EQ(Split(tokens, "<r>  <l>"), (Segments{"[1 <r>  ]", "[2 <l>]"}));
}

TEST(AddedTokens, OfWhiteSpaceBehindRstrip) {
  // With lstrip nothing is left of the match; without, it is found again, and the text behind it too.
  const AddedToken r = {.id = 1, .content = "!", .rstrip = true};
  EXPECT_EQ(Split({r, {.id = 2, .content = "\n", .lstrip = true}}, "!\n\nx"),
            (Segments{"[1 !\n\n]", "x"}));
  EXPECT_EQ(Split({r, {.id = 2, .content = "\n"}}, "!\n x"),
            (Segments{"[1 !\n ]", "[2 \n]", " x"}));
}

TEST(AddedTokens, FindsEachOfMany) {
  std::vector<AddedToken> tokens;
  std::string text;
  Segments expected;
  for (int32_t id = 0; id < 20000; ++id) {
    tokens.push_back({.id = id, .content = StrCat("<", id, ">")});
    text += tokens.back().content;
    expected.push_back(StrCat("[", id, " ", tokens.back().content, "]"));
  }
  EXPECT_EQ(Split(tokens, text), expected);
}

TEST(AddedTokens, TimeIsLinearInTheText) {
  const std::vector<AddedToken> tokens = {{.id = 1, .content = "\t", .rstrip = true},
                                          {.id = 2, .content = "\n"},
                                          {.id = 3, .content = "\r", .lstrip = true},
                                          {.id = 4, .content = "ab", .single_word = true}};
  const AddedTokenMatcher matcher(tokens);
  const auto split = [&](std::string_view text) {
    std::vector<TextSegment> segments;
    matcher.Split(text, segments);
  };
  for (const char* unit : {"\t\n", "\t\r", " ", "\r", "\t", "ab", " \t", "\r\t\n  "}) {
    std::string text;
    for (int32_t i = 0; i < 100000; ++i) text += unit;
    const std::string_view start = std::string_view(text).substr(0, text.size() / 50);
    const double small = CpuSeconds(5, [&] { split(start); });
    const double large = CpuSeconds(1, [&] { split(text); });
    EXPECT_LT(large, 500 * (small + 2e-6)) << testing::PrintToString(unit);
  }
}

}  // namespace
}  // namespace deepinfer::tokenizer
