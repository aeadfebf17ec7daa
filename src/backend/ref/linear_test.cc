// Stored weights and projections against values computed by hand.
#include "backend/ops/linear.h"

#include "backend/ref/test_tensor.h"

namespace deepinfer::ref {
namespace {

using LinearTest = RefTest;

// The weight itself: y = I W^T, so y[k][n] = w[n][k].
std::vector<float> Dequantized(backend::Stream& stream, const ops::WeightView& weight) {
  const int64_t n = weight.num_rows(), k = weight.num_cols();
  const TestTensor x = F32({k, k}, Identity(k)), y = F32({k, n});
  ops::Linear(stream, {.x = x, .weight = weight, .y = y});
  std::vector<float> w(n * k);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < k; ++j) w[i * k + j] = y[j * n + i];
  }
  return w;
}

TEST_F(LinearTest, MultipliesByTheTransposedWeight) {
  const TestTensor x = F32({2, 3}, {1, 2, 3, 0, -1, 1});
  const TestTensor w = F32({2, 3}, {1, 0, 2, 4, 5, 6}), y = F32({2, 2});
  ops::Linear(stream(), {.x = x, .weight = {w, {}}, .y = y});
  EXPECT_EQ(y.values(), (std::vector<float>{7, 32, 2, 1}));
}

TEST_F(LinearTest, RoundsOnceToTheDtypeOfY) {
  // 1 + 2^-8 is the tie between two bf16 numbers; the sum of the halves is exact in fp32.
  const TestTensor x = Bf16({1, 2}, {1, 0x1p-8f}), w = Bf16({1, 2}, {1, 1});
  const TestTensor rounded = Bf16({1, 1}), exact = F32({1, 1});
  ops::Linear(stream(), {.x = x, .weight = {w, {}}, .y = rounded});
  ops::Linear(stream(), {.x = x, .weight = {w, {}}, .y = exact});
  EXPECT_EQ(rounded[0], 1.0f);
  EXPECT_EQ(exact[0], 1.00390625f);
}

TEST_F(LinearTest, F4TakesTheLowNibbleFirst) {
  std::vector<uint8_t> codes(16, 0);
  codes[0] = 0x21;
  const TestTensor data = Filled<uint8_t>(DType::kF4E2M1, {1, 32}, codes);
  const TestTensor scale = Filled<uint8_t>(DType::kUE8M0, {1, 1}, {127});
  const std::vector<float> w = Dequantized(stream(), {data, scale});
  EXPECT_EQ(w[0], 0.5f);
  EXPECT_EQ(w[1], 1.0f);
}

TEST_F(LinearTest, F4HasOneScaleForEachRowAnd32Columns) {
  const TestTensor data =
      Filled<uint8_t>(DType::kF4E2M1, {2, 64}, std::vector<uint8_t>(64, 0x22));  // ones
  const TestTensor scale = Filled<uint8_t>(DType::kUE8M0, {2, 2}, {127, 128, 129, 120});
  const std::vector<float> w = Dequantized(stream(), {data, scale});
  EXPECT_EQ(w[0], 1.0f);
  EXPECT_EQ(w[32], 2.0f);
  EXPECT_EQ(w[64], 4.0f);          // the second row of the same 32 rows has its own
  EXPECT_EQ(w[64 + 32], 0x1p-7f);  // a scale byte is an exponent: 120 is 2^-7
}

TEST_F(LinearTest, F8HasOneScaleForEach32x32Tile) {
  const TestTensor data =
      Filled<uint8_t>(DType::kF8E4M3, {40, 70}, std::vector<uint8_t>(40 * 70, 0x38));  // ones
  const TestTensor scale = Filled<uint8_t>(DType::kUE8M0, {2, 3}, {127, 128, 129, 126, 125, 124});
  const std::vector<float> w = Dequantized(stream(), {data, scale});
  EXPECT_EQ(w[31 * 70 + 31], 1.0f);
  EXPECT_EQ(w[31 * 70 + 32], 2.0f);
  EXPECT_EQ(w[0 * 70 + 69], 4.0f);
  EXPECT_EQ(w[32 * 70 + 0], 0.5f);
  EXPECT_EQ(w[39 * 70 + 69], 0.125f);
}

TEST_F(LinearTest, QuantisedOutputIsQ8OfTheUnroundedSum) {
  // 450 forces the scale 2^1.  2.125 / 2 = 1.0625 is a tie of e4m3 and goes to 1.0; 2.12501 lies
  // above it and goes to 1.125.  A bf16 rounding in front would make both the same.
  std::vector<float> w(32 * 1, 0.0f);
  w[0] = 450;
  w[1] = 2.125f;
  w[2] = 2.12501f;
  const TestTensor x = Bf16({1, 1}, {1}), weight = F32({32, 1}, w), y = Bf16({1, 32});
  ops::Linear(stream(),
              {.x = x, .weight = {weight, {}}, .y = y, .output = ops::OutputFormat::kQuantized});
  EXPECT_EQ(y[0], 448.0f);
  EXPECT_EQ(y[1], 2.0f);
  EXPECT_EQ(y[2], 2.25f);
}

TEST_F(LinearTest, GroupsAreBlocksOnTheDiagonal) {
  // Two groups of 2 inputs and 1 output: rows 0 and 1 of the weight see different halves of x.
  const TestTensor x = F32({1, 4}, {1, 2, 10, 20}), w = F32({2, 2}, {1, 1, 3, 5});
  const TestTensor y = F32({1, 2});
  ops::GroupedLinear(stream(), {.x = x, .weight = {w, {}}, .num_groups = 2, .y = y});
  EXPECT_EQ(y.values(), (std::vector<float>{3, 130}));
}

TEST_F(LinearTest, GroupsMayStartInsideATile) {
  // Three groups of 16 rows over tiles of 32: the second group reads the first tile's scale.
  const TestTensor data =
      Filled<uint8_t>(DType::kF8E4M3, {48, 32}, std::vector<uint8_t>(48 * 32, 0x38));
  const TestTensor scale = Filled<uint8_t>(DType::kUE8M0, {2, 1}, {127, 128});
  std::vector<float> ones(3 * 32, 0.0f);
  ones[0] = ones[32] = ones[64] = 1;
  const TestTensor x = F32({1, 96}, ones), y = F32({1, 48});
  ops::GroupedLinear(stream(), {.x = x, .weight = {data, scale}, .num_groups = 3, .y = y});
  EXPECT_EQ(y[16], 1.0f);
  EXPECT_EQ(y[31], 1.0f);
  EXPECT_EQ(y[32], 2.0f);
}

}  // namespace
}  // namespace deepinfer::ref
