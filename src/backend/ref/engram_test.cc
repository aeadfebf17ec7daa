// Engram against known answers and values computed by hand.
#include "backend/ops/engram.h"

#include <cmath>
#include <set>

#include "backend/ref/test_tensor.h"

namespace deepinfer::ref {
namespace {

using EngramTest = RefTest;

constexpr int64_t kNumHeads = 8, kMaxNgram = 4, kNumHashes = (kMaxNgram - 1) * kNumHeads;
constexpr int32_t kPad = 2, kHistoryLen = 9;

bool IsPrime(int64_t n) {
  for (int64_t d = 2; d * d <= n; ++d) {
    if (n % d == 0) return false;
  }
  return n >= 2;
}

// The hash of the released layer 1 over an identity map of ids, with its look-back ring.
class Hasher {
 public:
  Hasher()
      : map_(I32({1000})),
        multipliers_(
            Filled<int64_t>(DType::kI64, {1, kMaxNgram},
                            {76632096046245, 4839876093313, 35959672319349, 73987337458391})),
        primes_(DType::kI64, {1, kNumHashes}),
        offsets_(DType::kI64, {1, kNumHashes}),
        history_(U8({1, kHistoryLen * 4})) {
    for (int32_t i = 0; i < 1000; ++i) map_.as<int32_t>()[i] = i;
    std::set<int64_t> seen;
    int64_t offset = 0;
    for (int64_t ngram = 0; ngram < kMaxNgram - 1; ++ngram) {
      int64_t current = 16000000 - 1;
      for (int64_t k = ngram * kNumHeads; k < (ngram + 1) * kNumHeads; ++k) {
        do ++current;
        while (!IsPrime(current) || seen.count(current) > 0);
        seen.insert(current);
        primes_.as<int64_t>()[k] = current;
        offsets_.as<int64_t>()[k] = offset;
        offset += current;
      }
    }
  }

  int32_t* map() { return map_.as<int32_t>(); }

  // Row ids of the tokens fed behind `num_computed` ones.
  std::vector<std::vector<int64_t>> Feed(backend::Stream& stream, int32_t num_computed,
                                         const std::vector<int32_t>& ids,
                                         const std::vector<uint8_t>& is_image = {}) {
    const int32_t n = static_cast<int32_t>(ids.size());
    const TestBatch batch(num_computed, n);
    const TestTensor token_ids = I32({n}, ids), row_ids(DType::kI64, {1, n, kNumHashes});
    const TestTensor images = is_image.empty() ? TestTensor() : U8({n}, is_image);
    ops::EngramHash(stream, {.batch = batch.view(),
                             .token_ids = token_ids,
                             .is_image = images,
                             .compressed_ids = map_,
                             .multipliers = multipliers_,
                             .primes = primes_,
                             .offsets = offsets_,
                             .pad_id = kPad,
                             .history = {history_, 0, kHistoryLen},
                             .row_ids = row_ids});
    std::vector<std::vector<int64_t>> rows;
    for (int32_t t = 0; t < n; ++t) {
      const int64_t* row = row_ids.view().as<int64_t>() + t * kNumHashes;
      rows.emplace_back(row, row + kNumHashes);
    }
    return rows;
  }

