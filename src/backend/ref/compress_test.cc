// The compressor against values computed by hand.
#include "backend/ops/compress.h"

#include <cmath>

#include "backend/ref/test_tensor.h"
#include "tensor/float4.h"
#include "tensor/quantize.h"

namespace deepinfer::ref {
namespace {

using CompressTest = RefTest;

constexpr int64_t kWidth = 32;
constexpr int64_t kMainBytes = ops::Fp4MainRecordBytes(kWidth);
constexpr int64_t kKeyDataBytes = ops::IndexKeyDataBytes(kWidth);
constexpr int32_t kGroupLen = 3;

// A compressor of one sequence whose projections are plain matrices [kWidth, kWidth].
class Compressor {
 public:
  Compressor(int32_t ratio, DType act)
      : ratio_(ratio),
        act_(act),
        wkv_(Bf16({kWidth, kWidth}, Identity(kWidth))),
        wgate_(Bf16({kWidth, kWidth})),
        wk_(Bf16({kWidth, kWidth}, Identity(kWidth))),
        ones_(Bf16({kWidth}, std::vector<float>(kWidth, 1.0f))),
        group_(U8({1, kGroupLen * 2 * kWidth * 4})),
        main_(U8({5, ops::kBlockSize * kMainBytes})),
        keys_(U8({5, ops::kBlockSize * (kKeyDataBytes + 1)})) {}

  TestTensor& wkv() { return wkv_; }
  TestTensor& wgate() { return wgate_; }
  void SetTurn(float cos, float sin) { cos_ = cos, sin_ = sin; }

  // Feeds rows, one a token, behind the `num_computed` ones so far.
  void Feed(backend::Stream& stream, int32_t num_computed,
            const std::vector<std::vector<float>>& rows) {
    const int32_t n = static_cast<int32_t>(rows.size());
    const TestBatch batch(num_computed, n);
    std::vector<float> all, turns;
    for (const auto& row : rows) {
      all.insert(all.end(), row.begin(), row.end());
      turns.insert(turns.end(), {cos_, sin_});
    }
    const TestTensor x = act_ == DType::kF32 ? F32({n, kWidth}, all) : Bf16({n, kWidth}, all);
    const TestTensor cos_sin = F32({n, 1, 2}, turns);
    ops::CompressKvArgs args = {.batch = batch.view(),
                                .compress_ratio = ratio_,
                                .x = x,
                                .wkv = {wkv_, {}},
                                .norm = ones_,
                                .wk = {wk_, {}},
                                .k_norm = ones_,
                                .cos_sin = cos_sin,
                                .rms_norm_eps = 1e-20f,
                                .main_pages = {main_, 0, ops::kBlockSize / ratio_},
                                .key_pages = {keys_, 0, ops::kBlockSize / ratio_}};
    if (ratio_ > 1) {
      args.wgate = {wgate_, {}};
      args.group = {.pool = group_, .offset = 0, .ring_len = kGroupLen};
    }
    ops::CompressKv(stream, args);
  }

  std::vector<float> Entry(int32_t j) const {  // in block 1
    const uint8_t* record = main_.view().as<uint8_t>() + main_.view().row_bytes() + j * kMainBytes;
    std::vector<float> x(kWidth);
    DequantizeQ4s(record, record + kWidth / 2, kWidth, x.data());
    return x;
  }
  std::vector<float> Key(int32_t j) const {
    const uint8_t* block = keys_.view().as<uint8_t>() + keys_.view().row_bytes();
    std::vector<float> x(kWidth);
    DequantizeQ4x(block + j * kKeyDataBytes, block + ops::kBlockSize / ratio_ * kKeyDataBytes + j,
                  kWidth, x.data());
    return x;
  }
  // u (0) and g (1) of a token that waits in the ring.
  std::vector<float> Waiting(int32_t position, int32_t which) const {
    const float* record = group_.view().as<float>() + position % kGroupLen * 2 * kWidth;
    return {record + which * kWidth, record + (which + 1) * kWidth};
  }
  std::vector<uint8_t> MainBytes() const {
    const uint8_t* bytes = main_.view().as<uint8_t>();
    return {bytes, bytes + main_.view().num_bytes()};
  }

