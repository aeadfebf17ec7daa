#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace deepinfer {
namespace {

std::string Lossy(std::string_view text) {
  std::string out;
  AppendUtf8Lossy(out, text);
  return out;
}

TEST(Utf8, EveryScalarValueRoundTrips) {
  for (uint32_t c = 0; c <= 0x10ffff; c += c < 0x11000 ? 1 : 97) {
    if (c >= 0xd800 && c <= 0xdfff) continue;
    std::string text;
    AppendUtf8(text, c);
    const Utf8Char decoded = DecodeUtf8(text, 0);
    ASSERT_TRUE(decoded.is_valid) << c;
    ASSERT_EQ(decoded.code_point, c);
    ASSERT_EQ(static_cast<size_t>(decoded.num_bytes), text.size());
  }
}

TEST(Utf8, RefusesOverlongSurrogatesAndTooLarge) {
  for (const char* text :
       {"\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xed\xa0\x80",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\x80", "\xff"}) {
    EXPECT_FALSE(IsValidUtf8(text));
    EXPECT_EQ(DecodeUtf8(text, 0).num_bytes, 1);
  }
}

TEST(Utf8, TruncatedPrefixIsOneReplacement) {
  const Utf8Char cut = DecodeUtf8("\xf0\x9f\x98z", 0);
  EXPECT_FALSE(cut.is_valid);
  EXPECT_EQ(cut.num_bytes, 3);
  EXPECT_EQ(FirstInvalidUtf8("ab\xe4\xb8"), 2u);
  EXPECT_EQ(FirstInvalidUtf8("ab"), 2u);
}

TEST(Utf8, TakesEveryScalarValue) {
  for (uint32_t cp = 0; cp < 0x110000; ++cp) {
    if (cp >= 0xD800 && cp < 0xE000) continue;
    std::string text;
    AppendUtf8(text, cp);
    const char* p = text.data();
    ASSERT_EQ(TakeValidUtf8(&p), cp);
    ASSERT_EQ(p, text.data() + text.size());
    ASSERT_EQ(IncompleteUtf8Suffix(text), 0u);
    for (size_t cut = 1; cut < text.size(); ++cut) {
      ASSERT_EQ(IncompleteUtf8Suffix(text.substr(0, cut)), cut) << cp;
    }
  }
}

TEST(Utf8, EachMaximalSubpartIsReplacedOnce) {
  // The example of Unicode 16, table 3-11: 61 F1 80 80 E1 80 C2 62 80 63 80 BF 64.
  EXPECT_EQ(Lossy("a\xF1\x80\x80\xE1\x80\xC2"
                  "b\x80"
                  "c\x80\xBF"
                  "d"),
            "a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd");
  EXPECT_EQ(Lossy("\xC0\xAF"), "\uFFFD\uFFFD");            // overlong
  EXPECT_EQ(Lossy("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");  // a surrogate
  EXPECT_EQ(Lossy("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(Lossy("\xF0\x9F\x98"), "\uFFFD");  // cut off
  EXPECT_EQ(Lossy("eight bytes of ASCII, then \xFF and more"),
            "eight bytes of ASCII, then \uFFFD and more");
}

TEST(Utf8, OnlyWhatCanBeCompletedIsIncomplete) {
  EXPECT_EQ(IncompleteUtf8Suffix(""), 0u);
  EXPECT_EQ(IncompleteUtf8Suffix("ab"), 0u);
  EXPECT_EQ(IncompleteUtf8Suffix("ab\xE4\xBD"), 2u);
  EXPECT_EQ(IncompleteUtf8Suffix("\x80\x80\x80\x80"), 0u);
  EXPECT_EQ(IncompleteUtf8Suffix("\xC0"), 0u);
  EXPECT_EQ(IncompleteUtf8Suffix("\xF5\x80"), 0u);
  EXPECT_EQ(IncompleteUtf8Suffix("\xE0\x80"), 0u);  // E0 wants A0..BF
  EXPECT_EQ(IncompleteUtf8Suffix("\xED\xA0"), 0u);  // would be a surrogate
  EXPECT_EQ(IncompleteUtf8Suffix("\xF4\x90\x80"), 0u);
  EXPECT_EQ(IncompleteUtf8Suffix("\xC3\xA9\x80"), 0u);  // é and a stray continuation
}

}  // namespace
}  // namespace deepinfer
