// Attention against values computed by hand.
#include "backend/ops/attention.h"

#include <cmath>
#include <limits>

#include "backend/ref/test_tensor.h"
#include "tensor/quantize.h"

namespace deepinfer::ref {
namespace {

using AttentionTest = RefTest;

constexpr float kNoSink = -1e30f;  // takes no part of the denominator
constexpr int64_t kWidth = 32;
constexpr int64_t kRecordBytes = ops::Fp8RecordBytes(kWidth);

// --- the rotation

std::vector<float> CosSinOf(backend::Stream& stream, int32_t position, float freq,
                            int32_t multiple) {
  const TestTensor positions = I32({1}, {position}), freqs = F32({1}, {freq});
  const TestTensor cos_sin = F32({1, 1, 2});
  ops::RopeCosSin(
      stream, {.positions = positions, .freqs = freqs, .multiple = multiple, .cos_sin = cos_sin});
  return cos_sin.values();
}

TEST_F(AttentionTest, AnglesAreAccurateFarOut) {
  for (const int32_t position : {1000003, (1 << 20) - 1, 524287}) {
    const std::vector<float> c = CosSinOf(stream(), position, 1.0f, 1);
    EXPECT_EQ(c[0], static_cast<float>(std::cos(static_cast<double>(position))));
    EXPECT_EQ(c[1], static_cast<float>(std::sin(static_cast<double>(position))));
    EXPECT_NEAR(c[0] * c[0] + c[1] * c[1], 1, 1e-6);  // no factor on cos and sin
  }
}

TEST_F(AttentionTest, TheAngleIsAnFp32Product) {
  const float freq = 0.7498942f, position = 999999;
  const std::vector<float> c = CosSinOf(stream(), 999999, freq, 1);
  EXPECT_EQ(c[0], static_cast<float>(std::cos(static_cast<double>(position * freq))));
}

TEST_F(AttentionTest, AnEntryIsRotatedAtItsFirstToken) {
  // Ratio 2: entry 3 closes at token 7 and stands at position 6.
  EXPECT_EQ(CosSinOf(stream(), 7, 0.5f, 2), CosSinOf(stream(), 6, 0.5f, 1));
  EXPECT_EQ(CosSinOf(stream(), 6, 0.5f, 2), CosSinOf(stream(), 6, 0.5f, 1));
}

// --- projections

// cos and sin of two pairs: the quarter turn, and (0.6, 0.8).
TestTensor TwoPairs() { return F32({1, 2, 2}, {0, 1, 0.6f, 0.8f}); }

std::vector<float> QueryOf(backend::Stream& stream, const std::vector<float>& qr, float factor) {
  std::vector<float> w = Identity(kWidth);
  for (float& value : w) value *= factor;
  const TestTensor x = F32({1, kWidth}, qr), weight = F32({kWidth, kWidth}, w);
  const TestTensor cos_sin = TwoPairs(), q = F32({1, 1, kWidth});
  ops::QB(stream, {.qr = x, .wq_b = {weight, {}}, .cos_sin = cos_sin, .q = q});
  return q.values();
}

TEST_F(AttentionTest, RotatesInterleavedPairsOfTheTrailingChannels) {
  // Pair 0 is channels 28 and 29, turned by 90 degrees; pair 1 is 30 and 31.
  EXPECT_EQ(QueryOf(stream(), OneHot(kWidth, 28), 1), OneHot(kWidth, 29));
  EXPECT_EQ(QueryOf(stream(), OneHot(kWidth, 29), 1), OneHot(kWidth, 28, -1));
  std::vector<float> expected = OneHot(kWidth, 30, 0.6f);
  expected[31] = 0.8f;
  EXPECT_EQ(QueryOf(stream(), OneHot(kWidth, 30), 1), expected);
  expected = OneHot(kWidth, 30, -0.8f);
  expected[31] = 0.6f;
  EXPECT_EQ(QueryOf(stream(), OneHot(kWidth, 31), 1), expected);
  EXPECT_EQ(QueryOf(stream(), OneHot(kWidth, 27), 1), OneHot(kWidth, 27));
}

TEST_F(AttentionTest, QueriesHaveNoNorm) {
  EXPECT_EQ(QueryOf(stream(), OneHot(kWidth, 3), 3), OneHot(kWidth, 3, 3));
}

TEST_F(AttentionTest, IndexQueriesAreQuantisedAndNothingElse) {
  // A Hadamard rotation would spread the one.
  const TestTensor x = F32({1, 2}, {5, 7}), qr = F32({1, kWidth}, OneHot(kWidth, 3, 1.3f));
  std::vector<float> two_heads = Identity(kWidth);
  two_heads.resize(2 * kWidth * kWidth, 0.0f);
  const TestTensor wq_b = F32({kWidth, kWidth}, Identity(kWidth));
  const TestTensor index_wq_b = F32({2 * kWidth, kWidth}, two_heads);
  const TestTensor proj = Bf16({2, 2}, {1, 1, 0, -1}), cos_sin = TwoPairs();
  const TestTensor q = F32({1, 1, kWidth}), index_q = F32({1, 2, kWidth}), index_w = F32({1, 2});
  ops::QB(stream(), {.qr = qr,
                     .wq_b = {wq_b, {}},
                     .cos_sin = cos_sin,
                     .q = q,
                     .x = x,
                     .index_wq_b = {index_wq_b, {}},
                     .weights_proj = {proj, {}},
                     .index_q = index_q,
                     .index_w = index_w});
  // 1.3: scale 2^-2, 5.2 rounds to 6; 6 / 4 = 1.5.  The second head has no weights.
  EXPECT_EQ(index_q.values(), OneHot(2 * kWidth, 3, 1.5f));
  EXPECT_EQ(index_w.values(), (std::vector<float>{12, -7}));
}

// The window record of x through an identity projection, dequantised.
std::vector<float> RecordOf(backend::Stream& stream, const std::vector<float>& x) {
  const TestTensor input = F32({1, kWidth}, x), w = F32({kWidth, kWidth}, Identity(kWidth));
  const TestTensor norm = Bf16({kWidth}, std::vector<float>(kWidth, 1.0f)), cos_sin = TwoPairs();
  const TestTensor qr = F32({1, kWidth}), record = U8({1, kRecordBytes});
  ops::QkvA(stream, {.x = input,
                     .wq_a = {w, {}},
                     .wkv = {w, {}},
                     .q_norm = norm,
                     .kv_norm = norm,
                     .cos_sin = cos_sin,
                     .rms_norm_eps = 1e-20f,
                     .qr = qr,
                     .kv_record = record});
  std::vector<float> values(kWidth);
  const uint8_t* bytes = record.view().as<uint8_t>();
  DequantizeQ8(bytes, bytes + kWidth, kWidth, values.data());
  return values;
}

TEST_F(AttentionTest, TheKvNormRunsOverTheRotatedChannelsToo) {
  std::vector<float> x = OneHot(kWidth, 0);
  EXPECT_NEAR(RecordOf(stream(), x)[0], std::sqrt(32.0), 0.3);
  x[28] = 7;  // a rotated channel
  EXPECT_NEAR(RecordOf(stream(), x)[0], std::sqrt(32.0 / 50), 0.05);
}

TEST_F(AttentionTest, TheKvRecordIsRotatedBehindTheNorm) {
  const std::vector<float> record = RecordOf(stream(), OneHot(kWidth, 28));
  EXPECT_EQ(record[28], 0.0f);
  EXPECT_NEAR(record[29], std::sqrt(32.0), 0.3);
}

TEST_F(AttentionTest, ModePHandsOutAQuantisedQr) {
  std::vector<float> x(kWidth, 0.0f);
  x[0] = 1;
  x[1] = 0.3f;
  const TestTensor input = Bf16({1, kWidth}, x), w = Bf16({kWidth, kWidth}, Identity(kWidth));
  const TestTensor norm = Bf16({kWidth}, std::vector<float>(kWidth, 1.0f)), cos_sin = TwoPairs();
  const TestTensor plain = Bf16({1, kWidth}), quantised = Bf16({1, kWidth});
  const TestTensor record = U8({1, kRecordBytes});
  for (const bool production : {false, true}) {
    ops::QkvA(stream(), {.numerics = production ? Numerics::kProduction : Numerics::kBf16,
                         .x = input,
                         .wq_a = {w, {}},
                         .wkv = {w, {}},
                         .q_norm = norm,
                         .kv_norm = norm,
                         .cos_sin = cos_sin,
                         .rms_norm_eps = 1e-20f,
                         .qr = production ? quantised : plain,
                         .kv_record = record});
  }
  std::vector<float> expected = plain.values();
  FakeQuantQ8(expected.data(), kWidth);
  EXPECT_EQ(quantised.values(), expected);
  EXPECT_NE(quantised.values(), plain.values());
}

// --- the core

// One head over a window, queries 0 unless given.  Keys are put in by position.
class Attention {
 public:
  Attention(int32_t window, int32_t num_computed_tokens, int32_t num_new_tokens)
      : batch_(num_computed_tokens, num_new_tokens),
        num_computed_(num_computed_tokens),
        num_new_(num_new_tokens),
        window_(window),
        ring_len_(window + 6),
        ring_(U8({1, (window + 6) * kRecordBytes})),
        records_(U8({num_new_tokens, kRecordBytes})),
        pages_(U8({5, ops::kBlockSize * ops::Fp4MainRecordBytes(kWidth)})),
        q_(F32({num_new_tokens, 1, kWidth})),
        cos_sin_(F32({num_new_tokens, 1, 2})) {
    for (int32_t t = 0; t < num_new_tokens; ++t) cos_sin_.as<float>()[2 * t] = 1;  // no turn
  }

