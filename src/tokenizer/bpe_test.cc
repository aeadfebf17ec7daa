#include "tokenizer/bpe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tokenizer/test_file.h"

namespace deepinfer::tokenizer {
namespace {

using testing::HasSubstr;
using Ids = std::vector<int32_t>;

// A vocabulary of all bytes (id = byte) and merges that are added to it.
class Model {
 public:
  Model() {
    for (int32_t byte = 0; byte < 256; ++byte) {
      EXPECT_TRUE(vocabulary.Add(byte, Spelled(std::string(1, static_cast<char>(byte)))).ok());
    }
  }

  // The id of what the merge makes.
  int32_t Add(int32_t left, int32_t right) {
    const std::string bytes =
        std::string(vocabulary.Bytes(left)) + std::string(vocabulary.Bytes(right));
    auto merged = vocabulary.FindByteLevel(bytes);
    if (!merged.has_value()) {
      merged = vocabulary.size();
      EXPECT_TRUE(vocabulary.Add(*merged, Spelled(bytes)).ok());
    }
    merges.push_back({left, right, *merged});
    return *merged;
  }

  BpeModel Build() const { return BpeModel::Create(vocabulary, merges).value(); }

  Vocabulary vocabulary;
  std::vector<Merge> merges;
};

Ids Encode(const BpeModel& model, std::string_view word) {
  BpeScratch scratch;
  Ids ids;
  model.Encode(word, scratch, ids);
  return ids;
}

// The definition, word for word.
Ids EncodeByDefinition(const std::vector<Merge>& merges, std::string_view word) {
  std::map<std::pair<int32_t, int32_t>, size_t> rank_of_pair;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    rank_of_pair[{merges[rank].left, merges[rank].right}] = rank;
  }
  Ids ids;
  for (const char c : word) ids.push_back(static_cast<uint8_t>(c));
  while (true) {
    size_t best_rank = merges.size();
    size_t best = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto it = rank_of_pair.find({ids[i], ids[i + 1]});
      if (it != rank_of_pair.end() && it->second < best_rank) {
        best_rank = it->second;
        best = i;
      }
    }
    if (best_rank == merges.size()) return ids;
    ids[best] = merges[best_rank].merged;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

TEST(Bpe, WithoutMergesEachByteIsAToken) {
  EXPECT_EQ(Encode(Model().Build(), "a\n\xE4"), (Ids{'a', '\n', 0xE4}));
  EXPECT_EQ(Encode(Model().Build(), ""), Ids{});
}

TEST(Bpe, TheLowestRankGoesFirstWhereverItStands) {
  Model m;
  const int32_t cd = m.Add('c', 'd');
  const int32_t bc = m.Add('b', 'c');
  const int32_t ab = m.Add('a', 'b');
  EXPECT_EQ(Encode(m.Build(), "abcd"), (Ids{ab, cd}));
  EXPECT_EQ(Encode(m.Build(), "abc"), (Ids{'a', bc}));
}

TEST(Bpe, EqualRanksGoFromTheLeft) {
  Model m;
  const int32_t aa = m.Add('a', 'a');
  EXPECT_EQ(Encode(m.Build(), "aaa"), (Ids{aa, 'a'}));
  EXPECT_EQ(Encode(m.Build(), "aaaaa"), (Ids{aa, aa, 'a'}));
  const Ids ids = Encode(m.Build(), std::string(1001, 'a'));  // the heap
  ASSERT_EQ(ids.size(), 501u);
  EXPECT_EQ(ids.back(), 'a');
}

TEST(Bpe, MergesBuildOnMerges) {
  Model m;
  const int32_t ab = m.Add('a', 'b');
  const int32_t abab = m.Add(ab, ab);
  EXPECT_EQ(Encode(m.Build(), "ababab"), (Ids{abab, ab}));
}

TEST(Bpe, OfTwoRowsWithOnePairTheLaterHolds) {
  Model m;
  m.Add('a', 'b');
  const int32_t bc = m.Add('b', 'c');
  EXPECT_NE(Encode(m.Build(), "abc"), (Ids{'a', bc}));
  m.Add('a', 'b');
  EXPECT_EQ(Encode(m.Build(), "abc"), (Ids{'a', bc}));
}

TEST(Bpe, EncodeAppends) {
  Model m;
  BpeScratch scratch;
  Ids ids = {9};
  m.Build().Encode("x", scratch, ids);
  EXPECT_EQ(ids, (Ids{9, 'x'}));
}

TEST(Bpe, RefusesAVocabularyThatLacksAByteOfText) {
  Vocabulary v;
  for (int32_t byte = 0; byte < 256; ++byte) {
    if (byte == 0x80) continue;
    ASSERT_TRUE(v.Add(byte, Spelled(std::string(1, static_cast<char>(byte)))).ok());
  }
  const Result<BpeModel> model = BpeModel::Create(v, {});
  ASSERT_FALSE(model.ok());
  EXPECT_THAT(model.status().message(), HasSubstr("found none for byte 128"));
}

TEST(Bpe, BytesThatNeverOccurInTextMayLackATokenAndAreLeftOut) {
  Vocabulary v;
  for (int32_t byte = 0; byte < 256; ++byte) {
    if (byte == 0xC0 || byte == 0xC1 || byte >= 0xF5) continue;
    ASSERT_TRUE(v.Add(byte, Spelled(std::string(1, static_cast<char>(byte)))).ok());
  }
  const BpeModel model = BpeModel::Create(v, {{'a', 'b', 'a'}}).value();
  EXPECT_EQ(Encode(model, "a\xFFz\xC0"), (Ids{'a', 'z'}));
  EXPECT_EQ(Encode(model, std::string(200, '\xFF')), Ids{});
  EXPECT_EQ(Encode(model, std::string(200, '\xFF') + "z"), (Ids{'z'}));
}

TEST(Bpe, RandomWordsAndMergesGiveWhatTheDefinitionGives) {
  std::mt19937 rng(3);
  const auto draw = [&](size_t n) { return rng() % n; };
  for (int32_t round = 0; round < 30; ++round) {
    Model m;
    const size_t num_letters = 1 + draw(5);
    Ids symbols;
    for (size_t i = 0; i < num_letters; ++i) symbols.push_back('a' + static_cast<int32_t>(i));
    const size_t num_merges = draw(60);
    for (size_t i = 0; i < num_merges; ++i) {
      const int32_t left = symbols[draw(symbols.size())];
      const int32_t right = symbols[draw(symbols.size())];
      if (m.vocabulary.Bytes(left).size() + m.vocabulary.Bytes(right).size() > 40) continue;
      symbols.push_back(m.Add(left, right));
    }
    const BpeModel model = m.Build();
    BpeScratch scratch;
    for (int32_t i = 0; i < 40; ++i) {
      // On both sides of the length where the heap takes over.
      std::string word(draw(3) == 0 ? BpeModel::kMaxScanned - 2 + draw(5) : draw(250), 'a');
      for (char& c : word) c = static_cast<char>('a' + draw(num_letters));
      Ids ids;
      model.Encode(word, scratch, ids);
      ASSERT_EQ(ids, EncodeByDefinition(m.merges, word)) << round << " " << word;
      if (i % 8 == 0) scratch.Trim();
    }
  }
}

TEST(Bpe, TimeGrowsHardlyFasterThanTheWord) {
  Model m;
  int32_t power = 'a';  // merges of a, aa, aaaa, ...
  for (int32_t i = 0; i < 7; ++i) power = m.Add(power, power);
  std::mt19937 rng(1);
  Ids symbols = {'a', 'b', 'c', 'd'};
  for (int32_t i = 0; i < 200; ++i) {
    const int32_t left = symbols[rng() % symbols.size()];
    const int32_t right = symbols[rng() % symbols.size()];
    if (m.vocabulary.Bytes(left).size() + m.vocabulary.Bytes(right).size() > 12) continue;
    symbols.push_back(m.Add(left, right));
  }
  const BpeModel model = m.Build();
  std::string mixed(1 << 20, 'a');
  for (char& c : mixed) c = static_cast<char>('a' + rng() % 4);
  const std::string same(1 << 20, 'a');
  for (const std::string& word : {mixed, same}) {
    const std::string_view start = std::string_view(word).substr(0, word.size() / 32);
    const double small = CpuSeconds(5, [&] { (void)Encode(model, start); });
    const double large = CpuSeconds(1, [&] { (void)Encode(model, word); });
    // n log n makes 43, with caches that no longer hold the word perhaps 80; n * n makes 1024.
    EXPECT_LT(large, 300 * small) << small;
  }
}

}  // namespace
}  // namespace deepinfer::tokenizer
