#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "backend/cpu/cpu_device.h"
#include "backend/cpu/testing/host_tensors.h"
#include "backend/ops/indexer.h"

namespace deepinfer::cpu {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// The k best by a full sort: larger score first, then smaller index.
std::vector<int32_t> BestBySort(const std::vector<float>& scores, int64_t k) {
  std::vector<int32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](int32_t i) { return !(scores[i] > -kInf); });
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return scores[a] > scores[b]; });
  if (static_cast<int64_t>(order.size()) > k) order.resize(k);
  std::sort(order.begin(), order.end());
  return order;
}

std::vector<float> BlockMaxima(const std::vector<float>& scores, int64_t block_size) {
  std::vector<float> maxima((scores.size() + block_size - 1) / block_size, -kInf);
  for (size_t i = 0; i < scores.size(); ++i) {
    float& max = maxima[i / block_size];
    if (scores[i] > max) max = scores[i];
  }
  maxima.back() = kInf;
  return maxima;
}

std::vector<int32_t> Taken(const TensorView& row, const TensorView& count) {
  const int32_t* begin = row.as<int32_t>();
  const int32_t n = *count.as<int32_t>();
  for (int64_t i = n; i < row.dim(1); ++i) EXPECT_EQ(begin[i], -1);
  return std::vector<int32_t>(begin, begin + n);
}

struct Sizes {
  int32_t top_k, cand_blocks, block_size;
};

void ExpectBest(backend::Stream& stream, const std::vector<float>& scores, const Sizes& sizes) {
  HostTensors host;
  const int32_t n = static_cast<int32_t>(scores.size());
  ops::IndexTopKArgs args;
  args.batch = host.OneSequence(1, n - 1);
  args.num_rows = 1;
  args.scores = host.Empty(DType::kF32, {1, n});
  std::copy(scores.begin(), scores.end(), args.scores.as<float>());
  args.sel = host.Empty(DType::kI32, {1, sizes.top_k});
  args.sel_count = host.Empty(DType::kI32, {1});
  args.cand = host.Empty(DType::kI32, {1, sizes.cand_blocks});
  args.cand_count = host.Empty(DType::kI32, {1});
  args.candidate_block_size = sizes.block_size;
  ops::IndexTopK(stream, args);
  EXPECT_EQ(Taken(args.sel, args.sel_count), BestBySort(scores, sizes.top_k));
  EXPECT_EQ(Taken(args.cand, args.cand_count),
            BestBySort(BlockMaxima(scores, sizes.block_size), sizes.cand_blocks));
}

// Sequences that a selection gets wrong, or slow, in its own way.
std::vector<std::vector<float>> Sequences(int32_t n, std::mt19937& rng) {
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> all(7, std::vector<float>(n));
  for (int32_t i = 0; i < n; ++i) {
    all[0][i] = normal(rng);
    all[1][i] = static_cast<float>(i);              // every one beats all before
    all[2][i] = static_cast<float>(-i);             // none does
    all[3][i] = 1.0f;                               // all tie
    all[4][i] = static_cast<float>(rng() % 3) - 1;  // most tie, with zeros of either sign
    if (all[4][i] == 0 && rng() % 2 == 0) all[4][i] = -0.0f;
    all[5][i] = rng() % 50 == 0 ? normal(rng) : -kInf;
    all[6][i] = rng() % 3 == 0 ? std::nanf("") : normal(rng) * 1e38f;
  }
  return all;
}

TEST(IndexTopK, AgreesWithASort) {
  std::mt19937 rng(5);
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    if (!HasIsa(isa)) continue;
    const auto device = std::move(CreateCpuDevice({.num_threads = 1, .isa = isa})).value();
    const auto stream = device->CreateStream();
    for (const int32_t n : {65, 100, 1030, 9001}) {
      for (const std::vector<float>& scores : Sequences(n, rng)) {
        SCOPED_TRACE(std::string(IsaName(isa)) + " " + std::to_string(n));
        ExpectBest(*stream, scores, {.top_k = 64, .cand_blocks = 16, .block_size = 8});
        ExpectBest(*stream, scores, {.top_k = 1, .cand_blocks = 1, .block_size = 1});
        ExpectBest(*stream, scores, {.top_k = n - 1, .cand_blocks = n, .block_size = 13});
      }
    }
  }
}

}  // namespace
}  // namespace deepinfer::cpu
