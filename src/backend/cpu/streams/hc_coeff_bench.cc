// HcCoeff at the released shape: 24 coefficients of 4 x 5120 stream elements.  Bound: reading fn
// (1.9 MiB) with one row, the multiply-add units with many.
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>

#include "backend/cpu/bench/op_bench.h"
#include "backend/ops/streams.h"

namespace deepinfer::cpu {
namespace {

constexpr int64_t kStreams = 4, kHidden = 5120, kCoeffs = (2 + kStreams) * kStreams;
// Sites whose weights are read in turn, so that one call does not find its own in the cache.
constexpr int64_t kSites = 40;

ops::HcCoeffArgs MakeArgs(OpBench& bench, int64_t num_rows, DType act) {
  ops::HcCoeffArgs args;
  args.streams = bench.Normal(act, {num_rows, kStreams, kHidden});
  args.base = bench.Normal(DType::kF32, {kCoeffs});
  args.scale = bench.Normal(DType::kF32, {3});
  args.rms_norm_eps = 1e-20f;
  args.hc_eps = 1e-6f;
  args.num_sinkhorn_iters = 20;
  args.pre = bench.Empty(DType::kF32, {num_rows, kStreams});
  args.post = bench.Empty(DType::kF32, {num_rows, kStreams});
  args.comb = bench.Empty(DType::kF32, {num_rows, kStreams, kStreams});
  return args;
}

void BM_HcCoeff(benchmark::State& state, const std::string& isa, DType act) {
  const int64_t num_rows = state.range(0);
  OpBench bench(state, isa, static_cast<int32_t>(state.range(1)));
  if (!bench.is_usable()) return;
  ops::HcCoeffArgs args = MakeArgs(bench, num_rows, act);
  const TensorView fn = bench.Normal(DType::kF32, {kCoeffs, kStreams * kHidden}, 0.02f);
  const TensorView fns = bench.Empty(DType::kF32, {kSites * kCoeffs, kStreams * kHidden});
  for (int64_t site = 0; site < kSites; ++site) {
    std::memcpy(fns.Rows(site * kCoeffs, kCoeffs).data(), fn.data(), fn.num_bytes());
  }
  args.fn = fn;
  ops::HcCoeff(bench.stream(), args);
  const TensorView got = args.comb;
  args.comb = bench.Empty(DType::kF32, {num_rows, kStreams, kStreams});
  ops::HcCoeff(bench.ref_stream(), args);
  bench.CheckError(OpBench::RelativeError(got, args.comb), 1e-4);
  int64_t site = 0;
  for (auto _ : state) {
    args.fn = fns.Rows(site * kCoeffs, kCoeffs);
    ops::HcCoeff(bench.stream(), args);
    site = (site + 1) % kSites;
  }
  if (num_rows == 1) {
    bench.ReportBytes(static_cast<double>(fn.num_bytes()));
  } else {
    bench.ReportFlops(2.0 * static_cast<double>(num_rows * fn.num_elements()));
  }
}

void Shapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"rows", "threads"})->Args({1, 1})->Args({1, 2})->Args({8, 2})->Args({64, 2});
  b->UseRealTime();
}
BENCHMARK_CAPTURE(BM_HcCoeff, avx2_f32, "avx2", DType::kF32)->Apply(Shapes);
BENCHMARK_CAPTURE(BM_HcCoeff, avx512_f32, "avx512", DType::kF32)->Apply(Shapes);
BENCHMARK_CAPTURE(BM_HcCoeff, avx512_bf16, "avx512", DType::kBF16)->Apply(Shapes);

}  // namespace
}  // namespace deepinfer::cpu
