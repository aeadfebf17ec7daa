// Scores and selection against values computed by hand.
#include "backend/ops/indexer.h"

#include <cmath>
#include <limits>

#include "backend/ref/test_tensor.h"
#include "tensor/quantize.h"

namespace deepinfer::ref {
namespace {

using IndexerTest = RefTest;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(NumVisible, CountsCompleteRuns) {
  EXPECT_EQ(ops::NumVisible(0, 2), 0);
  EXPECT_EQ(ops::NumVisible(1, 2), 1);
  EXPECT_EQ(ops::NumVisible(2, 2), 1);
  EXPECT_EQ(ops::NumVisible(3, 2), 2);
  EXPECT_EQ(ops::NumVisible(0, 1), 1);
}

// The selection of one row that sees all of `scores`.
struct Selection {
  std::vector<int32_t> sel, cand;
};

struct SelectOptions {
  int64_t index_topk = 4;
  int64_t num_candidate_blocks = 0;  // 0: publishes none
  int32_t candidate_block_size = 4;
};

Selection Select(backend::Stream& stream, const std::vector<float>& scores,
                 SelectOptions options = {}) {
  const int64_t n = static_cast<int64_t>(scores.size());
  const TestBatch batch(static_cast<int32_t>(n) - 1, 1);
  const TestTensor s = F32({1, n}, scores), sel = I32({1, options.index_topk}), count = I32({1});
  TestTensor cand, cand_count;
  if (options.num_candidate_blocks > 0) {
    cand = I32({1, options.num_candidate_blocks});
    cand_count = I32({1});
  }
  ops::IndexTopK(stream, {.batch = batch.view(),
                          .row_begin = 0,
                          .num_rows = 1,
                          .compress_ratio = 1,
                          .scores = s,
                          .sel = sel,
                          .sel_count = count,
                          .cand = cand,
                          .cand_count = cand_count,
                          .candidate_block_size = options.candidate_block_size});
  // Entries in front of the count, after a look at the filling behind it.
  const auto taken = [](const TensorView& list, const TensorView& list_count) {
    std::vector<int32_t> entries;
    if (list.empty()) return entries;
    for (int64_t i = 0; i < list.dim(1); ++i) {
      const int32_t entry = list.as<int32_t>()[i];
      if (i < list_count.as<int32_t>()[0]) {
        entries.push_back(entry);
      } else {
        EXPECT_EQ(entry, -1);
      }
    }
    return entries;
  };
  return {taken(sel, count), taken(cand, cand_count)};
}

using Ints = std::vector<int32_t>;

TEST_F(IndexerTest, TakesTheLargestInAscendingOrder) {
  EXPECT_EQ(Select(stream(), {1, 9, 3, 8, 2, 7}).sel, (Ints{1, 2, 3, 5}));
}

TEST_F(IndexerTest, EverythingIsSelectedWhenItFits) {
  // Scores are not looked at, up to and with index_topk entries.
  EXPECT_EQ(Select(stream(), {-kInfinity, 5, 1}).sel, (Ints{0, 1, 2}));
  EXPECT_EQ(Select(stream(), {-kInfinity, 5, 1, 2}).sel, (Ints{0, 1, 2, 3}));
}

TEST_F(IndexerTest, EqualScoresGoToTheSmallerIndex) {
  EXPECT_EQ(Select(stream(), {0, 0, 0, 0, 0, 0}).sel, (Ints{0, 1, 2, 3}));
  EXPECT_EQ(Select(stream(), {-1, -0.0f, 0, -0.0f, 0, 0}).sel, (Ints{1, 2, 3, 4}));
  EXPECT_EQ(Select(stream(), {1, 2, 1, 2, 1, 1}).sel, (Ints{0, 1, 2, 3}));
}

TEST_F(IndexerTest, RemovedEntriesAreNeverSelected) {
  EXPECT_EQ(Select(stream(), {-kInfinity, 1, -kInfinity, 2, -kInfinity, -kInfinity}).sel,
            (Ints{1, 3}));
  EXPECT_EQ(Select(stream(), std::vector<float>(6, -kInfinity)).sel, (Ints{}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Select(stream(), {nan, 1, nan, 2, nan, -3}).sel, (Ints{1, 3, 5}));
}

TEST_F(IndexerTest, ACandidateSourceSelectsFromAllVisibleEntries) {
  // One block of 4 may be kept, the newest; the four best lie elsewhere.
  const Selection s = Select(stream(), {9, 8, 7, 6, 5, 4, 3, 2, 1, 0},
                             {.num_candidate_blocks = 1, .candidate_block_size = 4});
  EXPECT_EQ(s.sel, (Ints{0, 1, 2, 3}));
  EXPECT_EQ(s.cand, (Ints{2}));
}

TEST_F(IndexerTest, TheNewestBlockIsAlwaysKept) {
  // 8 entries in blocks of 4: the newest is block 1, and there is no block 2.
  EXPECT_EQ(Select(stream(), {9, 9, 9, 9, 0, 0, 0, 0}, {.num_candidate_blocks = 1}).cand,
            (Ints{1}));
  // 9 entries: block 2 holds one entry.
  EXPECT_EQ(Select(stream(), {9, 9, 9, 9, 8, 8, 8, 8, 0}, {.num_candidate_blocks = 2}).cand,
            (Ints{0, 2}));
}

TEST_F(IndexerTest, BlocksAreRankedByTheirBestEntry) {
  const Selection s =
      Select(stream(), {5, 0, 0, 0, 0, 0, 0, 7, 6, 6, 6, 6, 0}, {.num_candidate_blocks = 2});
  EXPECT_EQ(s.cand, (Ints{1, 3}));
}

TEST_F(IndexerTest, TiedBlocksGoToTheSmallerOne) {
  const Selection s = Select(stream(), std::vector<float>(13, 1.0f), {.num_candidate_blocks = 2});
  EXPECT_EQ(s.cand, (Ints{0, 3}));
}

TEST_F(IndexerTest, ARowThatSelectsEverythingPublishesAllItsBlocks) {
  const Selection s =
      Select(stream(), {1, 2, 3, 4, 5}, {.index_topk = 8, .num_candidate_blocks = 2});
  EXPECT_EQ(s.sel, (Ints{0, 1, 2, 3, 4}));
  EXPECT_EQ(s.cand, (Ints{0, 1}));
}

// --- scores

constexpr int64_t kWidth = 32;

// Scores of one row over one-hot keys: key j has `values[j]` in channel 0.
std::vector<float> ScoresOf(backend::Stream& stream, const std::vector<float>& queries,
                            const std::vector<float>& weights, const std::vector<float>& values,
                            const Ints& cand = {}) {
  const int64_t n = static_cast<int64_t>(values.size());
  const int64_t num_heads = static_cast<int64_t>(weights.size());
  const TestBatch batch(static_cast<int32_t>(n) - 1, 1);
  TestTensor index_q = F32({1, num_heads, kWidth}), index_w = F32({1, num_heads}, weights);
  for (int64_t h = 0; h < num_heads; ++h) index_q.as<float>()[h * kWidth] = queries[h];
  TestTensor pool = U8({5, ops::kBlockSize * (kWidth / 2 + 1)});
  uint8_t* block = pool.as<uint8_t>() + pool.view().row_bytes();
  for (int64_t j = 0; j < n; ++j) {
    QuantizeQ4x(OneHot(kWidth, 0, values[j]).data(), kWidth, block + j * kWidth / 2,
                block + ops::kBlockSize * kWidth / 2 + j);
  }
  TestTensor candidates, cand_count;
  if (!cand.empty()) {
    candidates = I32({1, static_cast<int64_t>(cand.size())}, cand);
    cand_count = I32({1}, {static_cast<int32_t>(cand.size())});
  }
  const TestTensor scores = F32({1, n});
  ops::IndexScore(stream, {.batch = batch.view(),
                           .row_begin = 0,
                           .num_rows = 1,
                           .compress_ratio = 1,
                           .index_topk = 1,
                           .index_q = index_q,
                           .index_w = index_w,
                           .keys = {pool, 0, ops::kBlockSize},
                           .cand = candidates,
                           .cand_count = cand_count,
                           .candidate_block_size = 2,
                           .scores = scores});
  return scores.values();
}

TEST_F(IndexerTest, ScoresAreWeightedSumsOfPositiveParts) {
  // Heads with queries 2 and -1, weights 3 and -5; keys 1 and -4.
  const std::vector<float> scores = ScoresOf(stream(), {2, -1}, {3, -5}, {1, -4});
  const double factor = 1 / std::sqrt(32.0) / std::sqrt(2.0);
  EXPECT_NEAR(scores[0], 3 * 2 * 1 * factor, 1e-6);         // head 1 gives -1: cut off
  EXPECT_NEAR(scores[1], -5 * (-1) * (-4) * factor, 1e-6);  // a negative weight counts
}

TEST_F(IndexerTest, KeysThatNoHeadLikesScoreZero) {
  EXPECT_EQ(ScoresOf(stream(), {1, 2}, {3, -5}, {-1, -4}), (std::vector<float>{0, 0}));
}

TEST_F(IndexerTest, EntriesOutsideOfTheCandidatesAreRemoved) {
  // Seven entries in blocks of 2, so the newest block is partial: three entries are left, and a
  // selection of four takes no removed one.
  const std::vector<float> scores = ScoresOf(stream(), {1}, {1}, {1, 1, 1, 1, 1, 1, 1}, {1, 3});
  for (const int32_t j : {0, 1, 4, 5}) EXPECT_EQ(scores[j], -kInfinity) << j;
  for (const int32_t j : {2, 3, 6}) EXPECT_GT(scores[j], 0) << j;
  EXPECT_EQ(Select(stream(), scores).sel, (Ints{2, 3, 6}));
}

}  // namespace
}  // namespace deepinfer::ref
