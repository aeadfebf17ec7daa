#include "runner/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/rng.h"
#include "runner/row_math.h"

namespace deepinfer::runner {
namespace {

std::vector<float> RandomRow(size_t size, uint64_t seed, double spread = 8) {
  PhiloxStream random(seed, 99);
  std::vector<float> row(size);
  for (float& z : row) z = static_cast<float>(spread * (random.NextUniform() - 0.5));
  return row;
}

Sampler MakeSampler(size_t vocab_size, int32_t num_token_ids = 1 << 30) {
  return Sampler({.vocab_size = static_cast<int32_t>(vocab_size), .num_token_ids = num_token_ids});
}

int32_t Draw(Sampler& sampler, const std::vector<float>& row, const SamplingParams& sampling,
             uint64_t seed, int32_t position = 5) {
  const auto token = sampler.Sample(
      {.logits = row, .sampling = &sampling, .seed = seed, .position = position}, nullptr);
  EXPECT_TRUE(token.ok()) << token.status().ToString();
  return token.ok() ? *token : -1;
}

TEST(Philox, PublishedWordsOfTheSamplingStreams) {
  struct Vector {
    uint64_t seed;
    uint64_t position;
    DrawPurpose purpose;
    uint32_t words[2];
  };
  const Vector vectors[] = {
      {0, 0, DrawPurpose::kSample, {0x6627e8d5, 0xe169c58d}},
      {42, 7, DrawPurpose::kSample, {0xe0020480, 0xbedb05bb}},
      {42, 7, DrawPurpose::kResample, {0xf7dd2f89, 0xbf20b7d0}},
      {42, 7, DrawPurpose::kAcceptTest, {0x1ebff96f, 0x2087da6f}},
      {~uint64_t{0}, 4096, DrawPurpose::kSample, {0x059dabd1, 0x6c1ba988}},
  };
  for (const Vector& v : vectors) {
    PhiloxStream stream = TokenStream(v.seed, v.position, v.purpose);
    EXPECT_EQ(stream.NextWord(), v.words[0]);
    EXPECT_EQ(stream.NextWord(), v.words[1]);
  }
}

TEST(Sampler, GreedyTakesTheLowestIdOfTiesForEverySeed) {
  Sampler sampler = MakeSampler(50);
  std::vector<float> row(50, 1.0f);
  row[17] = row[31] = 4.0f;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(Draw(sampler, row, {.temperature = 0}, seed), 17);
  }
}

TEST(Sampler, TinyTemperatureIsGreedyAndTheNextIsNot) {
  Sampler sampler = MakeSampler(4);
  const std::vector<float> row = {1, 1, 1, 1};
  std::map<int32_t, int> seen;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(Draw(sampler, row, {.temperature = 9e-6}, seed), 0);
    ++seen[Draw(sampler, row, {.temperature = 1e-5}, seed)];
  }
  EXPECT_EQ(seen.size(), 4u);
}

TEST(Sampler, DrawDependsOnSeedAndPositionOnly) {
  const std::vector<float> row = RandomRow(300, 1);
  Sampler fresh = MakeSampler(300);
  Sampler used = MakeSampler(300);
  for (uint64_t i = 0; i < 30; ++i) Draw(used, RandomRow(300, i + 2), {}, i);
  std::map<int32_t, int> by_position;
  for (int32_t position = 0; position < 40; ++position) {
    const int32_t token = Draw(fresh, row, {}, 11, position);
    EXPECT_EQ(Draw(used, row, {}, 11, position), token);
    ++by_position[token];
  }
  EXPECT_GT(by_position.size(), 10u);
}