  void SetKey(int32_t position, const std::vector<float>& key) {
    uint8_t* record = position < num_computed_
                          ? ring_.as<uint8_t>() + position % ring_len_ * kRecordBytes
                          : records_.as<uint8_t>() + (position - num_computed_) * kRecordBytes;
    QuantizeQ8(key.data(), kWidth, record, record + kWidth);
  }
  void SetEntry(int32_t entry, const std::vector<float>& key) {  // ratio 1, first block
    uint8_t* record =
        pages_.as<uint8_t>() + pages_.view().row_bytes() + entry * ops::Fp4MainRecordBytes(kWidth);
    QuantizeQ4s(key.data(), kWidth, record, record + kWidth / 2);
  }
  void Select(const std::vector<int32_t>& entries) {  // of every row
    const int64_t count = static_cast<int64_t>(entries.size());
    sel_ = I32({num_new_, count});
    sel_count_ = I32({num_new_});
    for (int32_t t = 0; t < num_new_; ++t) {
      std::copy(entries.begin(), entries.end(), sel_.as<int32_t>() + t * count);
      sel_count_.as<int32_t>()[t] = static_cast<int32_t>(count);
    }
  }
  void SetQuery(int32_t row, const std::vector<float>& q) {
    std::copy(q.begin(), q.end(), q_.as<float>() + row * kWidth);
  }
  void SetTurn(int32_t row, float cos, float sin) {
    cos_sin_.as<float>()[2 * row] = cos;
    cos_sin_.as<float>()[2 * row + 1] = sin;
  }

