#include "base/strings.h"

#include <gtest/gtest.h>

namespace deepinfer {
namespace {

TEST(Strings, StrCatTakesMixedPieces) {
  EXPECT_EQ(StrCat("a", 1, 'b', true, 2.5, std::string("c"), -7L), "a1btrue2.5c-7");
  EXPECT_EQ(StrCat(), "");
}

TEST(Strings, SplitKeepsEmptyParts) {
  EXPECT_EQ(StrSplit("a,,b", ',').size(), 3u);
  EXPECT_EQ(StrSplit("", ',').size(), 1u);
}

TEST(Strings, QuotedEscapesAndCuts) {
  EXPECT_EQ(Quoted("a\"\n\xff"), "\"a\\\"\\x0a\\xff\"");
  EXPECT_EQ(Quoted("abcdef", 3), "\"abc...\"");
}

TEST(Strings, TrimStripsBothEnds) {
  EXPECT_EQ(StrTrim(" \t a b\r\n"), "a b");
  EXPECT_EQ(StrTrim(" "), "");
}

TEST(Strings, HumanBytesPicksUnit) {
  EXPECT_EQ(HumanBytes(27), "27 B");
  EXPECT_EQ(HumanBytes(1536), "1.5 KiB");
}

TEST(Strings, EditDistanceCountsEdits) {
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(EditDistance("", "abc"), 3);
}

}  // namespace
}  // namespace deepinfer
