#include "base/utf8.h"

#include <gtest/gtest.h>

namespace deepinfer {
namespace {

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

}  // namespace
}  // namespace deepinfer
