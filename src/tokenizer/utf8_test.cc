#include "tokenizer/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace deepinfer::tokenizer {
namespace {

std::string Lossy(std::string_view text) {
  std::string out;
  AppendUtf8Lossy(text, out);
  return out;
}

TEST(Utf8, EveryScalarValueRoundTrips) {
  for (char32_t cp = 0; cp < 0x110000; ++cp) {
    if (cp >= 0xD800 && cp < 0xE000) continue;
    std::string text;
    AppendUtf8(cp, text);
    const Utf8Char c = DecodeUtf8(text);
    ASSERT_TRUE(c.is_valid) << static_cast<uint32_t>(cp);
    ASSERT_EQ(uint32_t{c.code_point}, uint32_t{cp});
    ASSERT_EQ(static_cast<size_t>(c.num_bytes), text.size());
    const char* p = text.data();
    ASSERT_EQ(uint32_t{DecodeValidUtf8(&p)}, uint32_t{cp});
    ASSERT_EQ(p, text.data() + text.size());
  }
}

TEST(Utf8, SurrogatesAndTooLargeNumbersAreWrittenAsReplacement) {
  std::string out;
  AppendUtf8(0xD800, out);
  AppendUtf8(0x110000, out);
  EXPECT_EQ(out, "\uFFFD\uFFFD");
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
}

TEST(Utf8, TellsTruncatedFromInvalid) {
  EXPECT_TRUE(DecodeUtf8("\xE4\xBD").is_truncated);
  EXPECT_FALSE(DecodeUtf8("\xE4\x20").is_truncated);
  EXPECT_FALSE(DecodeUtf8("\xE4\xBD\xA0").is_truncated);
  EXPECT_FALSE(DecodeUtf8("\x80").is_truncated);
}

TEST(Utf8, ValidityLooksPastAsciiRuns) {
  EXPECT_TRUE(IsValidUtf8(""));
  EXPECT_TRUE(IsValidUtf8("plain text, longer than eight bytes; then é and 你好"));
  EXPECT_FALSE(IsValidUtf8("plain text, longer than eight bytes\xFF"));
  EXPECT_FALSE(IsValidUtf8("eight bytes then cut \xE4\xBD"));
}

}  // namespace
}  // namespace deepinfer::tokenizer