// The draw itself, written down a second time from its definition.
TEST(Sampler, DrawIsTheFixedPointInverseOfTheDistribution) {
  const std::vector<float> row = RandomRow(64, 3);
  Sampler sampler = MakeSampler(64);
  std::vector<float> weights(64);
  ExpWeights(row, MaxOf(row), 1.0f, weights.data());
  const double sum = std::ldexp(static_cast<double>(SumOfMasses(weights)), -kMassBits);
  std::vector<uint64_t> masses;
  uint64_t total = 0;
  for (const float weight : weights) {
    masses.push_back(static_cast<uint64_t>(weight / sum * 2147483648.0));
    total += masses.back();
  }
  for (int32_t position = 0; position < 500; ++position) {
    PhiloxStream stream(77, 3 * static_cast<uint64_t>(position));
    uint64_t word = stream.NextWord();
    while (word >= 0xffffffffu / total * total) word = stream.NextWord();
    uint64_t rest = word % total;
    int32_t expected = 0;
    while (rest >= masses[static_cast<size_t>(expected)]) {
      rest -= masses[static_cast<size_t>(expected++)];
    }
    ASSERT_EQ(Draw(sampler, row, {}, 77, position), expected) << position;
  }
}

// Chi-square of `num_draws` draws against the probabilities; bound: 99.9 % of the distribution, by
// the approximation of Wilson and Hilferty.
void ExpectDistribution(const std::vector<float>& row, const SamplingParams& sampling,
                        const std::vector<double>& probabilities) {
  Sampler sampler = MakeSampler(row.size());
  constexpr int32_t kNumDraws = 40000;
  std::vector<int32_t> counts(row.size(), 0);
  for (int32_t i = 0; i < kNumDraws; ++i) {
    ++counts[static_cast<size_t>(Draw(sampler, row, sampling, 1234, i))];
  }
  double chi_square = 0;
  double degrees = -1;
  for (size_t id = 0; id < row.size(); ++id) {
    const double expected = probabilities[id] * kNumDraws;
    if (expected == 0) {
      ASSERT_EQ(counts[id], 0) << id;
      continue;
    }
    if (expected < 5) continue;
    chi_square += (counts[id] - expected) * (counts[id] - expected) / expected;
    degrees += 1;
  }
  ASSERT_GE(degrees, 1);
  const double k = 2 / (9 * degrees);
  const double bound = degrees * std::pow(1 - k + 3.09 * std::sqrt(k), 3);
  EXPECT_LT(chi_square, bound) << "degrees " << degrees;
}

std::vector<double> Softmax(const std::vector<float>& row, double temperature) {
  std::vector<double> p;
  for (const float z : row) p.push_back(std::exp(z / temperature));
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& x : p) x /= sum;
  return p;
}

TEST(Sampler, DrawsFollowFlatDistribution) {
  ExpectDistribution(std::vector<float>(40, 2.0f), {}, std::vector<double>(40, 1.0 / 40));
}

TEST(Sampler, DrawsFollowPeakedDistribution) {
  const std::vector<float> row = {6, 0, 1, 0, 2, 3};
  ExpectDistribution(row, {}, Softmax(row, 1));
}

TEST(Sampler, DrawsFollowRandomDistributionAtTwoTemperatures) {
  const std::vector<float> row = RandomRow(60, 5);
  ExpectDistribution(row, {.temperature = 0.7}, Softmax(row, 0.7));
  ExpectDistribution(row, {.temperature = 2}, Softmax(row, 2));
}

TEST(Sampler, DrawsFollowGeometricDistributionCutByTopK) {
  std::vector<float> row(30);
  for (size_t i = 0; i < row.size(); ++i) row[i] = -0.4f * static_cast<float>(i);
  std::vector<double> p = Softmax(row, 1);
  std::fill(p.begin() + 7, p.end(), 0.0);
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& x : p) x /= sum;
  ExpectDistribution(row, {.top_k = 7}, p);
}

TEST(Sampler, DrawsFollowTwoPeaksCutByTopP) {
  const std::vector<float> row = {5, 0, 0, 5, 0, 0, 0};
  ExpectDistribution(row, {.top_p = 0.9}, {0.5, 0, 0, 0.5, 0, 0, 0});
}

TEST(Sampler, ZeroProbabilityIdsAreNeverDrawn) {
  const std::vector<float> row = {0, -200, 0, -50, 0, -200};
  Sampler sampler = MakeSampler(row.size());
  for (int32_t i = 0; i < 200000; ++i) {
    const int32_t token = Draw(sampler, row, {}, 9, i);
    ASSERT_TRUE(token == 0 || token == 2 || token == 4) << token;
  }
}

