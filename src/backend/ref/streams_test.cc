// Hyper-connections against values computed by hand.
#include "backend/ops/streams.h"

#include <cmath>

#include "backend/ref/test_tensor.h"

namespace deepinfer::ref {
namespace {

using StreamsTest = RefTest;

double SigmoidOf(double x) { return 1 / (1 + std::exp(-x)); }

TEST_F(StreamsTest, EmbedsInEveryStreamAndReadsTheFirst) {
  const TestTensor ids = I32({3}, {1, -1, 2}), embed = Bf16({2, 2}, {1, 2, 3, 4});
  const TestTensor streams = F32({3, 2, 2}), pre = F32({3, 2});
  ops::EmbedStreams(stream(), {.token_ids = ids, .embed = embed, .streams = streams, .pre = pre});
  EXPECT_EQ(streams.values(), (std::vector<float>{3, 4, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(pre.values(), (std::vector<float>{1, 0, 1, 0, 1, 0}));
}

// Coefficients of one token with n streams of D zeros except the first values.
struct Coeffs {
  std::vector<float> pre, post, comb;
};

Coeffs CoeffsOf(backend::Stream& stream, int64_t n, const std::vector<float>& streams,
                const std::vector<float>& fn, const std::vector<float>& base,
                const std::vector<float>& scale, int32_t num_iters) {
  const int64_t d = static_cast<int64_t>(streams.size()) / n, num = (2 + n) * n;
  const TestTensor s = F32({1, n, d}, streams), f = F32({num, n * d}, fn);
  const TestTensor b = F32({num}, base), c = F32({3}, scale);
  const TestTensor pre = F32({1, n}), post = F32({1, n}), comb = F32({1, n, n});
  ops::HcCoeff(stream, {.streams = s,
                        .fn = f,
                        .base = b,
                        .scale = c,
                        .rms_norm_eps = 1e-20f,
                        .hc_eps = 1e-6f,
                        .num_sinkhorn_iters = num_iters,
                        .pre = pre,
                        .post = post,
                        .comb = comb});
  return {pre.values(), post.values(), comb.values()};
}

TEST_F(StreamsTest, PreHasTheEpsilonAndPostIsDoubled) {
  // fn = 0: the logits are the biases.
  const std::vector<float> base = {0.5f, -1, 2, 0, 0, 0, 0, 0};
  const Coeffs c = CoeffsOf(stream(), 2, {1, 2, 3, 4}, {}, base, {1, 1, 1}, 1);
  EXPECT_NEAR(c.pre[0], SigmoidOf(0.5) + 1e-6, 1e-7);
  EXPECT_NEAR(c.pre[1], SigmoidOf(-1) + 1e-6, 1e-7);
  EXPECT_NEAR(c.post[0], 2 * SigmoidOf(2), 2e-7);
  EXPECT_NEAR(c.post[1], 1.0, 2e-7);
}

TEST_F(StreamsTest, TheStatisticRunsOverAllStreams) {
  // Streams with norms 1 and 7 (and 50 = 1 + 49): per-stream statistics would give 1 for both.
  std::vector<float> fn(8 * 4, 0.0f);
  fn[0 * 4 + 0] = 1;  // u_0 = S[0][0]
  fn[1 * 4 + 2] = 1;  // u_1 = S[1][0]
  const Coeffs c =
      CoeffsOf(stream(), 2, {1, 0, 7, 0}, fn, std::vector<float>(8, 0.0f), {1, 1, 1}, 1);
  const double inverse_rms = 1 / std::sqrt(50.0 / 4);
  EXPECT_NEAR(c.pre[0], SigmoidOf(inverse_rms) + 1e-6, 1e-6);
  EXPECT_NEAR(c.pre[1], SigmoidOf(7 * inverse_rms) + 1e-6, 1e-6);
}

TEST_F(StreamsTest, ScaleMultipliesTheProjectionAlone) {
  std::vector<float> fn(8 * 2, 0.0f), base(8, 0.0f);
  fn[0] = 1;
  base[0] = 1;
  const Coeffs c = CoeffsOf(stream(), 2, {1, 1}, fn, base, {3, 1, 1}, 1);
  EXPECT_NEAR(c.pre[0], SigmoidOf(1 * 3 + 1) + 1e-6, 1e-6);
}

// Logits [[5, -5], [0, 0]], computed step by step in double.
std::vector<double> SinkhornByHand(int32_t num_iters) {
  const double a = 1 / (1 + std::exp(-10.0)), eps = 1e-6;
  double m[2][2] = {{a + eps, 1 - a + eps}, {0.5 + eps, 0.5 + eps}};
  for (int32_t iter = 0; iter < num_iters; ++iter) {
    for (int32_t j = 0; iter > 0 && j < 2; ++j) {
      const double sum = m[j][0] + m[j][1] + eps;
      m[j][0] /= sum;
      m[j][1] /= sum;
    }
    for (int32_t k = 0; k < 2; ++k) {
      const double sum = m[0][k] + m[1][k] + eps;
      m[0][k] /= sum;
      m[1][k] /= sum;
    }
  }
  return {m[0][0], m[0][1], m[1][0], m[1][1]};
}

TEST_F(StreamsTest, SinkhornStartsWithRowsAndEndsOnColumns) {
  const std::vector<float> base = {0, 0, 0, 0, 5, -5, 0, 0};
  for (const int32_t num_iters : {1, 2, 20}) {
    const Coeffs c = CoeffsOf(stream(), 2, {1, 1}, {}, base, {1, 1, 1}, num_iters);
    const std::vector<double> expected = SinkhornByHand(num_iters);
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(c.comb[i], expected[i], 1e-6) << num_iters;
    EXPECT_NEAR(c.comb[0] + c.comb[2], 1, 4e-6);  // a column: one destination
  }
}

TEST_F(StreamsTest, CombIsIndexedBySourceThenDestination) {
  // comb = [[1, 2], [3, 4]]: S'[0] = 1 * S[0] + 3 * S[1], S'[1] = 2 * S[0] + 4 * S[1].
  const TestTensor delta = F32({1, 1, 1}, {100}), post = F32({1, 2}, {0, 1});
  const TestTensor comb = F32({1, 2, 2}, {1, 2, 3, 4}), streams = F32({1, 2, 1}, {10, 1000});
  ops::HcWriteNorm(stream(), {.delta = delta, .post = post, .comb = comb, .streams = streams});
  EXPECT_EQ(streams.values(), (std::vector<float>{3010, 4120}));
}

TEST_F(StreamsTest, SlotsAreSummedInFp32AndRoundedOnce) {
  // 256 + 1 + 1: in bf16 each single step would be lost; the fp32 sum 258 is a bf16 number.
  const TestTensor delta = Bf16({1, 3, 1}, {256, 1, 1}), post = F32({1, 1}, {1});
  const TestTensor comb = F32({1, 1, 1}, {0}), streams = Bf16({1, 1, 1}, {5});
  ops::HcWriteNorm(stream(), {.delta = delta, .post = post, .comb = comb, .streams = streams});
  EXPECT_EQ(streams[0], 258.0f);
}

TEST_F(StreamsTest, TheSumOfTheSlotsIsRoundedInFrontOfTheMix) {
  // 257 is no bf16 number: 3 * 256 = 768, where 3 * 257 = 771 would round to 772.
  const TestTensor delta = Bf16({1, 2, 1}, {256, 1}), post = F32({1, 1}, {3});
  const TestTensor comb = F32({1, 1, 1}, {0}), streams = Bf16({1, 1, 1}, {5});
  ops::HcWriteNorm(stream(), {.delta = delta, .post = post, .comb = comb, .streams = streams});
  EXPECT_EQ(streams[0], 768.0f);
}

struct Normed {
  std::vector<float> x, x_quant;
};

Normed NormOf(backend::Stream& stream, const std::vector<float>& values, DType act) {
  const int64_t d = static_cast<int64_t>(values.size());
  const TestTensor streams = act == DType::kF32 ? F32({1, 1, d}, values) : Bf16({1, 1, d}, values);
  const TestTensor pre = F32({1, 1}, {1}), norm = Bf16({d}, std::vector<float>(d, 1.0f));
  const TestTensor x(act, {1, d});
  const TestTensor x_quant = act == DType::kF32 ? TestTensor() : Bf16({1, d});
  ops::HcWriteNorm(stream, {.streams = streams,
                            .pre = pre,
                            .norm = norm,
                            .rms_norm_eps = 1e-20f,
                            .x = x,
                            .x_quant = x_quant});
  return {x.values(), act == DType::kF32 ? std::vector<float>() : x_quant.values()};
}

TEST_F(StreamsTest, TheNormIgnoresTheScaleOfItsInput) {
  const std::vector<float> small = NormOf(stream(), {3e-6f, 4e-6f}, DType::kF32).x;
  EXPECT_NEAR(small[0], 3 / std::sqrt(12.5), 1e-5);
  EXPECT_NEAR(small[1], 4 / std::sqrt(12.5), 1e-5);
  EXPECT_EQ(NormOf(stream(), {0, 0}, DType::kF32).x, (std::vector<float>{0, 0}));
}

TEST_F(StreamsTest, TheNormRoundsOnce) {
  // 3 / sqrt(12.5) * 1.015625 = 0.86179, to bf16 0.86328125; rounded in front of the weight too it
  // would be 0.84765625 * 1.015625 = 0.86090, to bf16 0.859375.
  const TestTensor streams = Bf16({1, 1, 2}, {3, 4}), pre = F32({1, 1}, {1});
  const TestTensor norm = Bf16({2}, {1.015625f, 1}), x = Bf16({1, 2});
  ops::HcWriteNorm(stream(),
                   {.streams = streams, .pre = pre, .norm = norm, .rms_norm_eps = 1e-20f, .x = x});
  EXPECT_EQ(x[0], 0.86328125f);
}

TEST_F(StreamsTest, QuantisedXIsQ8OfTheRoundedX) {
  std::vector<float> values(32);
  for (int32_t i = 0; i < 32; ++i) values[i] = static_cast<float>(i - 16);
  const Normed normed = NormOf(stream(), values, DType::kBF16);
  for (int32_t i = 0; i < 32; ++i) {
    EXPECT_NEAR(normed.x_quant[i], normed.x[i], std::fabs(normed.x[i]) / 16 + 1e-5) << i;
  }
  // The largest magnitude, 16 / sqrt(85.5) = 1.73036, is 1.7265625 in bf16, 442 * 2^-8; of it Q8
  // makes 448 * 2^-8.
  EXPECT_EQ(normed.x[0], -1.7265625f);
  EXPECT_EQ(normed.x_quant[0], -1.75f);
}

TEST_F(StreamsTest, TheCollapseMixesStreamsWithTheGivenWeights) {
  const TestTensor streams = F32({1, 2, 2}, {1, 0, 0, 1}), pre = F32({1, 2}, {3, 4});
  const TestTensor norm = Bf16({2}, {1, 2}), x = F32({1, 2});
  ops::HcWriteNorm(stream(),
                   {.streams = streams, .pre = pre, .norm = norm, .rms_norm_eps = 1e-20f, .x = x});
  EXPECT_NEAR(x[0], 3 / std::sqrt(12.5), 1e-6);
  EXPECT_NEAR(x[1], 8 / std::sqrt(12.5), 1e-6);
}

TEST_F(StreamsTest, TheHeadSeesTheNormedRowsThatAreAskedFor) {
  const TestTensor streams = F32({2, 2, 2}, {9, 9, 9, 9, 1, 0, 0, 1}),
                   pre = F32({2, 2}, {1, 0, 3, 4});
  const TestTensor norm = Bf16({2}, {1, 1}), head = Bf16({3, 2}, {1, 0, 0, 1, 1, 1});
  const TestTensor rows = I32({2}, {1, 0}), hidden = F32({2, 2}), logits = F32({2, 3});
  ops::FinalNormHead(stream(), {.streams = streams,
                                .pre = pre,
                                .norm = norm,
                                .head = {head, {}},
                                .rms_norm_eps = 1e-20f,
                                .row_idx = rows,
                                .hidden = hidden,
                                .logits = logits});
  const double rms = std::sqrt(12.5);
  EXPECT_NEAR(hidden[0], 3 / rms, 1e-6);
  EXPECT_NEAR(logits[1], 4 / rms, 1e-6);
  EXPECT_NEAR(logits[2], 7 / rms, 1e-6);
  EXPECT_NEAR(logits[3], 1, 1e-6);  // row 0: stream 0 alone, (9, 9)
}

}  // namespace
}  // namespace deepinfer::ref
