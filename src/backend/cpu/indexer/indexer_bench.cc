// IndexScore and IndexTopK at the released shapes: 32 heads x 128 channels, 512 entries of up to a
// million, 2048 candidate blocks of 8.  Bounds: products of bytes, and reading keys or scores once.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "backend/cpu/bench/op_bench.h"
#include "backend/ops/indexer.h"
#include "tensor/bf16.h"
#include "tensor/quantize.h"

namespace deepinfer::cpu {
namespace {

constexpr int64_t kHeads = 32, kWidth = 128, kTopK = 512;
constexpr int64_t kCandBlocks = 2048;
constexpr int32_t kCandBlockSize = 8;
constexpr double kKeyBytes = kWidth / 2 + kWidth / 32;

// Random codes with scales around 1.
TensorView KeyPool(OpBench& bench, int64_t num_blocks) {
  const int64_t block_bytes = ops::kBlockSize * static_cast<int64_t>(kKeyBytes);
  const TensorView pool = bench.Empty(DType::kU8, {num_blocks, block_bytes});
  for (int64_t i = 0; i < pool.num_elements(); ++i) {
    const bool is_scale = i % block_bytes >= ops::kBlockSize * kWidth / 2;
    pool.as<uint8_t>()[i] =
        static_cast<uint8_t>(is_scale ? 124 + bench.rng()() % 6 : bench.rng()() % 256);
  }
  return pool;
}

ops::IndexScoreArgs ScoreArgs(OpBench& bench, int32_t num_rows, int32_t num_entries) {
  ops::IndexScoreArgs args;
  args.batch = bench.OneSequence(num_rows, num_entries - num_rows);
  args.num_rows = num_rows;
  args.index_topk = kTopK;
  args.index_q = bench.Normal(DType::kF32, {num_rows, kHeads, kWidth});
  FakeQuantQ4x(args.index_q.as<float>(), args.index_q.num_elements());
  args.index_w = bench.Normal(DType::kF32, {num_rows, kHeads});
  args.keys = {.pool = KeyPool(bench, num_entries / ops::kBlockSize + 1),
               .entries_per_block = ops::kBlockSize};
  args.scores = bench.Empty(DType::kF32, {num_rows, num_entries});
  return args;
}

void BM_IndexScore(benchmark::State& state, const std::string& isa) {
  const int32_t num_rows = static_cast<int32_t>(state.range(0));
  const int32_t num_entries = static_cast<int32_t>(state.range(1));
  OpBench bench(state, isa, static_cast<int32_t>(state.range(2)));
  if (!bench.is_usable()) return;
  ops::IndexScoreArgs small = ScoreArgs(bench, 2, 2 * kTopK);
  ops::IndexScore(bench.stream(), small);
  const TensorView got = small.scores;
  small.scores = bench.Empty(DType::kF32, {2, 2 * kTopK});
  ops::IndexScore(bench.ref_stream(), small);
  bench.CheckError(OpBench::RelativeError(got, small.scores), 1e-6);

  const ops::IndexScoreArgs args = ScoreArgs(bench, num_rows, num_entries);
  for (auto _ : state) ops::IndexScore(bench.stream(), args);
  bench.ReportBytes(kKeyBytes * num_entries);
  state.counters["products/s"] =
      benchmark::Counter(static_cast<double>(kHeads * kWidth) * num_rows * num_entries,
                         benchmark::Counter::kIsIterationInvariantRate);
}

void BM_IndexTopK(benchmark::State& state, const std::string& isa) {
  const int32_t num_entries = static_cast<int32_t>(state.range(0));
  const bool has_candidates = state.range(1) != 0;
  OpBench bench(state, isa, 1);
  if (!bench.is_usable()) return;
  ops::IndexTopKArgs args;
  args.batch = bench.OneSequence(1, num_entries - 1);
  args.num_rows = 1;
  args.scores = bench.Normal(DType::kF32, {1, num_entries});
  args.sel = bench.Empty(DType::kI32, {1, kTopK});
  args.sel_count = bench.Empty(DType::kI32, {1});
  if (has_candidates) {
    args.cand = bench.Empty(DType::kI32, {1, kCandBlocks});
    args.cand_count = bench.Empty(DType::kI32, {1});
    args.candidate_block_size = kCandBlockSize;
  }
  ops::IndexTopK(bench.stream(), args);
  const TensorView got = args.sel;
  args.sel = bench.Empty(DType::kI32, {1, kTopK});
  ops::IndexTopK(bench.ref_stream(), args);
  bench.CheckError(std::memcmp(got.data(), args.sel.data(), got.num_bytes()) == 0 ? 0 : 1, 0);
  for (auto _ : state) ops::IndexTopK(bench.stream(), args);
  bench.ReportBytes(4.0 * num_entries);
}

void ScoreShapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"rows", "entries", "threads"})->UseRealTime();
  b->Args({1, 8192, 1})->Args({1, 1 << 20, 2})->Args({8, 65536, 2});
}
void TopKShapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"entries", "candidates"})->UseRealTime();
  b->Args({8192, 0})->Args({1 << 20, 0})->Args({1 << 20, 1});
}
BENCHMARK_CAPTURE(BM_IndexScore, avx2, "avx2")->Apply(ScoreShapes);
BENCHMARK_CAPTURE(BM_IndexScore, avx512, "avx512")->Apply(ScoreShapes);
BENCHMARK_CAPTURE(BM_IndexScore, avx512bf16, "avx512bf16")->Apply(ScoreShapes);
BENCHMARK_CAPTURE(BM_IndexTopK, avx2, "avx2")->Apply(TopKShapes);
BENCHMARK_CAPTURE(BM_IndexTopK, avx512, "avx512")->Apply(TopKShapes);

}  // namespace
}  // namespace deepinfer::cpu