TEST(Sampler, SeedsOfSamplesDiffer) {
  EXPECT_EQ(SampleSeed(5, 0), 5u);
  EXPECT_EQ(SampleSeed(5, 2), 5u + 2 * 0x9E3779B97F4A7C15u);
}

TEST(Sampler, MinPIsRelativeToTheBest) {
  // P ratios to the best: 1, 0.5 and below 0.3.
  const std::vector<float> row = {0.0f, std::log(0.5f) + 1e-4f, std::log(0.3f) - 1e-4f};
  Sampler sampler = MakeSampler(3);
  for (int32_t i = 0; i < 300; ++i) EXPECT_LT(Draw(sampler, row, {.min_p = 0.3}, 1, i), 2);
  for (int32_t i = 0; i < 300; ++i) EXPECT_EQ(Draw(sampler, row, {.min_p = 1}, 1, i), 0);
}

TEST(Sampler, ShortestOfThePrefixesHolds) {
  const std::vector<float> row = RandomRow(100, 8);
  Sampler sampler = MakeSampler(100);
  for (int32_t i = 0; i < 200; ++i) {
    EXPECT_EQ(Draw(sampler, row, {.top_k = 5, .top_p = 1e-9, .min_p = 0.001}, 2, i),
              FirstIndexOf(row, MaxOf(row)));
  }
}

// RegressionTopKAboveTheVocabulary: means all, and gives what no top_k gives.
TEST(Sampler, TopKAboveTheVocabularyIsOff) {
  const std::vector<float> row = RandomRow(50, 4);
  Sampler sampler = MakeSampler(50);
  for (int32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(Draw(sampler, row, {.top_k = 9999999}, 3, i), Draw(sampler, row, {}, 3, i));
  }
}

TEST(Sampler, IdsBehindTheTokenizerAndBannedIdsAreNeverDrawn) {
  const std::vector<float> row = {1, 2, 3, 4, 9, 9};
  Sampler sampler({.vocab_size = 6, .num_token_ids = 4, .banned_token_ids = {3}});
  EXPECT_EQ(Draw(sampler, row, {.temperature = 0}, 0), 2);
  EXPECT_EQ(Draw(sampler, row, {.temperature = 0, .banned_token_ids = {2}}, 0), 1);
  for (int32_t i = 0; i < 300; ++i) EXPECT_LT(Draw(sampler, row, {}, 0, i), 3);
}

TEST(Sampler, EverythingBannedIsAnErrorOfThatRequest) {
  Sampler sampler = MakeSampler(2);
  const std::vector<float> row = {1, 2};
  const SamplingParams sampling{.banned_token_ids = {0, 1}};
  const auto token = sampler.Sample({.logits = row, .sampling = &sampling}, nullptr);
  EXPECT_EQ(token.status().code(), StatusCode::kInvalidArgument);
}

TEST(Sampler, LogitsThatAreNotFiniteAreAnError) {
  Sampler sampler = MakeSampler(3);
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    const std::vector<float> row = {1, bad, 2};
    const SamplingParams sampling;
    const auto token =
        sampler.Sample({.logits = row, .sampling = &sampling, .position = 12}, nullptr);
    ASSERT_EQ(token.status().code(), StatusCode::kInternal);
    EXPECT_NE(token.status().message().find("12"), std::string::npos);
  }
}

TEST(Sampler, StopIdsAreMaskedBelowMinTokens) {
  Sampler sampler = MakeSampler(4);
  const std::vector<float> row = {1, 9, 2, 3};
  const SamplingParams sampling{.temperature = 0, .max_tokens = 9, .min_tokens = 2};
  const std::vector<int32_t> stop_ids = {1};
  for (int32_t n = 0; n < 4; ++n) {
    const auto token = sampler.Sample(
        {.logits = row, .sampling = &sampling, .num_output_tokens = n, .stop_token_ids = stop_ids},
        nullptr);
    EXPECT_EQ(*token, n < 2 ? 3 : 1) << n;
  }
}

