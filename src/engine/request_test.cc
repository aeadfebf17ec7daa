#include "deepinfer/request.h"

#include <gtest/gtest.h>

#include <limits>

namespace deepinfer {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(SamplingParams, DefaultsAreThePublishedOnes) {
  const SamplingParams p;
  EXPECT_EQ(p.temperature, 1.0);
  EXPECT_EQ(p.top_p, 1.0);
  EXPECT_EQ(p.top_k, -1);
  EXPECT_EQ(p.max_tokens, 16);
  EXPECT_FALSE(p.ignore_eos);
  EXPECT_FALSE(p.seed.has_value());
  EXPECT_TRUE(ValidateSamplingParams(p).ok());
}

struct BadCase {
  SamplingParams params;
  std::string message;
};

TEST(SamplingParams, EachWrongFieldIsNamedWithItsRangeAndValue) {
  const BadCase cases[] = {
      {{.temperature = -0.1}, "temperature: expected a number in [0, 1000000], got -0.1"},
      {{.temperature = kNan}, "temperature: expected a number in [0, 1000000], got nan"},
      {{.temperature = kInf}, "temperature: expected a number in [0, 1000000], got inf"},
      {{.top_k = 0}, "top_k: expected -1 for all, or at least 1, got 0"},
      {{.top_k = -2}, "top_k: expected -1 for all, or at least 1, got -2"},
      {{.top_p = 0}, "top_p: expected a number in (0, 1], got 0"},
      {{.top_p = 1.5}, "top_p: expected a number in (0, 1], got 1.5"},
      {{.top_p = kNan}, "top_p: expected a number in (0, 1], got nan"},
      {{.min_p = -1}, "min_p: expected a number in [0, 1], got -1"},
      {{.max_tokens = -1}, "max_tokens: expected at least 1, got -1"},
      {{.max_tokens = 3, .min_tokens = 4}, "min_tokens: expected 0..max_tokens (3), got 4"},
      {{.min_tokens = -1}, "min_tokens: expected 0..max_tokens (16), got -1"},
      {{.stop = {"a", ""}}, "stop[1]: expected 1..1024 bytes, got 0"},
      {{.stop = std::vector<std::string>(65, "x")}, "stop: expected at most 64 strings, got 65"},
      {{.repetition_penalty = 0}, "repetition_penalty: expected a number in (0, 100], got 0"},
      {{.presence_penalty = 2.5}, "presence_penalty: expected a number in [-2, 2], got 2.5"},
      {{.frequency_penalty = kNan}, "frequency_penalty: expected a number in [-2, 2], got nan"},
      {{.logit_bias = {{.token_id = 7, .bias = kNan}}},
       "logit_bias[7]: expected a number in [-1000000, 1000000], got nan"},
      {{.logprobs = 1000000}, "logprobs: expected a number in [0, 1000], got 1000000"},
      {{.logprobs = -1}, "logprobs: expected a number in [0, 1000], got -1"},
      {{.prompt_logprobs = 1001}, "prompt_logprobs: expected a number in [0, 1000], got 1001"},
      {{.n = 0}, "n: expected at least 1, got 0"},
  };
  for (const BadCase& c : cases) {
    const Status status = ValidateSamplingParams(c.params);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << c.message;
    EXPECT_EQ(status.message(), c.message);
  }
}

TEST(SamplingParams, LimitsThemselvesAreAllowed) {
  EXPECT_TRUE(ValidateSamplingParams({.temperature = 0, .top_k = 2147483647, .top_p = 1e-9}).ok());
  EXPECT_TRUE(ValidateSamplingParams({.min_p = 1, .max_tokens = 0, .min_tokens = 1}).ok());
  EXPECT_TRUE(ValidateSamplingParams({.presence_penalty = -2, .logprobs = 1000}).ok());
}

TEST(SamplingParams, SeveralSamplesAreRefusedByName) {
  const Status status = ValidateSamplingParams({.n = 4});
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_EQ(status.message().rfind("n: ", 0), 0u);
}

}  // namespace
}  // namespace deepinfer
