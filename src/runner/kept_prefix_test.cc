#include "runner/kept_prefix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/rng.h"
#include "runner/row_math.h"

namespace deepinfer::runner {
namespace {

std::vector<float> Weights(const std::vector<float>& row) {
  std::vector<float> weights(row.size());
  ExpWeights(row, MaxOf(row), 1.0f, weights.data());
  return weights;
}

// What the header promises, by sorting.
std::vector<int32_t> Reference(const std::vector<float>& row, const PrefixLimits& limits) {
  const std::vector<float> weights = Weights(row);
  std::vector<int32_t> ids(row.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) {
    return row[static_cast<size_t>(a)] > row[static_cast<size_t>(b)];
  });
  std::vector<int32_t> kept;
  uint64_t mass = 0;
  for (const int32_t id : ids) {
    if (static_cast<int64_t>(kept.size()) >= limits.max_count || mass > limits.max_mass) break;
    kept.push_back(id);
    mass += MassOf(weights[static_cast<size_t>(id)]);
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

std::vector<int32_t> Kept(const std::vector<float>& row, const PrefixLimits& limits) {
  KeptPrefixFinder finder;
  const KeptPrefix prefix = finder.Find(row, Weights(row), SumOfMasses(Weights(row)), limits);
  std::vector<int32_t> kept;
  for (size_t i = 0; i < row.size(); ++i) {
    if (prefix.Contains(row[i], static_cast<int32_t>(i))) {
      kept.push_back(static_cast<int32_t>(i));
    }
  }
  return kept;
}

TEST(KeptPrefix, WithoutLimitsEverythingStays) {
  EXPECT_EQ(Kept({3, 1, 2}, {}), (std::vector<int32_t>{0, 1, 2}));
}

TEST(KeptPrefix, CountKeepsTheLargest) {
  EXPECT_EQ(Kept({3, 1, 2, 5}, {.max_count = 2}), (std::vector<int32_t>{0, 3}));
}

TEST(KeptPrefix, LowestIdsWinTies) {
  EXPECT_EQ(Kept({1, 2, 2, 2, 2}, {.max_count = 2}), (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(Kept({0.0f, -0.0f, 0.0f}, {.max_count = 2}), (std::vector<int32_t>{0, 1}));
}

TEST(KeptPrefix, FirstStaysWhateverItsMass) {
  EXPECT_EQ(Kept({1, 9, 1}, {.max_mass = 0}), (std::vector<int32_t>{1}));
}

TEST(KeptPrefix, MassBeforeAnIdMayReachTheLimitExactly) {
  // Four equal ids: two stand before the third, and their mass is exactly half of all.
  const std::vector<float> row = {0, 0, 0, 0};
  EXPECT_EQ(Kept(row, {.max_mass = uint64_t{2} << kMassBits}), (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(Kept(row, {.max_mass = (uint64_t{2} << kMassBits) - 1}), (std::vector<int32_t>{0, 1}));
}

TEST(KeptPrefix, CountAboveTheRowKeepsAll) {
  EXPECT_EQ(Kept({3, 1}, {.max_count = 9999999}), (std::vector<int32_t>{0, 1}));
}

TEST(KeptPrefix, AgreesWithStableSortOnRandomRowsWithTies) {
  PhiloxStream random(7, 7);
  for (int round = 0; round < 600; ++round) {
    const size_t size = 1 + random.NextWord() % 300;
    const bool coarse = round % 2 == 0;  // many ties
    std::vector<float> row(size);
    for (float& z : row) {
      z = coarse ? static_cast<float>(random.NextWord() % 9) - 4
                 : static_cast<float>(24 * random.NextUniform() - 12);
    }
    PrefixLimits limits;
    if (random.NextWord() % 2 == 0) limits.max_count = 1 + random.NextWord() % (size + 2);
    if (random.NextWord() % 2 == 0) {
      const std::vector<float> weights = Weights(row);
      limits.max_mass =
          static_cast<uint64_t>(random.NextUniform() * static_cast<double>(SumOfMasses(weights)));
    }
    ASSERT_EQ(Kept(row, limits), Reference(row, limits)) << "round " << round;
  }
}

TEST(KeptPrefix, LastBitsOfTheLogitDecide) {
  std::vector<float> row(64, 1.0f);
  row[40] = std::nextafter(1.0f, 2.0f);
  row[50] = std::nextafter(1.0f, 0.0f);
  EXPECT_EQ(Kept(row, {.max_count = 1}), (std::vector<int32_t>{40}));
  const std::vector<int32_t> most = Kept(row, {.max_count = 63});
  EXPECT_EQ(std::count(most.begin(), most.end(), 50), 0);
}

}  // namespace
}  // namespace deepinfer::runner