// Logits after each step: id 0: -1 + 3 = 2, then 2 / 2 = 1 (the other order would give -1 * 2 + 3 = 1
// too, so id 3 tells them apart: 1 - 3 = -2 and -2 * 2 = -4, not 1 / 2 - 3 = -2.5); id 2: 4 / 2 = 2,
// then 2 - 0.5 * 2 - 1 = 0.
TEST(Sampler, BiasThenRepetitionThenFrequencyAndPresence) {
  Sampler sampler = MakeSampler(4);
  const std::vector<float> row = {-1.0f, 1.5f, 4.0f, 1.0f};
  TokenCounts counts;
  counts.AddPrompt(std::vector<int32_t>{0, 3});
  counts.AddOutput(2);
  counts.AddOutput(2);
  const SamplingParams sampling{.repetition_penalty = 2,
                                .presence_penalty = 1,
                                .frequency_penalty = 0.5,
                                .logit_bias = {{.token_id = 0, .bias = 3}, {3, -3}},
                                .logprobs = 4,
                                .logprobs_mode = LogprobsMode::kProcessed};
  plan::TokenLogprobs logprobs;
  ASSERT_TRUE(
      sampler.Sample({.logits = row, .sampling = &sampling, .counts = &counts}, &logprobs).ok());
  ASSERT_EQ(logprobs.top.size(), 4u);
  const float best = logprobs.top[0].logprob;
  const std::pair<int32_t, float> expected[] = {{1, 1.5f}, {0, 1.0f}, {2, 0.0f}, {3, -4.0f}};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(logprobs.top[i].token_id, expected[i].first);
    EXPECT_NEAR(logprobs.top[i].logprob - best, expected[i].second - 1.5f, 1e-6);
  }
}

TEST(Sampler, RepetitionPenaltyPushesNegativeLogitsDown) {
  Sampler sampler = MakeSampler(2);
  const std::vector<float> row = {-1.0f, -1.5f};
  TokenCounts counts;
  counts.AddPrompt(std::vector<int32_t>{0});
  const SamplingParams sampling{.temperature = 0, .repetition_penalty = 2};
  EXPECT_EQ(*sampler.Sample({.logits = row, .sampling = &sampling, .counts = &counts}, nullptr), 1);
}

TEST(Sampler, PresenceAndFrequencyLookAtOutputOnly) {
  Sampler sampler = MakeSampler(2);
  const std::vector<float> row = {1.0f, 0.5f};
  TokenCounts counts;
  counts.AddPrompt(std::vector<int32_t>{0, 0, 0});
  const SamplingParams sampling{.temperature = 0, .presence_penalty = 2, .frequency_penalty = 2};
  EXPECT_EQ(*sampler.Sample({.logits = row, .sampling = &sampling, .counts = &counts}, nullptr), 0);
}

TEST(Sampler, GoldenTokensWinOverTheDraw) {
  Sampler sampler = MakeSampler(3);
  const std::vector<float> row = {1, 5, 2};
  const SamplingParams sampling{.temperature = 0,
                                .golden_token_ids = {2, SamplingParams::kFreeToken}};
  for (int32_t n = 0; n < 3; ++n) {
    const auto token =
        sampler.Sample({.logits = row, .sampling = &sampling, .num_output_tokens = n}, nullptr);
    EXPECT_EQ(*token, n == 0 ? 2 : 1);
  }
}

TEST(Sampler, RawLogprobsIgnoreTheSamplingParameters) {
  const std::vector<float> row = RandomRow(200, 6);
  Sampler sampler = MakeSampler(200);
  const std::vector<double> p = Softmax(row, 1);
  for (const double temperature : {0.0, 0.3, 1.0}) {
    const SamplingParams sampling{.temperature = temperature, .top_k = 3, .logprobs = 4};
    plan::TokenLogprobs logprobs;
    const auto token = sampler.Sample({.logits = row, .sampling = &sampling}, &logprobs);
    EXPECT_EQ(logprobs.token_id, *token);
    EXPECT_NEAR(logprobs.logprob, std::log(p[static_cast<size_t>(*token)]), 1e-5);
    ASSERT_EQ(logprobs.top.size(), 4u);
    for (size_t i = 1; i < 4; ++i) EXPECT_GE(logprobs.top[i - 1].logprob, logprobs.top[i].logprob);
    EXPECT_EQ(logprobs.top[0].token_id, FirstIndexOf(row, MaxOf(row)));
  }
}

