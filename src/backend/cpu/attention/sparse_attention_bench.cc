// SparseAttention at the released shape: 64 heads x 512 channels, 128 window keys and 512 entries a
// row.  Bound: the multiply-add units.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "backend/cpu/bench/op_bench.h"
#include "backend/ops/attention.h"
#include "tensor/quantize.h"

namespace deepinfer::cpu {
namespace {

constexpr int64_t kHeads = 64, kWidth = 512, kRopePairs = 32, kWindow = 128, kTopK = 512;
constexpr int32_t kComputed = 8192;  // tokens before the step; compress_ratio 1

std::vector<float> NormalVector(OpBench& bench) {
  std::normal_distribution<float> normal;
  std::vector<float> v(kWidth);
  for (float& x : v) x = normal(bench.rng());
  return v;
}

TensorView WindowRecords(OpBench& bench, int64_t count) {
  const int64_t bytes = ops::Fp8RecordBytes(kWidth);
  const TensorView records = bench.Empty(DType::kU8, {count, bytes});
  for (int64_t i = 0; i < count; ++i) {
    uint8_t* record = records.as<uint8_t>() + i * bytes;
    QuantizeQ8(NormalVector(bench).data(), kWidth, record, record + kWidth);
  }
  return records;
}

TensorView MainEntries(OpBench& bench, int64_t num_blocks) {
  const int64_t bytes = ops::Fp4MainRecordBytes(kWidth);
  const TensorView pool = bench.Empty(DType::kU8, {num_blocks, ops::kBlockSize * bytes});
  for (int64_t i = 0; i < num_blocks * ops::kBlockSize; ++i) {
    uint8_t* record = pool.as<uint8_t>() + i * bytes;
    QuantizeQ4s(NormalVector(bench).data(), kWidth, record, record + kWidth / 2);
  }
  return pool;
}

TensorView Selection(OpBench& bench, int64_t num_rows) {
  std::vector<int32_t> sel;
  for (int64_t row = 0; row < num_rows; ++row) {
    std::vector<int32_t> all(kComputed);
    std::iota(all.begin(), all.end(), 0);
    std::shuffle(all.begin(), all.end(), bench.rng());
    std::sort(all.begin(), all.begin() + kTopK);
    sel.insert(sel.end(), all.begin(), all.begin() + kTopK);
  }
  return bench.Ints({num_rows, kTopK}, sel);
}

ops::SparseAttentionArgs MakeArgs(OpBench& bench, int32_t num_rows, Numerics numerics) {
  const DType act = numerics == Numerics::kFp32 ? DType::kF32 : DType::kBF16;
  ops::SparseAttentionArgs args;
  args.numerics = numerics;
  args.batch = bench.OneSequence(num_rows, kComputed);
  args.q = bench.Normal(act, {num_rows, kHeads, kWidth});
  args.kv_record = WindowRecords(bench, num_rows);
  const TensorView ring = WindowRecords(bench, kWindow + 6);
  args.ring = {.pool = ring.Reshaped({1, ring.num_elements()}), .ring_len = kWindow + 6};
  args.window = kWindow;
  args.pages = {.pool = MainEntries(bench, args.batch.block_table.dim(1)),
                .entries_per_block = ops::kBlockSize};
  args.sel = Selection(bench, num_rows);
  args.sel_count = bench.Ints({num_rows}, std::vector<int32_t>(num_rows, kTopK));
  args.attn_sink = bench.Normal(DType::kF32, {kHeads});
  args.cos_sin = bench.Normal(DType::kF32, {num_rows, kRopePairs, 2});
  args.softmax_scale = 1.0f / std::sqrt(static_cast<float>(kWidth));
  args.out = bench.Empty(act, {num_rows, kHeads * kWidth});
  return args;
}

void CheckOnce(OpBench& bench, Numerics numerics) {
  ops::SparseAttentionArgs args = MakeArgs(bench, 2, numerics);
  ops::SparseAttention(bench.stream(), args);
  const TensorView got = args.out;
  args.out = bench.Empty(got.dtype(), {got.dim(0), got.dim(1)});
  ops::SparseAttention(bench.ref_stream(), args);
  bench.CheckError(OpBench::RelativeError(got, args.out),
                   numerics == Numerics::kFp32 ? 1e-5 : 2e-2);
}

void BM_SparseAttention(benchmark::State& state, const std::string& isa, Numerics numerics) {
  const int32_t num_rows = static_cast<int32_t>(state.range(0));
  OpBench bench(state, isa, static_cast<int32_t>(state.range(1)));
  if (!bench.is_usable()) return;
  CheckOnce(bench, numerics);
  const ops::SparseAttentionArgs args = MakeArgs(bench, num_rows, numerics);
  for (auto _ : state) ops::SparseAttention(bench.stream(), args);
  bench.ReportFlops(4.0 * num_rows * kHeads * kWidth * (kWindow + kTopK));
}

void Shapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"rows", "threads"})->Args({1, 1})->Args({1, 2})->Args({64, 2})->UseRealTime();
}
BENCHMARK_CAPTURE(BM_SparseAttention, avx2_f32, "avx2", Numerics::kFp32)->Apply(Shapes);
BENCHMARK_CAPTURE(BM_SparseAttention, avx512_f32, "avx512", Numerics::kFp32)->Apply(Shapes);
BENCHMARK_CAPTURE(BM_SparseAttention, avx2_production, "avx2", Numerics::kProduction)
    ->Apply(Shapes);
BENCHMARK_CAPTURE(BM_SparseAttention, avx512_production, "avx512", Numerics::kProduction)
    ->Apply(Shapes);
BENCHMARK_CAPTURE(BM_SparseAttention, avx512bf16_production, "avx512bf16", Numerics::kProduction)
    ->Apply(Shapes);

}  // namespace
}  // namespace deepinfer::cpu
