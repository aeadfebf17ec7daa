// Linear on the weights of the released model.  Bound: reading the weights for few rows, the
// multiply-add units for many.
#include <benchmark/benchmark.h>

#include <string>

#include "backend/cpu/bench/op_bench.h"
#include "backend/cpu/bench/weight_pool.h"
#include "backend/ops/linear.h"

namespace deepinfer::cpu {
namespace {

struct Kind {
  const char* isa;
  DType act;
  DType weight;
};

void CheckOnce(OpBench& bench, const Kind& kind, int64_t num_cols) {
  constexpr int64_t kRows = 3, kOutputs = 40;
  WeightPool weights(bench, kind.weight, kOutputs, num_cols, 0);
  ops::LinearArgs args;
  args.x = bench.Normal(kind.act, {kRows, num_cols});
  args.weight = weights.Next();
  args.y = bench.Empty(DType::kF32, {kRows, kOutputs});
  ops::Linear(bench.stream(), args);
  const TensorView got = args.y;
  args.y = bench.Empty(DType::kF32, {kRows, kOutputs});
  ops::Linear(bench.ref_stream(), args);
  bench.CheckError(OpBench::RelativeError(got, args.y), 1e-4);
}

void BM_Linear(benchmark::State& state, const Kind& kind) {
  const int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  OpBench bench(state, kind.isa, static_cast<int32_t>(state.range(3)));
  if (!bench.is_usable()) return;
  CheckOnce(bench, kind, k);
  WeightPool weights(bench, kind.weight, n, k);
  ops::LinearArgs args;
  args.x = bench.Normal(kind.act, {m, k});
  args.y = bench.Empty(kind.act, {m, n});
  for (auto _ : state) {
    args.weight = weights.Next();
    ops::Linear(bench.stream(), args);
  }
  bench.ReportBytes(static_cast<double>(weights.num_bytes()));
  bench.ReportFlops(2.0 * static_cast<double>(m * n * k), kind.act);
}

using ShapeList = std::initializer_list<std::pair<int64_t, int64_t>>;

// The released projections [n, k], few rows of x to many.  `stacks` are several of them on top of
// each other, larger than any cache: what bench/peer_ggml compares.
void Shapes(benchmark::internal::Benchmark* b, const ShapeList& projections,
            const ShapeList& stacks) {
  b->ArgNames({"m", "n", "k", "threads"})->UseRealTime()->Unit(benchmark::kMicrosecond);
  for (const int64_t m : {1, 2, 4, 8, 16, 64, 512}) {
    for (const auto& [n, k] : projections) b->Args({m, n, k, 0});
  }
  for (const auto& [n, k] : stacks) b->Args({1, n, k, 0});
}
void F8Shapes(benchmark::internal::Benchmark* b) {
  Shapes(b, {{1280, 5120}, {32768, 1280}, {5120, 8192}, {2304, 5120}},
         {{32768, 5120}, {20480, 8192}});
}
void F4Shapes(benchmark::internal::Benchmark* b) {
  Shapes(b, {{2304, 5120}, {5120, 2304}}, {{55296, 5120}, {122880, 2304}});
}
void Bf16Shapes(benchmark::internal::Benchmark* b) { Shapes(b, {{12928, 5120}}, {}); }

constexpr Kind kAvx2F8 = {"avx2", DType::kF32, DType::kF8E4M3};
constexpr Kind kAvx2F4 = {"avx2", DType::kF32, DType::kF4E2M1};
constexpr Kind kAvx2Bf16 = {"avx2", DType::kF32, DType::kBF16};
constexpr Kind kAvx512F8 = {"avx512", DType::kF32, DType::kF8E4M3};
constexpr Kind kAvx512F4 = {"avx512", DType::kF32, DType::kF4E2M1};
constexpr Kind kAvx512Bf16 = {"avx512", DType::kF32, DType::kBF16};
constexpr Kind kBf16F8 = {"avx512bf16", DType::kBF16, DType::kF8E4M3};
constexpr Kind kBf16F4 = {"avx512bf16", DType::kBF16, DType::kF4E2M1};
constexpr Kind kBf16Bf16 = {"avx512bf16", DType::kBF16, DType::kBF16};
constexpr Kind kAmxF8 = {"amx", DType::kBF16, DType::kF8E4M3};
constexpr Kind kAmxF4 = {"amx", DType::kBF16, DType::kF4E2M1};
constexpr Kind kAmxBf16 = {"amx", DType::kBF16, DType::kBF16};

BENCHMARK_CAPTURE(BM_Linear, avx2_f32_f8, kAvx2F8)->Apply(F8Shapes);
BENCHMARK_CAPTURE(BM_Linear, avx2_f32_f4, kAvx2F4)->Apply(F4Shapes);
BENCHMARK_CAPTURE(BM_Linear, avx2_f32_bf16, kAvx2Bf16)->Apply(Bf16Shapes);
BENCHMARK_CAPTURE(BM_Linear, avx512_f32_f8, kAvx512F8)->Apply(F8Shapes);
BENCHMARK_CAPTURE(BM_Linear, avx512_f32_f4, kAvx512F4)->Apply(F4Shapes);
BENCHMARK_CAPTURE(BM_Linear, avx512_f32_bf16, kAvx512Bf16)->Apply(Bf16Shapes);
BENCHMARK_CAPTURE(BM_Linear, avx512bf16_bf16_f8, kBf16F8)->Apply(F8Shapes);
BENCHMARK_CAPTURE(BM_Linear, avx512bf16_bf16_f4, kBf16F4)->Apply(F4Shapes);
BENCHMARK_CAPTURE(BM_Linear, avx512bf16_bf16_bf16, kBf16Bf16)->Apply(Bf16Shapes);
BENCHMARK_CAPTURE(BM_Linear, amx_bf16_f8, kAmxF8)->Apply(F8Shapes);
BENCHMARK_CAPTURE(BM_Linear, amx_bf16_f4, kAmxF4)->Apply(F4Shapes);
BENCHMARK_CAPTURE(BM_Linear, amx_bf16_bf16, kAmxBf16)->Apply(Bf16Shapes);

}  // namespace
}  // namespace deepinfer::cpu