TEST(Sampler, ProcessedLogprobsSumToOneOverTheKeptIds) {
  const std::vector<float> row = RandomRow(200, 7);
  Sampler sampler = MakeSampler(200);
  const SamplingParams sampling{
      .temperature = 1.5, .top_k = 9, .logprobs = 12, .logprobs_mode = LogprobsMode::kProcessed};
  plan::TokenLogprobs logprobs;
  ASSERT_TRUE(sampler.Sample({.logits = row, .sampling = &sampling}, &logprobs).ok());
  ASSERT_EQ(logprobs.top.size(), 12u);
  double sum = 0;
  for (size_t i = 0; i < 9; ++i) sum += std::exp(logprobs.top[i].logprob);
  EXPECT_NEAR(sum, 1, 1e-6);
  for (size_t i = 9; i < 12; ++i) EXPECT_EQ(logprobs.top[i].logprob, kMinLogprob);
}

TEST(Sampler, ProcessedGreedyIsCertain) {
  Sampler sampler = MakeSampler(3);
  const std::vector<float> row = {1, 5, 2};
  const SamplingParams sampling{
      .temperature = 0, .logprobs = 2, .logprobs_mode = LogprobsMode::kProcessed};
  plan::TokenLogprobs logprobs;
  ASSERT_TRUE(sampler.Sample({.logits = row, .sampling = &sampling}, &logprobs).ok());
  EXPECT_EQ(logprobs.logprob, 0);
  EXPECT_EQ(logprobs.top[1].logprob, kMinLogprob);
}

TEST(Sampler, LogprobsHaveAFloor) {
  Sampler sampler = MakeSampler(2);
  const std::vector<float> row = {0, -20000};
  const SamplingParams sampling{.temperature = 0, .logprobs = 2};
  plan::TokenLogprobs logprobs;
  ASSERT_TRUE(sampler.Sample({.logits = row, .sampling = &sampling}, &logprobs).ok());
  EXPECT_EQ(logprobs.top[1].logprob, kMinLogprob);
}

// RegressionTopLogprobsAboveTheVocabulary: as many as there are.
TEST(Sampler, MoreAlternativesThanIdsGiveAllIds) {
  Sampler sampler = MakeSampler(5);
  const std::vector<float> row = {1, 2, 2, 0, 3};
  const SamplingParams sampling{.logprobs = SamplingParams::kMaxLogprobs};
  plan::TokenLogprobs logprobs;
  ASSERT_TRUE(sampler.Sample({.logits = row, .sampling = &sampling}, &logprobs).ok());
  std::vector<int32_t> ids;
  for (const TokenAlternative& top : logprobs.top) ids.push_back(top.token_id);
  EXPECT_EQ(ids, (std::vector<int32_t>{4, 1, 2, 0, 3}));
}

TEST(Sampler, PromptLogprobIsThatOfTheGivenToken) {
  const std::vector<float> row = RandomRow(100, 12);
  Sampler sampler = MakeSampler(100);
  const std::vector<double> p = Softmax(row, 1);
  plan::TokenLogprobs logprobs;
  ASSERT_TRUE(sampler.PromptLogprob(row, {.prompt_logprobs = 2}, 33, logprobs).ok());
  EXPECT_NEAR(logprobs.logprob, std::log(p[33]), 1e-5);
  EXPECT_EQ(logprobs.top.size(), 2u);
}

TEST(Sampler, ProcessedPromptLogprobUsesTemperature) {
  const std::vector<float> row = RandomRow(100, 13);
  Sampler sampler = MakeSampler(100);
  const std::vector<double> p = Softmax(row, 0.5);
  plan::TokenLogprobs logprobs;
  const SamplingParams sampling{
      .temperature = 0.5, .prompt_logprobs = 0, .logprobs_mode = LogprobsMode::kProcessed};
  ASSERT_TRUE(sampler.PromptLogprob(row, sampling, 33, logprobs).ok());
  EXPECT_NEAR(logprobs.logprob, std::log(p[33]), 1e-5);
}

}  // namespace
}  // namespace deepinfer::runner
