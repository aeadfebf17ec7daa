#include "tokenizer/unicode.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>

#include "base/utf8.h"
#include "tokenizer/unicode_checksums.h"

namespace deepinfer::tokenizer {
namespace {

// FNV-1a, as tools/generate_unicode.py computes it over the oracle's answers.
class Checksum {
 public:
  void Add(uint8_t byte) { state_ = (state_ ^ byte) * 0x100000001B3u; }
  void Add(std::string_view text) {
    for (const char c : text) Add(static_cast<uint8_t>(c));
    Add(uint8_t{0xFF});
  }
  uint64_t value() const { return state_; }

 private:
  uint64_t state_ = 0xCBF29CE484222325u;
};

void ForEachScalar(const std::function<void(char32_t)>& f) {
  for (char32_t cp = 0; cp < 0x110000; ++cp) {
    if (cp < 0xD800 || cp >= 0xE000) f(cp);
  }
}

std::string Utf8(char32_t cp) {
  std::string out;
  AppendUtf8(out, cp);
  return out;
}

uint64_t SumOfScalars(const std::function<std::string(std::string_view)>& f) {
  Checksum sum;
  ForEachScalar([&](char32_t cp) { sum.Add(f(Utf8(cp))); });
  return sum.value();
}

// The generated strings of tools/generate_unicode.py.
class RandomStrings {
 public:
  std::string Next() {
    std::string out;
    const uint64_t length = 1 + Draw(9);
    for (uint64_t i = 0; i < length; ++i) {
      const auto [first, last] = kRanges[Draw(kRanges.size())];
      AppendUtf8(out, first + static_cast<char32_t>(Draw(last - first + 1)));
    }
    return out;
  }

 private:
  using Range = std::pair<char32_t, char32_t>;
  static constexpr std::array<Range, 17> kRanges = {
      Range{0x41, 0x5A},  {0x61, 0x7A},       {0xC0, 0x17F},      {0x1E00, 0x1FFF},
      {0x300, 0x36F},     {0x300, 0x345},     {0x1100, 0x11FF},   {0xAC00, 0xD7A3},
      {0x900, 0xDFF},     {0x1000, 0x109F},   {0x3040, 0x30FF},   {0xFB1D, 0xFB4F},
      {0x105C0, 0x105F3}, {0x11380, 0x113D5}, {0x16100, 0x16139}, {0x16D40, 0x16D79},
      {0x1D15E, 0x1D182}};

  uint64_t Draw(uint64_t n) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ >> 33) % n;
  }

  uint64_t state_ = 1;
};

uint64_t SumOfStrings(NormalizationForm form) {
  Checksum sum;
  RandomStrings strings;
  for (int i = 0; i < 20000; ++i) sum.Add(Normalize(strings.Next(), form));
  return sum.value();
}

uint64_t SumOfForms(NormalizationForm form) {
  return SumOfScalars([form](std::string_view s) { return Normalize(s, form); });
}

TEST(Unicode, EveryCategoryEqualsTheOracle) {
  Checksum sum;
  ForEachScalar([&](char32_t cp) { sum.Add(static_cast<uint8_t>(GeneralCategory(cp))); });
  EXPECT_EQ(sum.value(), kCategoryChecksum);
}

TEST(Unicode, EveryPropertyEqualsTheOracle) {
  Checksum white_space, word, combining;
  ForEachScalar([&](char32_t cp) {
    white_space.Add(static_cast<uint8_t>(IsWhiteSpace(cp)));
    word.Add(static_cast<uint8_t>(IsWordCharacter(cp)));
    combining.Add(CombiningClass(cp));
  });
  EXPECT_EQ(white_space.value(), kWhiteSpaceChecksum);
  EXPECT_EQ(word.value(), kWordChecksum);
  EXPECT_EQ(combining.value(), kCombiningClassChecksum);
}

TEST(Unicode, EveryLowerCaseEqualsTheOracle) { EXPECT_EQ(SumOfScalars(LowerCase), kLowerChecksum); }

TEST(Unicode, EveryNfcEqualsTheOracle) {
  EXPECT_EQ(SumOfForms(NormalizationForm::kNfc), kNfcChecksum);
}

TEST(Unicode, EveryNfdEqualsTheOracle) {
  EXPECT_EQ(SumOfForms(NormalizationForm::kNfd), kNfdChecksum);
}

TEST(Unicode, EveryNfkcEqualsTheOracle) {
  EXPECT_EQ(SumOfForms(NormalizationForm::kNfkc), kNfkcChecksum);
}

TEST(Unicode, EveryNfkdEqualsTheOracle) {
  EXPECT_EQ(SumOfForms(NormalizationForm::kNfkd), kNfkdChecksum);
}

TEST(Unicode, NormalizedStringsEqualTheOracle) {
  EXPECT_EQ(SumOfStrings(NormalizationForm::kNfc), kNfcStringsChecksum);
  EXPECT_EQ(SumOfStrings(NormalizationForm::kNfd), kNfdStringsChecksum);
  EXPECT_EQ(SumOfStrings(NormalizationForm::kNfkc), kNfkcStringsChecksum);
  EXPECT_EQ(SumOfStrings(NormalizationForm::kNfkd), kNfkdStringsChecksum);
}

TEST(Unicode, LowerCaseUsesNoContext) {
  EXPECT_EQ(LowerCase("ΑΣ"), "ασ");  // not the final form that a context rule would give
  EXPECT_EQ(LowerCase("İ"), "i\u0307");
}

TEST(Unicode, NormalizeReplacesInvalidBytes) {
  EXPECT_EQ(Normalize("e\u0301\xFF", NormalizationForm::kNfc), "\u00E9\uFFFD");
}

TEST(Unicode, LongRunsOfMarksAreNotQuadratic) {
  std::string text = "a";
  for (int i = 0; i < 100000; ++i) text += i % 2 == 0 ? "\u0301" : "\u0323";
  const std::string out = Normalize(text, NormalizationForm::kNfc);
  EXPECT_EQ(out.substr(0, 3), "\u1EA1");  // the dot below comes first and composes
}

TEST(Unicode, NumbersAboveTheLastCodePointAreUnassigned) {
  EXPECT_EQ(GeneralCategory(0x110000), Category::kCn);
  EXPECT_EQ(GeneralCategory(0xFFFFFFFF), Category::kCn);
  EXPECT_EQ(CombiningClass(0x110000), 0);
  EXPECT_FALSE(IsWhiteSpace(0x110020));
}

}  // namespace
}  // namespace deepinfer::tokenizer
