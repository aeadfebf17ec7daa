#include "runner/row_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/rng.h"

namespace deepinfer::runner {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(ExpNegative, IsCloseToTheExponential) {
  double worst = 0;
  for (int i = 0; i <= 870000; ++i) {
    const float x = -static_cast<float>(i) * 1e-4f;
    const double expected = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::abs(static_cast<double>(ExpNegative(x)) - expected) / expected);
  }
  EXPECT_LT(worst, 2e-7);
}

TEST(ExpNegative, HasExactEnds) {
  EXPECT_EQ(ExpNegative(0.0f), 1.0f);
  EXPECT_EQ(ExpNegative(-88.0f), 0.0f);
  EXPECT_EQ(ExpNegative(-kInfinity), 0.0f);
  EXPECT_EQ(ExpNegative(-3e38f), 0.0f);
}

TEST(ScanRow, FindsTheMaximumAtEveryPlaceAndLength) {
  for (size_t size = 1; size <= 40; ++size) {
    for (size_t place = 0; place < size; ++place) {
      std::vector<float> row(size, -2.0f);
      row[place] = 7.0f;
      const RowScan scan = ScanRow(row);
      EXPECT_EQ(scan.max, 7.0f);
      EXPECT_TRUE(scan.is_finite);
      EXPECT_EQ(FirstIndexOf(row, 7.0f), static_cast<int32_t>(place));
    }
  }
}

TEST(ScanRow, SeesWhatIsNotFiniteAtEveryPlace) {
  for (const float bad : {std::nanf(""), kInfinity, -kInfinity}) {
    for (size_t place = 0; place < 35; ++place) {
      std::vector<float> row(35, 1.0f);
      row[place] = bad;
      EXPECT_FALSE(ScanRow(row).is_finite) << place;
    }
  }
}

TEST(FirstIndexOf, LowestWinsAndZerosAreEqual) {
  const std::vector<float> row = {-1.0f, -0.0f, 0.0f, 0.0f};
  EXPECT_EQ(FirstIndexOf(row, 0.0f), 1);
}

TEST(OrderedKey, HasTheOrderOfTheFloats) {
  const std::vector<float> ascending = {-kInfinity, -3.0f, -1e-40f, 0.0f, 1e-40f, 2.0f, 3e38f};
  for (size_t i = 1; i < ascending.size(); ++i) {
    EXPECT_LT(OrderedKey(ascending[i - 1]), OrderedKey(ascending[i])) << i;
  }
  EXPECT_EQ(OrderedKey(-0.0f), OrderedKey(0.0f));
}

TEST(ExpWeights, AnElementDoesNotDependOnItsPlace) {
  std::vector<float> row(37);
  PhiloxStream random(1, 2);
  for (float& z : row) z = static_cast<float>(-20 * random.NextUniform());
  std::vector<float> weights(row.size());
  ExpWeights(row, 0.0f, 1.25f, weights.data());
  for (size_t i = 0; i < row.size(); ++i) {
    float alone = 0;
    ExpWeights({&row[i], 1}, 0.0f, 1.25f, &alone);
    EXPECT_EQ(weights[i], alone);
  }
}

TEST(GroupMaxima, EveryGroupHasItsLargest) {
  std::vector<float> row(103);
  PhiloxStream random(8, 8);
  for (float& z : row) z = static_cast<float>(random.NextUniform());
  std::vector<float> groups(10);
  GroupMaxima(row, groups);
  for (size_t g = 0; g < groups.size(); ++g) {
    float expected = row[g];
    for (size_t i = g; i < 100; i += 10) expected = std::max(expected, row[i]);
    EXPECT_EQ(groups[g], expected);
  }
}

TEST(ZeroWeightsBelow, LeavesTheThresholdItself) {
  const std::vector<float> row = {1, 2, 3, -1};
  std::vector<float> weights = {0.1f, 0.2f, 0.3f, 0.4f};
  ZeroWeightsBelow(row, 2, weights.data());
  EXPECT_EQ(weights, (std::vector<float>{0, 0.2f, 0.3f, 0}));
}

TEST(LogSumExp, AgreesWithDoubles) {
  std::vector<float> row(1000);
  PhiloxStream random(3, 4);
  for (float& z : row) z = static_cast<float>(30 * random.NextUniform() - 10);
  const float max = MaxOf(row);
  double sum = 0;
  for (const float z : row) sum += std::exp(static_cast<double>(z) - max);
  std::vector<float> weights(row.size());
  EXPECT_NEAR(LogSumExp(row, max, weights.data()), max + std::log(sum), 1e-6);
}

TEST(MassOf, SumsOfALargeVocabularyFit) {
  const std::vector<float> weights(131072, 1.0f);
  EXPECT_EQ(SumOfMasses(weights), uint64_t{131072} << kMassBits);
}

}  // namespace
}  // namespace deepinfer::runner