  // The output of row `row`.
  std::vector<float> Run(backend::Stream& stream, int32_t row, float sink,
                         Numerics numerics = Numerics::kFp32) {
    const DType act = numerics == Numerics::kFp32 ? DType::kF32 : DType::kBF16;
    TestTensor q = act == DType::kF32 ? F32({num_new_, 1, kWidth}, q_.values())
                                      : Bf16({num_new_, 1, kWidth}, q_.values());
    const TestTensor out(act, {num_new_, kWidth});
    const TestTensor attn_sink = F32({1}, {sink});
    ops::SparseAttentionArgs args = {.numerics = numerics,
                                     .batch = batch_.view(),
                                     .q = q,
                                     .kv_record = records_,
                                     .ring = {.pool = ring_, .offset = 0, .ring_len = ring_len_},
                                     .window = window_,
                                     .sel = sel_,
                                     .sel_count = sel_count_,
                                     .attn_sink = attn_sink,
                                     .cos_sin = cos_sin_,
                                     .softmax_scale = 0.5f,
                                     .out = out};
    if (!args.sel.empty()) {
      args.pages = {.pool = pages_, .offset = 0, .entries_per_block = ops::kBlockSize};
    }
    ops::SparseAttention(stream, args);
    const std::vector<float> all = out.values();
    return {all.begin() + row * kWidth, all.begin() + (row + 1) * kWidth};
  }

