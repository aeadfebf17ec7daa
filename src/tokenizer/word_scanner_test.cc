#include "tokenizer/word_scanner.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "tokenizer/regex_splitter.h"
#include "tokenizer/test_file.h"
#include "tokenizer/tokenizer_json.h"

namespace deepinfer::tokenizer {
namespace {

using Words = std::vector<std::string_view>;

Words Scan(std::string_view text) {
  Words words;
  WordScanner scanner(text);
  std::string_view word;
  while (scanner.Next(&word)) words.push_back(word);
  return words;
}

// The three patterns of a real file, run by PCRE2.
class Oracle {
 public:
  Oracle() {
    const std::string file = ReadSource("models/DeepSeek-V4.1-Tiny/tokenizer.json");
    for (const std::string& pattern : ParseTokenizerJson(file).value().split_patterns) {
      splitters_.push_back(RegexSplitter::Compile(pattern).value());
    }
    EXPECT_EQ(splitters_.size(), 3u);
  }

  Words Split(std::string_view text) {
    Words pieces;
    if (!text.empty()) pieces.push_back(text);
    for (const RegexSplitter& splitter : splitters_) {
      Words next;
      for (const std::string_view piece : pieces) {
        EXPECT_TRUE(splitter.Split(piece, scratch_, next).ok());
      }
      pieces = std::move(next);
    }
    return pieces;
  }

 private:
  std::vector<RegexSplitter> splitters_;
  RegexScratch scratch_;
};

// One of each kind that the patterns tell apart: a letter, a mark, a symbol and an unassigned code point
// inside the ideograph ranges and outside, digits of three categories, every kind of white space, a control.
const std::vector<std::string> kKinds = {"a",
                                         "Z",
                                         "é",
                                         "1",
                                         "Ⅷ",
                                         "²",
                                         "中",
                                         "の",
                                         "\u3099",
                                         "\u309B",
                                         "\u3040",
                                         "，",
                                         "!",
                                         "$",
                                         "\\",
                                         " ",
                                         "\u00A0",
                                         "\n",
                                         "\r",
                                         "\u2028",
                                         "\u0301",
                                         "\u0378",
                                         std::string(1, '\0')};

TEST(WordScanner, NothingInNothingOut) { EXPECT_EQ(Scan(""), Words{}); }

TEST(WordScanner, SplitsAsTheFileSays) {
  EXPECT_EQ(Scan("Hello world"), (Words{"Hello", " world"}));
  EXPECT_EQ(Scan("1234567"), (Words{"123", "456", "7"}));
  EXPECT_EQ(Scan("東京は cool"), (Words{"東京は", " cool"}));
  EXPECT_EQ(Scan("a.b!!\n\nc"), (Words{"a", ".b", "!!\n\n", "c"}));
  EXPECT_EQ(Scan("x   y"), (Words{"x", "  ", " y"}));
  EXPECT_EQ(Scan("x   1"), (Words{"x", "   ", "1"}));
  EXPECT_EQ(Scan(" \n  \n  z"), (Words{" \n  \n", " ", " z"}));
}

TEST(WordScanner, EveryShortMixOfKindsEqualsTheRegex) {
  Oracle oracle;
  const size_t n = kKinds.size();
  for (size_t code = 0; code < n * n * n * n; ++code) {
    const std::string text = kKinds[code / n / n / n] + kKinds[code / n / n % n] +
                             kKinds[code / n % n] + kKinds[code % n];
    ASSERT_EQ(Scan(text), oracle.Split(text)) << testing::PrintToString(text);
  }
}

TEST(WordScanner, RandomMixesOfKindsEqualTheRegex) {
  Oracle oracle;
  std::mt19937 rng(5);
  for (int32_t i = 0; i < 20000; ++i) {
    std::string text;
    // Few kinds in one text, so that runs come about.
    const std::array<size_t, 3> some = {rng() % kKinds.size(), rng() % kKinds.size(),
                                        rng() % kKinds.size()};
    const size_t length = 4 + rng() % 12;
    for (size_t k = 0; k < length; ++k) {
      text += kKinds[rng() % 4 == 0 ? rng() % kKinds.size() : some[rng() % some.size()]];
    }
    ASSERT_EQ(Scan(text), oracle.Split(text)) << testing::PrintToString(text);
  }
}

TEST(WordScanner, RandomCharactersEqualTheRegex) {
  // Blocks in which the system's Unicode 14 and our 16 class every code point alike.
  constexpr std::array<std::pair<uint32_t, uint32_t>, 18> kBlocks = {{{0x00, 0x24F},
                                                                      {0x300, 0x36F},
                                                                      {0x370, 0x3FF},
                                                                      {0x400, 0x4FF},
                                                                      {0x590, 0x5FF},
                                                                      {0x600, 0x6FF},
                                                                      {0x900, 0x97F},
                                                                      {0xE00, 0xE7F},
                                                                      {0x2000, 0x206F},
                                                                      {0x2150, 0x218B},
                                                                      {0x3000, 0x30FF},
                                                                      {0x4DF0, 0x4E10},
                                                                      {0x9F90, 0x9FFF},
                                                                      {0xAC00, 0xD7A3},
                                                                      {0xE000, 0xE010},
                                                                      {0xFF00, 0xFFEF},
                                                                      {0x1F300, 0x1F5FF},
                                                                      {0x10FFF0, 0x10FFFF}}};
  Oracle oracle;
  std::mt19937 rng(6);
  for (int32_t i = 0; i < 8000; ++i) {
    std::string text;
    const std::array<size_t, 3> some = {0, rng() % kBlocks.size(), rng() % kBlocks.size()};
    const size_t length = 1 + rng() % 40;
    for (size_t k = 0; k < length; ++k) {
      const auto [first, last] = kBlocks[some[rng() % some.size()]];
      AppendUtf8(text, first + static_cast<uint32_t>(rng()) % (last - first + 1));
    }
    ASSERT_EQ(Scan(text), oracle.Split(text)) << testing::PrintToString(text);
  }
}

TEST(WordScanner, TimeIsLinearForEveryKindOfRun) {
  const auto count = [](std::string_view text) {
    WordScanner scanner(text);
    std::string_view word;
    size_t num_bytes = 0;
    while (scanner.Next(&word)) num_bytes += word.size();
    return num_bytes;
  };
  for (const std::string& kind : kKinds) {
    for (const std::string& other : {std::string(), std::string(" "), std::string("\n")}) {
      std::string text;
      while (text.size() < 200000) text += kind + other;
      const std::string_view start = std::string_view(text).substr(0, (kind + other).size() * 1000);
      EXPECT_EQ(count(text), text.size());
      const double small = CpuSeconds(5, [&] { count(start); });
      const double large = CpuSeconds(1, [&] { count(text); });
      const double growth = static_cast<double>(text.size()) / static_cast<double>(start.size());
      // A clock tick of a microsecond is a tenth of the small time.
      EXPECT_LT(large, 10 * growth * (small + 2e-6)) << testing::PrintToString(kind + other);
    }
  }
}

}  // namespace
}  // namespace deepinfer::tokenizer
