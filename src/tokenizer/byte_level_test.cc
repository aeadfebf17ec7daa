#include "tokenizer/byte_level.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace deepinfer::tokenizer {
namespace {

TEST(ByteLevel, EveryByteHasItsOwnCharacterAndBack) {
  std::set<char32_t> seen;
  for (int32_t byte = 0; byte < 256; ++byte) {
    const char32_t c = CharOfByte(static_cast<uint8_t>(byte));
    EXPECT_TRUE(seen.insert(c).second) << byte;
    EXPECT_EQ(ByteOfChar(c), byte);
  }
}

TEST(ByteLevel, PrintableBytesSpellThemselvesTheRestAscendsFromU0100) {
  EXPECT_EQ(CharOfByte('A'), U'A');
  EXPECT_EQ(CharOfByte(0xA1), char32_t{0xA1});
  EXPECT_EQ(CharOfByte(0xFF), char32_t{0xFF});
  EXPECT_EQ(CharOfByte(0x00), char32_t{0x100});
  EXPECT_EQ(CharOfByte('\n'), char32_t{0x10A});
  EXPECT_EQ(CharOfByte(' '), char32_t{0x120});
  EXPECT_EQ(CharOfByte(0x7F), char32_t{0x121});
  EXPECT_EQ(CharOfByte(0xA0), char32_t{0x142});
  EXPECT_EQ(CharOfByte(0xAD), char32_t{0x143});
}

TEST(ByteLevel, NoOtherCharacterIsInTheAlphabet) {
  int32_t num_in_alphabet = 0;
  for (char32_t c = 0; c < 0x110000; ++c) num_in_alphabet += ByteOfChar(c) >= 0 ? 1 : 0;
  EXPECT_EQ(num_in_alphabet, 256);
  EXPECT_EQ(ByteOfChar(0xFFFFFFFF), -1);
}

TEST(ByteLevel, AllBytesSurviveSpellingAndReading) {
  std::string bytes;
  for (int32_t byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  std::string spelling = "x";
  AppendByteLevelSpelling(bytes, spelling);
  std::string back = "y";
  EXPECT_TRUE(AppendByteLevelBytes(spelling, back));
  EXPECT_EQ(back, "yx" + bytes);
}

TEST(ByteLevel, OneCharacterOutsideAppendsNothing) {
  for (const char* spelling : {" ", "abc def", "ab\u0144", "中", "a\u00AD", "\U0001F600", "\n"}) {
    std::string out = "kept";
    EXPECT_FALSE(AppendByteLevelBytes(spelling, out)) << spelling;
    EXPECT_EQ(out, "kept");
  }
}

TEST(ByteLevel, BytesThatAreNotUtf8AreRefused) {
  for (const char* spelling : {"\xFF", "a\xC4", "\xC4z", "\x80", "\xC0\xA1", "\xE4\xBD"}) {
    std::string out;
    EXPECT_FALSE(AppendByteLevelBytes(spelling, out));
    EXPECT_EQ(out, "");
  }
}

TEST(ByteLevel, NothingIsSpelledByNothing) {
  std::string out;
  AppendByteLevelSpelling("", out);
  EXPECT_TRUE(AppendByteLevelBytes("", out));
  EXPECT_EQ(out, "");
}

}  // namespace
}  // namespace deepinfer::tokenizer