 private:
  TestTensor map_, multipliers_, primes_, offsets_, history_;
};

// Row ids of a token whose look-back is (7, 2, 2, 2).
const std::vector<int64_t> kPadded = {
    8939594,   28321402,  40265357,  55817216,  71147020,  86924254,  110813108, 121427189,
    128454377, 156247504, 165979524, 188168291, 198564788, 211763979, 239563936, 241631034,
    263018334, 286373017, 297618161, 319241270, 333656732, 339279600, 364226324, 373889199};

TEST_F(EngramTest, HashesTheKnownTokens) {
  const std::vector<int64_t> expected = {
      12013311,  19589167,  45006560,  56352444,  73396926,  95085389,  97930840,  125571061,
      139496094, 154390218, 168372840, 187320647, 207399159, 217467923, 232607951, 249747568,
      268309477, 274083286, 289509718, 313233695, 334386990, 342122088, 359270622, 380048014};
  Hasher hasher;
  EXPECT_EQ(hasher.Feed(stream(), 0, {400, 300, 200, 100})[3], expected);
}

TEST_F(EngramTest, PadsInFrontOfTheSequence) {
  Hasher hasher;
  EXPECT_EQ(hasher.Feed(stream(), 0, {7})[0], kPadded);
}

TEST_F(EngramTest, LooksBackAcrossChunks) {
  const std::vector<int32_t> ids = {400, 300, 200, 100, 50, 60, 70, 80, 90, 11, 12, 13};
  Hasher whole;
  const auto expected = whole.Feed(stream(), 0, ids);
  for (const int32_t len : {1, 2, 5, 10}) {
    Hasher split;
    for (int32_t begin = 0; begin < 12; begin += len) {
      const int32_t end = std::min(begin + len, 12);
      const auto rows = split.Feed(stream(), begin, {ids.begin() + begin, ids.begin() + end});
      for (int32_t t = begin; t < end; ++t) EXPECT_EQ(rows[t - begin], expected[t]) << len << t;
    }
  }
}

TEST_F(EngramTest, ADeadPositionHidesEverythingBehindIt) {
  // 7 looks back on an image and, further, on ids that must not be seen.
  Hasher hasher;
  EXPECT_EQ(hasher.Feed(stream(), 0, {400, 300, 200, 7}, {0, 0, 1, 0})[3], kPadded);
  // The same with the image in an earlier chunk, and with an id outside of the map.
  Hasher split;
  split.Feed(stream(), 0, {400, 300, 200}, {0, 0, 1});
  EXPECT_EQ(split.Feed(stream(), 3, {7})[0], kPadded);
  Hasher unmapped;
  EXPECT_EQ(unmapped.Feed(stream(), 0, {400, 300, 1000, 7})[3], kPadded);
  Hasher negative;
  EXPECT_EQ(negative.Feed(stream(), 0, {400, 300, -1, 7})[3], kPadded);
}

TEST_F(EngramTest, ADeadTokenItselfIsAllPad) {
  Hasher hasher;
  const auto rows = hasher.Feed(stream(), 0, {5, 6, 7}, {0, 0, 1});
  Hasher pads;
  EXPECT_EQ(rows[2], pads.Feed(stream(), 0, {kPad, kPad, kPad, kPad})[3]);
}

TEST_F(EngramTest, BosAndEosDoNotStopTheLookBack) {
  Hasher hasher;
  const auto with = hasher.Feed(stream(), 0, {9, 0, 1, 7});  // 0 and 1 are BOS and EOS
  Hasher other;
  EXPECT_NE(with[3], other.Feed(stream(), 0, {8, 0, 1, 7})[3]);
}

TEST_F(EngramTest, GathersRowsWithTheirOwnScales) {
  // Three rows of ones; scales 1, 4 and 2^-7 by row, though all lie in one 32-row tile.
  const TestTensor table = Filled<uint8_t>(DType::kF8E4M3, {3, 32}, std::vector<uint8_t>(96, 0x38));
  const TestTensor scale = Filled<uint8_t>(DType::kUE8M0, {3, 1}, {127, 129, 120});
  const TestTensor ids = Filled<int64_t>(DType::kI64, {1, 3}, {2, 0, 1}), out = F32({1, 96});
  ops::EngramGather(stream(), {.row_ids = ids, .table = table, .scale = scale, .out = out});
  EXPECT_EQ(out[0], 0x1p-7f);
  EXPECT_EQ(out[32], 1.0f);
  EXPECT_EQ(out[95], 4.0f);
}

TEST_F(EngramTest, RefusesRowsOutsideOfTheTable) {
  const TestTensor table = Filled<uint8_t>(DType::kF8E4M3, {3, 32});
  const TestTensor scale = Filled<uint8_t>(DType::kUE8M0, {3, 1}), out = F32({1, 32});
  const TestTensor ids = Filled<int64_t>(DType::kI64, {1, 1}, {3});
  EXPECT_THROW(
      ops::EngramGather(stream(), {.row_ids = ids, .table = table, .scale = scale, .out = out}),
      InternalError);
}

double SigmoidOf(double x) { return 1 / (1 + std::exp(-x)); }

TEST_F(EngramTest, StatisticsRunOverEachStream) {
  // Streams (3, 4) and (30, 40): the same direction, so the same gate for the same key.
  const TestTensor streams = F32({1, 2, 2}, {3, 4, 30, 40});
  const TestTensor kv = F32({1, 6}, {1, 0, 1, 0, 100, 0});
  const TestTensor ones = Bf16({2, 2}, {1, 1, 1, 1});
  ops::EngramInject(
      stream(),
      {.kv = kv, .q_weight = ones, .k_weight = ones, .rms_norm_eps = 1e-20f, .streams = streams});
  const double dot = 3 / std::sqrt(12.5) / std::sqrt(0.5) / std::sqrt(2.0);
  const double gate = SigmoidOf(std::sqrt(dot));
  EXPECT_NEAR(streams[0], 3 + gate * 100, 1e-4);
  EXPECT_EQ(streams[1], 4.0f);
  EXPECT_NEAR(streams[2], 30 + gate * 100, 1e-4);
}

TEST_F(EngramTest, TheGateKeepsTheSignAndHasAFloor) {
  // Opposite directions, and a dot of exactly zero: sqrt(1e-6) = 1e-3.
  const TestTensor streams = F32({1, 2, 2}, {1, 0, 0, 1});
  const TestTensor kv = F32({1, 6}, {-1, 0, 1, 0, 0, 8});
  const TestTensor q = Bf16({2, 2}, {2, 1, 1, 1}), k = Bf16({2, 2}, {0.5f, 1, 1, 1});
  ops::EngramInject(
      stream(),
      {.kv = kv, .q_weight = q, .k_weight = k, .rms_norm_eps = 1e-20f, .streams = streams});
  const double dot = -1 * std::sqrt(2.0) * std::sqrt(2.0) / std::sqrt(2.0);
  EXPECT_NEAR(streams[1], 8 * SigmoidOf(-std::sqrt(-dot)), 1e-5);
  EXPECT_NEAR(streams[3], 1 + 8 * SigmoidOf(1e-3), 1e-5);
}

TEST_F(EngramTest, ImageRowsStayUnchanged) {
  const TestTensor streams = F32({2, 1, 2}, {3, 4, 3, 4});
  const TestTensor kv = F32({2, 4}, {1, 0, 5, 5, 1, 0, 5, 5}), ones = Bf16({1, 2}, {1, 1});
  const TestTensor is_image = U8({2}, {1, 0});
  ops::EngramInject(stream(), {.kv = kv,
                               .q_weight = ones,
                               .k_weight = ones,
                               .is_image = is_image,
                               .rms_norm_eps = 1e-20f,
                               .streams = streams});
  EXPECT_EQ(streams[0], 3.0f);
  EXPECT_GT(streams[2], 6.0f);
}

}  // namespace
}  // namespace deepinfer::ref
