// The sampler against its definition in doubles, and over many draws.
#include "runner/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "property/seeded_rng.h"

namespace deepinfer::runner {
namespace {

using ::deepinfer::testing::SeededRng;

// Ids that stay, by sorting, with a margin: ids whose membership hangs on the last bits are `maybe`.
struct ReferenceSet {
  std::map<int32_t, bool> is_certain;
};

ReferenceSet Reference(const std::vector<float>& row, const SamplingParams& sampling) {
  constexpr double kMargin = 1e-6;
  std::vector<int32_t> ids(row.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(), [&row](int32_t a, int32_t b) {
    return row[static_cast<size_t>(a)] > row[static_cast<size_t>(b)];
  });
  const double max = row[static_cast<size_t>(ids[0])];
  std::vector<double> p;
  for (const int32_t id : ids) {
    p.push_back(std::exp((row[static_cast<size_t>(id)] - max) / sampling.temperature));
  }
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  ReferenceSet set;
  double before = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (sampling.top_k > 0 && static_cast<int64_t>(i) >= sampling.top_k) break;
    const double over_p = before / sum - sampling.top_p;
    const double over_min = sampling.min_p - p[i];
    if (i > 0 && (over_p > kMargin || over_min > kMargin)) break;
    set.is_certain[ids[i]] = i == 0 || (over_p < -kMargin && over_min < -kMargin);
    before += p[i];
  }
  return set;
}

TEST(SamplerProperty, DrawsStayInsideTheDefinedSetAndReachAllOfIt) {
  SeededRng rng(21);
  for (int32_t round = 0; round < 300; ++round) {
    const size_t size = static_cast<size_t>(rng.Uniform(2, 40));
    std::vector<float> row(size);
    for (float& z : row) z = static_cast<float>(rng.Uniform(-8, 8)) / 4;  // many ties
    SamplingParams sampling{.temperature = 0.5 + 2 * rng.Real()};
    if (rng.Coin()) sampling.top_k = static_cast<int32_t>(rng.Uniform(1, 45));
    if (rng.Coin()) sampling.top_p = std::max(0.01, rng.Real());
    if (rng.Coin()) sampling.min_p = rng.Real() / 2;
    const ReferenceSet reference = Reference(row, sampling);
    Sampler sampler({.vocab_size = static_cast<int32_t>(size), .num_token_ids = 1 << 20});
    std::map<int32_t, int32_t> seen;
    for (int32_t position = 0; position < 1500; ++position) {
      const auto token = sampler.Sample(
          {.logits = row, .sampling = &sampling, .seed = rng.seed(), .position = position},
          nullptr);
      ASSERT_TRUE(token.ok());
      ASSERT_EQ(reference.is_certain.count(*token), 1u) << "round " << round;
      ++seen[*token];
    }
    // The rarest certain id of the row has a probability of at least 1 / (40 e^8).
    if (sampling.temperature < 1.5) continue;
    for (const auto& [id, is_certain] : reference.is_certain) {
      if (is_certain && row[static_cast<size_t>(id)] > 0) {
        EXPECT_GT(seen[id], 0) << "round " << round << " id " << id;
      }
    }
  }
}

TEST(SamplerProperty, ZeroProbabilityIdsAreNeverDrawnInTenMillionDraws) {
  const std::vector<float> row = {0, -60, 1, -200, 0.5f, -40, -200, 2};
  const SamplingParams sampling;
  Sampler sampler({.vocab_size = 8, .num_token_ids = 8});
  for (int32_t position = 0; position < 10'000'000; ++position) {
    const auto token = sampler.Sample(
        {.logits = row, .sampling = &sampling, .seed = 77, .position = position}, nullptr);
    const int32_t id = *token;
    ASSERT_TRUE(id == 0 || id == 2 || id == 4 || id == 7) << id;
  }
}

}  // namespace
}  // namespace deepinfer::runner
