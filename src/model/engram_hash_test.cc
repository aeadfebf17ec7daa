#include "model/engram_hash.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace deepinfer::model {
namespace {

using ::testing::ElementsAre;

ModelConfig Released() {
  ModelConfig config;
  config.engram_layer_ids = {1, 14};
  return config;  // everything else is the default
}

// The hash of model.md 13.3, for the known answers; the engine's is ops::EngramHash.
std::vector<int64_t> HashOf(const EngramHashLayer& layer, const std::vector<int64_t>& compressed,
                            int32_t num_heads) {
  std::vector<int64_t> rows;
  int64_t hash = compressed[0] * layer.multipliers[0];
  for (size_t i = 1; i < compressed.size(); ++i) {
    hash ^= compressed[i] * layer.multipliers[i];
    for (int32_t k = 0; k < num_heads; ++k) {
      const size_t at = (i - 1) * num_heads + k;
      rows.push_back(hash % layer.primes[at] + layer.offsets[at]);
    }
  }
  return rows;
}

TEST(EngramHash, ReleasedTotalsNeedPrimesUniqueAcrossLayers) {
  const auto layers = MakeEngramHash(Released());
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[0].num_rows, 384006168);
  EXPECT_EQ(layers[1].num_rows, 384016682);
}

TEST(EngramHash, ReleasedPrimes) {
  const auto layers = MakeEngramHash(Released());
  const auto& first = layers[0].primes;
  ASSERT_EQ(first.size(), 24u);
  EXPECT_THAT(std::vector<int64_t>(first.begin(), first.begin() + 9),
              ElementsAre(16000057, 16000079, 16000081, 16000097, 16000121, 16000129, 16000133,
                          16000183, 16000189));
  EXPECT_EQ(first[15], 16000321);
  EXPECT_EQ(first[16], 16000339);
  EXPECT_EQ(first[23], 16000463);
  const auto& second = layers[1].primes;
  EXPECT_EQ(second[0], 16000477);
  EXPECT_EQ(second[7], 16000627);
  EXPECT_EQ(second[8], 16000667);
  EXPECT_EQ(second[15], 16000769);
  EXPECT_EQ(second[16], 16000781);
  EXPECT_EQ(second[23], 16000889);
}

TEST(EngramHash, OffsetsArePrefixSums) {
  for (const EngramHashLayer& layer : MakeEngramHash(Released())) {
    int64_t sum = 0;
    for (size_t i = 0; i < layer.primes.size(); ++i) {
      EXPECT_EQ(layer.offsets[i], sum);
      sum += layer.primes[i];
    }
    EXPECT_EQ(layer.num_rows, sum);
  }
}

TEST(EngramHash, SmallConfigPrimes) {
  ModelConfig config;
  config.engram_layer_ids = {1, 4};
  config.engram_vocab_size = 64;
  config.engram_n_heads = 2;
  config.engram_compressed_vocab_size = 440;
  const auto layers = MakeEngramHash(config);
  EXPECT_THAT(layers[0].primes, ElementsAre(67, 71, 73, 79, 83, 89));
  EXPECT_THAT(layers[1].primes, ElementsAre(97, 101, 103, 107, 109, 113));
  EXPECT_EQ(layers[0].num_rows, 462);
  EXPECT_EQ(layers[1].num_rows, 630);
}

TEST(EngramHash, ReleasedMultipliers) {
  const auto layers = MakeEngramHash(Released());
  EXPECT_THAT(layers[0].multipliers,
              ElementsAre(76632096046245, 4839876093313, 35959672319349, 73987337458391));
  EXPECT_THAT(layers[1].multipliers,
              ElementsAre(67716810739261, 51510806800915, 30921347202721, 82619226485591));
}

TEST(EngramHash, KnownAnswers) {
  const auto layers = MakeEngramHash(Released());
  EXPECT_THAT(HashOf(layers[0], {100, 200, 300, 400}, 8),
              ElementsAre(12013311, 19589167, 45006560, 56352444, 73396926, 95085389, 97930840,
                          125571061, 139496094, 154390218, 168372840, 187320647, 207399159,
                          217467923, 232607951, 249747568, 268309477, 274083286, 289509718,
                          313233695, 334386990, 342122088, 359270622, 380048014));
  EXPECT_THAT(HashOf(layers[0], {7, 2, 2, 2}, 8),
              ElementsAre(8939594, 28321402, 40265357, 55817216, 71147020, 86924254, 110813108,
                          121427189, 128454377, 156247504, 165979524, 188168291, 198564788,
                          211763979, 239563936, 241631034, 263018334, 286373017, 297618161,
                          319241270, 333656732, 339279600, 364226324, 373889199));
}

TEST(EngramHash, ProductsStayBelow2To63) {
  for (const int32_t vocab : {1, 2, 440, 99092, 1 << 24}) {
    ModelConfig config = Released();
    config.engram_compressed_vocab_size = vocab;
    for (const EngramHashLayer& layer : MakeEngramHash(config)) {
      for (const int64_t multiplier : layer.multipliers) {
        EXPECT_EQ(multiplier % 2, 1);
        int64_t product = 0;
        EXPECT_FALSE(__builtin_mul_overflow(multiplier, int64_t{vocab} - 1, &product)) << vocab;
      }
    }
  }
}

TEST(EngramHash, LayerZeroHasASeedOfItsOwn) {
  ModelConfig config = Released();
  config.engram_layer_ids = {0, 1};
  const auto layers = MakeEngramHash(config);
  EXPECT_NE(layers[0].multipliers, layers[1].multipliers);
  EXPECT_EQ(layers[1].multipliers[0], 76632096046245);
}

TEST(EngramHash, IsPrimeAgreesWithASieve) {
  constexpr int32_t kEnd = 20000;
  std::vector<bool> composite(kEnd, false);
  for (int64_t n = 2; n < kEnd; ++n) {
    EXPECT_EQ(IsPrime(n), !composite[n]) << n;
    for (int64_t m = n * n; m < kEnd; m += n) composite[m] = true;
  }
  EXPECT_FALSE(IsPrime(-7));
  EXPECT_FALSE(IsPrime(0));
  EXPECT_FALSE(IsPrime(1));
  EXPECT_TRUE(IsPrime(2147483647));
  EXPECT_FALSE(IsPrime(int64_t{2147483647} * 2147483629));
  EXPECT_FALSE(IsPrime(3215031751));  // passes the witnesses 2, 3, 5 and 7
}

}  // namespace
}  // namespace deepinfer::model