 private:
  TestBatch batch_;
  int32_t num_computed_, num_new_, window_, ring_len_;
  TestTensor ring_, records_, pages_, q_, cos_sin_, sel_, sel_count_;
};

TEST_F(AttentionTest, TheSinkJoinsTheDenominatorOnlyAndIsNotScaled) {
  Attention attention(4, 0, 1);
  attention.SetKey(0, std::vector<float>(kWidth, 8));
  EXPECT_EQ(attention.Run(stream(), 0, 0), std::vector<float>(kWidth, 4));
  const std::vector<float> quarter = attention.Run(stream(), 0, std::log(3.0f));
  for (const float value : quarter) EXPECT_NEAR(value, 2, 1e-6);
}

TEST_F(AttentionTest, AHugeSinkGivesZero) {
  Attention attention(4, 0, 1);
  attention.SetKey(0, std::vector<float>(kWidth, 8));
  EXPECT_EQ(attention.Run(stream(), 0, 200), std::vector<float>(kWidth, 0));
}

TEST_F(AttentionTest, TheWindowCountsTheQueryItself) {
  // Window 8 at position 20: the keys of positions 13 .. 20, an eighth each.
  for (const int32_t num_computed : {20, 15}) {  // all but one from the ring, or both sources
    Attention attention(8, num_computed, 21 - num_computed);
    for (int32_t p = num_computed - 13; p <= 20; ++p) attention.SetKey(p, OneHot(kWidth, p, 8));
    const std::vector<float> out = attention.Run(stream(), 20 - num_computed, kNoSink);
    for (int32_t c = 0; c < kWidth; ++c) EXPECT_EQ(out[c], c >= 13 && c <= 20 ? 1 : 0) << c;
  }
}

TEST_F(AttentionTest, EarlierRowsOfTheStepDoNotSeeLaterOnes) {
  Attention attention(8, 0, 3);
  for (int32_t p = 0; p < 3; ++p) attention.SetKey(p, OneHot(kWidth, p, 8));
  EXPECT_EQ(attention.Run(stream(), 0, kNoSink), OneHot(kWidth, 0, 8));
  std::vector<float> two = OneHot(kWidth, 0, 4);
  two[1] = 4;
  EXPECT_EQ(attention.Run(stream(), 1, kNoSink), two);
}

TEST_F(AttentionTest, ATokenMayCountTwice) {
  // Ratio 1 at position 2: three window keys and three entries, a sixth each.
  Attention attention(8, 0, 3);
  for (int32_t p = 0; p < 3; ++p) {
    attention.SetKey(p, OneHot(kWidth, p, 6));
    attention.SetEntry(p, OneHot(kWidth, p, 12));
  }
  attention.Select({0, 1, 2});
  const std::vector<float> out = attention.Run(stream(), 2, kNoSink);
  for (int32_t c = 0; c < 3; ++c) EXPECT_NEAR(out[c], 3, 1e-6);
}

TEST_F(AttentionTest, OnlySelectedEntriesAreSeen) {
  Attention attention(1, 5, 1);
  attention.SetKey(5, OneHot(kWidth, 31, 6));
  for (int32_t j = 0; j < 6; ++j) attention.SetEntry(j, OneHot(kWidth, j, 6));
  attention.Select({1, 4});
  const std::vector<float> out = attention.Run(stream(), 0, kNoSink);
  for (const int32_t c : {1, 4, 31}) EXPECT_NEAR(out[c], 2, 1e-6);
  EXPECT_EQ(out[0], 0.0f);
}

TEST_F(AttentionTest, WeighsKeysByTheExponentialOfTheScaledScore) {
  Attention attention(8, 0, 2);
  attention.SetKey(0, OneHot(kWidth, 0, 2));
  attention.SetKey(1, OneHot(kWidth, 1, 2));
  attention.SetQuery(1, OneHot(kWidth, 0, 3));  // scores 3 * 2 / 2 = 3 and 0
  const std::vector<float> out = attention.Run(stream(), 1, 1.0f);
  const double e = std::exp(-3.0), den = 1 + e + std::exp(1.0 - 3.0);
  EXPECT_NEAR(out[0], 2 / den, 1e-6);
  EXPECT_NEAR(out[1], 2 * e / den, 1e-6);
}

TEST_F(AttentionTest, Bf16ModesRoundTheTermsButNotTheirSum) {
  // The second term is exp(-0.40625) = 0.66614, in bf16 0.66797.  448 * 0.66614 / 1.66614 = 179.12;
  // with the rounded term above 179.61, with it below too 179.41.
  Attention attention(8, 0, 2);
  attention.SetKey(0, OneHot(kWidth, 0, 2));
  attention.SetKey(1, OneHot(kWidth, 1, 448));
  attention.SetQuery(1, OneHot(kWidth, 0, 0.40625f));
  EXPECT_NEAR(attention.Run(stream(), 1, kNoSink)[1], 179.1156, 1e-3);
  EXPECT_EQ(attention.Run(stream(), 1, kNoSink, Numerics::kBf16)[1], 180.0f);
}

TEST_F(AttentionTest, TheOutputIsTurnedBack) {
  Attention attention(4, 0, 1);
  attention.SetKey(0, OneHot(kWidth, 31, 8));
  attention.SetTurn(0, 0, 1);  // a quarter turn: forward takes channel 30 to 31
  EXPECT_EQ(attention.Run(stream(), 0, kNoSink), OneHot(kWidth, 30, 8));
}

TEST_F(AttentionTest, ModePQuantisesTheUnroundedOutput) {
  // Row 2 sees three keys, a third each.  Channel 0 sets the scale.
  Attention attention(8, 0, 3);
  for (int32_t p = 0; p < 3; ++p) attention.SetKey(p, std::vector<float>(kWidth, p == 0 ? 10 : 0));
  std::vector<float> expected = attention.Run(stream(), 2, kNoSink);
  EXPECT_NEAR(expected[0], 10.0 / 3, 1e-6);
  FakeQuantQ8(expected.data(), kWidth);
  EXPECT_EQ(attention.Run(stream(), 2, kNoSink, Numerics::kProduction), expected);
}

TEST_F(AttentionTest, TheRingKeepsTheLastRecords) {
  const TestBatch batch(3, 7);  // positions 3 .. 9 into a ring of 4
  TestTensor records = U8({7, 1}, {3, 4, 5, 6, 7, 8, 9}), pool = U8({1, 6}, {99, 0, 0, 0, 0, 98});
  ops::WindowWrite(stream(), {.batch = batch.view(),
                              .kv_record = records,
                              .ring = {.pool = pool, .offset = 1, .ring_len = 4}});
  const uint8_t* bytes = pool.as<uint8_t>();
  EXPECT_EQ(std::vector<uint8_t>(bytes, bytes + 6), (std::vector<uint8_t>{99, 8, 9, 6, 7, 98}));
}

}  // namespace
}  // namespace deepinfer::ref
