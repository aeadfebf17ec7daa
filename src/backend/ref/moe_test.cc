// Router and experts against values computed by hand.
#include "backend/ops/moe.h"

#include <array>
#include <cmath>

#include "backend/ref/test_tensor.h"

namespace deepinfer::ref {
namespace {

using MoeTest = RefTest;

struct Routed {
  std::vector<int32_t> idx;
  std::vector<float> weight;
};

// One row whose router logits are `logits`.
Routed RouteOf(backend::Stream& stream, const std::vector<float>& logits,
               const std::vector<float>& bias, int64_t num_chosen, float factor = 1.5f) {
  const int64_t num_experts = static_cast<int64_t>(logits.size());
  const TestTensor x = F32({1, 1}, {1}), gate = Bf16({num_experts, 1}, logits);
  const TestTensor b = F32({num_experts}, bias), idx = I32({1, num_chosen});
  const TestTensor weight = F32({1, num_chosen});
  ops::Route(stream, {.x = x,
                      .gate = {gate, {}},
                      .bias = b,
                      .routed_scaling_factor = factor,
                      .expert_idx = idx,
                      .expert_weight = weight});
  const int32_t* chosen = idx.view().as<int32_t>();
  return {{chosen, chosen + num_chosen}, weight.values()};
}

double ScoreOf(double z) { return std::sqrt(std::log1p(std::exp(z))); }

TEST_F(MoeTest, WeightsAreNormalisedScores) {
  const Routed r = RouteOf(stream(), {1, -2, 3, 0}, {0, 0, 0, 0}, 2);
  EXPECT_EQ(r.idx, (std::vector<int32_t>{0, 2}));
  const double a = ScoreOf(1), b = ScoreOf(3);
  EXPECT_NEAR(r.weight[0], 1.5 * a / (a + b), 1e-6);
  EXPECT_NEAR(r.weight[1], 1.5 * b / (a + b), 1e-6);
}

TEST_F(MoeTest, TheScalingFactorIsAppliedOnce) {
  const Routed r = RouteOf(stream(), {1, -2, 3, 0}, {0, 0, 0, 0}, 3, 4.0f);
  EXPECT_NEAR(r.weight[0] + r.weight[1] + r.weight[2], 4.0, 1e-5);
}

TEST_F(MoeTest, TheBiasMovesTheChoiceAndNotTheWeight) {
  const Routed r = RouteOf(stream(), {1, -2, 3, 0}, {0, 1000, 0, 0}, 2);
  EXPECT_EQ(r.idx, (std::vector<int32_t>{1, 2}));
  const double a = ScoreOf(-2), b = ScoreOf(3);
  EXPECT_NEAR(r.weight[0], 1.5 * a / (a + b), 1e-6);
}

TEST_F(MoeTest, TiesGoToTheSmallerExpert) {
  EXPECT_EQ(RouteOf(stream(), {1, 2, 2, 2, 1}, std::vector<float>(5, 0.0f), 2).idx,
            (std::vector<int32_t>{1, 2}));
}

TEST_F(MoeTest, ASingleExpertIsNotNormalised) {
  EXPECT_NEAR(RouteOf(stream(), {1, 2}, {0, 0}, 1).weight[0], 1.5 * ScoreOf(2), 1e-6);
}

TEST_F(MoeTest, LargeLogitsDoNotOverflow) {
  EXPECT_NEAR(RouteOf(stream(), {100, 2}, {0, 0}, 1).weight[0], 15, 1e-5);
}

TEST_F(MoeTest, ImageRowsHaveTheirOwnBias) {
  const TestTensor x = F32({2, 1}, {1, 1}), gate = Bf16({3, 1}, {1, 1, 1});
  const TestTensor bias = F32({3}, {1, 0, 0}), bias_vl = F32({3}, {0, 0, 1});
  const TestTensor is_image = U8({2}, {0, 1}), idx = I32({2, 1}), weight = F32({2, 1});
  ops::Route(stream(), {.x = x,
                        .gate = {gate, {}},
                        .bias = bias,
                        .bias_vl = bias_vl,
                        .is_image = is_image,
                        .expert_idx = idx,
                        .expert_weight = weight});
  EXPECT_EQ(idx.view().as<int32_t>()[0], 0);
  EXPECT_EQ(idx.view().as<int32_t>()[1], 2);
}

// One row through expert 0 and the shared expert, both with gate and up in channel 0.
struct Activations {
  float routed = 0, shared = 0;
};

struct UpOptions {
  float gate = 1, up = 1, weight = 1, limit = 10;
  Numerics numerics = Numerics::kFp32;
};

Activations Up(backend::Stream& stream, UpOptions o) {
  constexpr int64_t kWidth = 32;
  const DType act = o.numerics == Numerics::kFp32 ? DType::kF32 : DType::kBF16;
  const TestTensor x = act == DType::kF32 ? F32({1, 1}, {1}) : Bf16({1, 1}, {1});
  const TestTensor w1 = F32({kWidth, 1}, OneHot(kWidth, 0, o.gate));
  const TestTensor w3 = F32({kWidth, 1}, OneHot(kWidth, 0, o.up));
  const TestTensor w2 = F32({1, kWidth});
  const ops::ExpertWeights expert = {{w1, {}}, {w3, {}}, {w2, {}}};
  const std::array<ops::ExpertWeights, 1> experts = {expert};
  const TestTensor idx = I32({1, 1}, {0}), weight = F32({1, 1}, {o.weight});
  const TestTensor a(act, {1, 1, kWidth}), a_shared(act, {1, kWidth});
  ops::MoeUp(stream, {.numerics = o.numerics,
                      .x = x,
                      .experts = experts,
                      .shared = &expert,
                      .expert_idx = idx,
                      .expert_weight = weight,
                      .swiglu_limit = o.limit,
                      .a = a,
                      .a_shared = a_shared});
  return {a[0], a_shared[0]};
}

double SiluOf(double g) { return g / (1 + std::exp(-g)); }

TEST_F(MoeTest, GateIsClampedAboveAndUpOnBothSides) {
  EXPECT_NEAR(Up(stream(), {.gate = 50, .up = 1}).routed, SiluOf(10), 1e-5);
  EXPECT_NEAR(Up(stream(), {.gate = 1, .up = 50}).routed, SiluOf(1) * 10, 1e-5);
  EXPECT_NEAR(Up(stream(), {.gate = 1, .up = -50}).routed, SiluOf(1) * -10, 1e-5);
}

TEST_F(MoeTest, GateHasNoLowerClamp) {
  const float a = Up(stream(), {.gate = -15, .up = 10}).routed;
  EXPECT_NEAR(a, SiluOf(-15) * 10, 1e-8);
  EXPECT_GT(std::fabs(a - SiluOf(-10) * 10), 1e-4);
  EXPECT_EQ(Up(stream(), {.gate = -200, .up = 10}).routed, 0.0f);  // no NaN
}

TEST_F(MoeTest, ALimitOfZeroSwitchesTheClampOff) {
  EXPECT_NEAR(Up(stream(), {.gate = 50, .up = -60, .limit = 0}).routed, -3000, 1e-3);
}

TEST_F(MoeTest, TheSharedExpertHasWeightOne) {
  const Activations a = Up(stream(), {.gate = 2, .up = 3, .weight = 0.25f});
  EXPECT_NEAR(a.shared, SiluOf(2) * 3, 1e-5);
  EXPECT_NEAR(a.routed, SiluOf(2) * 3 / 4, 1e-5);
}

TEST_F(MoeTest, TheWeightIsAppliedInFrontOfTheQuantiser) {
  // Powers of two move through Q8 unchanged, 1.5 does not: a step of e4m3 is an eighth.
  const UpOptions base = {.gate = 2, .up = 3.3f, .numerics = Numerics::kProduction};
  const float one = Up(stream(), base).routed;
  UpOptions scaled = base;
  scaled.weight = 0x1p-5f;
  EXPECT_EQ(Up(stream(), scaled).routed, one * 0x1p-5f);
  scaled.weight = 1.43f;
  const float routed = Up(stream(), scaled).routed;
  EXPECT_NE(routed, RoundToBf16(one * 1.43f));
  EXPECT_NEAR(routed, SiluOf(2) * 3.3 * 1.43, 0.07 * routed);
  EXPECT_EQ(Up(stream(), scaled).shared, one);
}

TEST_F(MoeTest, GateAndUpAreRoundedInFrontOfTheClamp) {
  // 1 + 2^-9 rounds to 1 in bf16.
  EXPECT_EQ(Up(stream(), {.gate = 2, .up = 1 + 0x1p-9f, .numerics = Numerics::kBf16}).routed,
            Up(stream(), {.gate = 2, .up = 1, .numerics = Numerics::kBf16}).routed);
}

TEST_F(MoeTest, DownWritesTheSharedExpertLast) {
  // Two of three experts: each multiplies its single activation by its number; shared by 100.
  std::vector<TestTensor> w;
  for (const float value : {1.0f, 2.0f, 3.0f, 100.0f}) w.push_back(F32({1, 1}, {value}));
  std::vector<ops::ExpertWeights> experts(3);
  for (size_t e = 0; e < 3; ++e) experts[e].w2 = {w[e], {}};
  const ops::ExpertWeights shared = {{}, {}, {w[3], {}}};
  const TestTensor a = F32({1, 2, 1}, {5, 7}), a_shared = F32({1, 1}, {9});
  const TestTensor idx = I32({1, 2}, {0, 2}), y = F32({1, 3, 1});
  ops::MoeDown(stream(), {.a = a,
                          .a_shared = a_shared,
                          .expert_idx = idx,
                          .experts = experts,
                          .shared = &shared,
                          .y = y});
  EXPECT_EQ(y.values(), (std::vector<float>{5, 21, 900}));
}

}  // namespace
}  // namespace deepinfer::ref