 private:
  int32_t ratio_;
  DType act_;
  float cos_ = 1, sin_ = 0;
  TestTensor wkv_, wgate_, wk_, ones_, group_, main_, keys_;
};

// Row with `a` in channel 0 and `b` in channel 16.
std::vector<float> Two(float a, float b) {
  std::vector<float> row = OneHot(kWidth, 0, a);
  row[16] = b;
  return row;
}

TEST_F(CompressTest, RatioOneGivesAnEntryForEachToken) {
  Compressor c(1, DType::kF32);
  c.Feed(stream(), 0, {Two(3, 4), Two(0, 1)});
  // RMS of (3, 4, 0 ...) is 5 / sqrt(32); Q4s keeps the maximum of a group when it is 6 * e4m3.
  const std::vector<float> entry = c.Entry(0);
  EXPECT_NEAR(entry[0], 3 * std::sqrt(32.0) / 5, 0.15);
  EXPECT_NEAR(entry[16], 4 * std::sqrt(32.0) / 5, 0.2);
  EXPECT_NEAR(c.Entry(1)[16], std::sqrt(32.0), 0.25);
}

TEST_F(CompressTest, PoolsOverTheRunForEachChannel) {
  // Channel 0 prefers the second token by 2, channel 16 the first by 1: per channel, not per token.
  Compressor c(2, DType::kF32);
  std::vector<float> gate(kWidth * kWidth, 0.0f);
  gate[0 * kWidth + 1] = 1;   // g_0 = x_1
  gate[16 * kWidth + 2] = 1;  // g_16 = x_2
  c.wgate() = Bf16({kWidth, kWidth}, gate);
  std::vector<float> first = Two(1, 10), second = Two(2, 20);
  second[1] = 2;
  first[2] = 1;
  std::vector<float> pick(kWidth * kWidth, 0.0f);  // u keeps channels 0 and 16
  pick[0] = pick[16 * kWidth + 16] = 1;
  c.wkv() = Bf16({kWidth, kWidth}, pick);
  c.Feed(stream(), 0, {first, second});

  const double p = 1 / (1 + std::exp(-2.0)), q = 1 / (1 + std::exp(1.0));
  const double m0 = 1 * (1 - p) + 2 * p, m16 = 10 * (1 - q) + 20 * q;
  const double factor = std::sqrt(32 / (m0 * m0 + m16 * m16));
  EXPECT_NEAR(c.Entry(0)[0], m0 * factor, 0.05 * m0 * factor);
  EXPECT_NEAR(c.Entry(0)[16], m16 * factor, 0.05 * m16 * factor);
}

TEST_F(CompressTest, NothingIsWrittenBeforeTheRunIsComplete) {
  Compressor c(2, DType::kF32);
  const std::vector<uint8_t> before = c.MainBytes();
  c.Feed(stream(), 0, {Two(1, 2)});
  EXPECT_EQ(c.MainBytes(), before);
  c.Feed(stream(), 1, {Two(1, 2)});
  EXPECT_NE(c.MainBytes(), before);
}

TEST_F(CompressTest, UAndGAreNotRoundedToBf16) {
  Compressor c(2, DType::kBF16);
  std::vector<float> w(kWidth * kWidth, 0.0f);
  w[0] = 1;
  w[1] = 0x1p-10f;
  c.wkv() = Bf16({kWidth, kWidth}, w);
  c.wgate() = Bf16({kWidth, kWidth}, w);
  std::vector<float> row = OneHot(kWidth, 0, 1);
  row[1] = 1;
  c.Feed(stream(), 0, {row});
  EXPECT_EQ(c.Waiting(0, 0)[0], 1 + 0x1p-10f);  // a bf16 has 8 bits
  EXPECT_EQ(c.Waiting(0, 1)[0], 1 + 0x1p-10f);
}

std::vector<std::vector<float>> ThirteenRows() {
  std::vector<std::vector<float>> rows;
  for (int32_t i = 0; i < 13; ++i) {
    std::vector<float> row(kWidth);
    for (int32_t k = 0; k < kWidth; ++k) row[k] = std::sin(static_cast<float>(i * 37 + k * 11));
    rows.push_back(row);
  }
  return rows;
}

TEST_F(CompressTest, ARunMayStraddleChunks) {
  const std::vector<std::vector<float>> rows = ThirteenRows();
  Compressor whole(2, DType::kF32), split(2, DType::kF32);
  for (Compressor* c : {&whole, &split}) c->wgate() = Bf16({kWidth, kWidth}, Identity(kWidth));
  whole.Feed(stream(), 0, rows);
  split.Feed(stream(), 0, {rows.begin(), rows.begin() + 7});
  split.Feed(stream(), 7, {rows.begin() + 7, rows.end()});
  EXPECT_EQ(whole.MainBytes(), split.MainBytes());
  for (int32_t j = 0; j < 6; ++j) EXPECT_EQ(whole.Key(j), split.Key(j)) << j;
  EXPECT_EQ(whole.Waiting(12, 0), split.Waiting(12, 0));  // the open run
}

TEST_F(CompressTest, TheIndexKeyComesFromTheUnrotatedUnquantisedLatent) {
  // A quarter turn of the last pair.  The key passes through an identity, so it is turned once, as
  // the entry is; from the rotated latent it would be turned twice.
  Compressor c(1, DType::kF32);
  c.SetTurn(0, 1);
  std::vector<float> row = OneHot(kWidth, 30, 1);
  row[0] = 0.1f;  // 0.1 of 1: Q4s would turn it into 0, or a twelfth
  c.Feed(stream(), 0, {row});
  EXPECT_EQ(c.Entry(0)[30], 0);
  EXPECT_GT(c.Entry(0)[31], 5);
  const std::vector<float> key = c.Key(0);
  EXPECT_EQ(key[30], 0);
  EXPECT_GT(key[31], 5);
  // Directly: the normed row, turned, then Q4x.
  std::vector<float> expected(kWidth, 0.0f);
  const double factor = std::sqrt(32 / 1.01);
  expected[0] = static_cast<float>(0.1f * factor);
  expected[31] = static_cast<float>(factor);
  FakeQuantQ4x(expected.data(), kWidth);
  EXPECT_EQ(key, expected);
}

TEST_F(CompressTest, EntriesLieInTheBlocksOfTheTable) {
  Compressor c(1, DType::kF32);
  c.Feed(stream(), 126, {Two(1, 0), Two(2, 0), Two(3, 0), Two(4, 0)});
  EXPECT_GT(c.Entry(126)[0], 5);
  EXPECT_GT(c.Entry(127)[0], 5);
  // Entry 128 opens the sequence's second block, which is block 2 of the pool.
  EXPECT_GT(c.Entry(ops::kBlockSize)[0], 5);
  EXPECT_GT(c.Entry(ops::kBlockSize + 1)[0], 5);
}

}  // namespace
}  // namespace deepinfer::ref
