#include "tokenizer/word_cache.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "base/strings.h"
#include "tokenizer/hash.h"

namespace deepinfer::tokenizer {
namespace {

std::string Bytes(size_t length) {
  std::string text;
  for (size_t i = 0; i < length; ++i) text += static_cast<char>(17 * i + length);
  return text;
}

TEST(PackedBytes, AreEqualExactlyWhenTheBytesAre) {
  for (size_t length = 0; length <= 24; ++length) {
    const std::string text = Bytes(length);
    EXPECT_TRUE(PackedBytes(text) == PackedBytes(std::string(text)));
    for (size_t i = 0; i < length; ++i) {
      std::string other = text;
      other[i] = static_cast<char>(other[i] ^ 0x40);
      EXPECT_FALSE(PackedBytes(text) == PackedBytes(other)) << length << " " << i;
    }
  }
}

TEST(HashBytes, TellsLengthsAndBytesApart) {
  std::set<uint64_t> seen;
  for (size_t length = 0; length < 80; ++length) {
    ASSERT_TRUE(seen.insert(HashBytes(std::string(length, '\0'))).second) << length;
    for (size_t i = 0; i < length; ++i) {
      std::string text(length, '\0');
      text[i] = 'x';
      ASSERT_TRUE(seen.insert(HashBytes(text)).second) << length << " " << i;
    }
  }
}

TEST(WordCache, AWordIsFoundAfterItWasPut) {
  WordCache cache;
  const WordCache::Place miss = cache.Find("word");
  EXPECT_FALSE(miss.is_hit);
  const std::vector<int32_t> ids = {4, 5, 6};
  WordCache::Put(miss, ids);
  const WordCache::Place hit = cache.Find("word");
  ASSERT_TRUE(hit.is_hit);
  const auto cached = WordCache::Ids(hit);
  EXPECT_EQ(std::vector<int32_t>(cached.begin(), cached.end()), ids);
  EXPECT_FALSE(cache.Find("wore").is_hit);
  EXPECT_FALSE(cache.Find(std::string_view("word\0", 5)).is_hit);
}

TEST(WordCache, LongWordsAndManyIdsAreNotKept) {
  WordCache cache;
  const std::vector<int32_t> eight(WordCache::kMaxIds, 1);
  const std::vector<int32_t> nine(WordCache::kMaxIds + 1, 1);
  const std::string longest(WordCache::kMaxWordBytes, 'a');
  WordCache::Put(cache.Find(longest), eight);
  EXPECT_TRUE(cache.Find(longest).is_hit);
  WordCache::Put(cache.Find(longest + "a"), eight);
  EXPECT_FALSE(cache.Find(longest + "a").is_hit);
  WordCache::Put(cache.Find("b"), nine);
  EXPECT_FALSE(cache.Find("b").is_hit);
  WordCache::Put(cache.Find(""), eight);
  EXPECT_FALSE(cache.Find("").is_hit);
}

TEST(WordCache, EveryHitHasTheIdsOfItsWord) {
  // Many more words than entries: most are pushed out, and none may answer for another.
  WordCache cache;
  int32_t num_hits = 0;
  for (int32_t round = 0; round < 2; ++round) {
    for (int32_t i = 0; i < 100000; ++i) {
      const WordCache::Place place = cache.Find(StrCat("w", i));
      if (place.is_hit) {
        ASSERT_EQ(WordCache::Ids(place)[0], i);
        ++num_hits;
      }
      WordCache::Put(place, std::vector<int32_t>{i});
    }
  }
  EXPECT_GT(num_hits, 0);
  EXPECT_LT(num_hits, 100000);
}

}  // namespace
}  // namespace deepinfer::tokenizer
