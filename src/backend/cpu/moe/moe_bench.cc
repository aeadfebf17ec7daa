// MoeUp and MoeDown of one layer at the released widths with 24 routed experts, 6 a token.  Bound:
// reading the experts that are chosen for few rows, the multiply-add units for many.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "backend/cpu/bench/op_bench.h"
#include "backend/cpu/bench/weight_pool.h"
#include "backend/ops/moe.h"

namespace deepinfer::cpu {
namespace {

constexpr int64_t kHidden = 5120, kWidth = 2304;
constexpr int32_t kExperts = 24, kChosen = 6;

struct Kind {
  const char* isa;
  Numerics numerics;
};

// One layer: routed experts in fp4 and a shared one in fp8.
struct Layer {
  Layer(OpBench& bench, int64_t hidden, int64_t width)
      : up(bench, DType::kF4E2M1, width, hidden, 2 * kExperts * width * hidden / 2),
        down(bench, DType::kF4E2M1, hidden, width, kExperts * width * hidden / 2),
        shared_up(bench, DType::kF8E4M3, width, hidden, 2 * width * hidden),
        shared_down(bench, DType::kF8E4M3, hidden, width, 0) {
    for (int32_t e = 0; e < kExperts; ++e) experts.push_back({up.Next(), up.Next(), down.Next()});
    shared = {shared_up.Next(), shared_up.Next(), shared_down.Next()};
  }

  WeightPool up, down, shared_up, shared_down;
  std::vector<ops::ExpertWeights> experts;
  ops::ExpertWeights shared;
};

struct Step {
  ops::MoeUpArgs up;
  ops::MoeDownArgs down;
  int64_t num_used = 0;  // distinct experts
};

Step MakeStep(OpBench& bench, const Layer& layer, Numerics numerics, int64_t m) {
  const DType act = numerics == Numerics::kFp32 ? DType::kF32 : DType::kBF16;
  const int64_t width = layer.shared.w1.num_rows(), hidden = layer.shared.w1.num_cols();
  std::vector<int32_t> idx, order(kExperts);
  std::set<int32_t> used;
  std::iota(order.begin(), order.end(), 0);
  for (int64_t t = 0; t < m; ++t) {
    std::shuffle(order.begin(), order.end(), bench.rng());
    std::sort(order.begin(), order.begin() + kChosen);
    idx.insert(idx.end(), order.begin(), order.begin() + kChosen);
    used.insert(order.begin(), order.begin() + kChosen);
  }
  Step step;
  step.num_used = static_cast<int64_t>(used.size());
  step.up.numerics = numerics;
  step.up.x = bench.Normal(act, {m, hidden});
  step.up.experts = layer.experts;
  step.up.shared = &layer.shared;
  step.up.expert_idx = bench.Ints({m, kChosen}, idx);
  step.up.expert_weight = bench.Empty(DType::kF32, {m, kChosen});
  std::fill_n(step.up.expert_weight.as<float>(), m * kChosen, 0.25f);
  step.up.swiglu_limit = 10;
  step.up.a = bench.Empty(act, {m, kChosen, width});
  step.up.a_shared = bench.Empty(act, {m, width});
  step.down.a = step.up.a;
  step.down.a_shared = step.up.a_shared;
  step.down.expert_idx = step.up.expert_idx;
  step.down.experts = layer.experts;
  step.down.shared = &layer.shared;
  step.down.y = bench.Empty(act, {m, kChosen + 1, hidden});
  return step;
}

void CheckOnce(OpBench& bench, Numerics numerics) {
  const Layer layer(bench, 256, 64);
  Step step = MakeStep(bench, layer, numerics, 3);
  ops::MoeUp(bench.stream(), step.up);
  ops::MoeDown(bench.stream(), step.down);
  const TensorView got = step.down.y;
  step.down.y = bench.Empty(got.dtype(), {got.dim(0), got.dim(1), got.dim(2)});
  ops::MoeUp(bench.ref_stream(), step.up);
  ops::MoeDown(bench.ref_stream(), step.down);
  bench.CheckError(OpBench::RelativeError(got, step.down.y),
                   numerics == Numerics::kFp32 ? 1e-5 : 2e-2);
}

void BM_Moe(benchmark::State& state, const Kind& kind) {
  const int64_t m = state.range(0);
  OpBench bench(state, kind.isa, static_cast<int32_t>(state.range(1)));
  if (!bench.is_usable()) return;
  CheckOnce(bench, kind.numerics);
  const Layer layer(bench, kHidden, kWidth);
  // Other experts every time, so that those of the last step are not found in the cache.
  std::vector<Step> steps;
  for (int32_t i = 0; i < (m < 16 ? 16 : 1); ++i) {
    steps.push_back(MakeStep(bench, layer, kind.numerics, m));
  }
  size_t next = 0;
  double num_used = 0;
  for (const Step& step : steps) {
    num_used += static_cast<double>(step.num_used) / static_cast<double>(steps.size());
  }
  for (auto _ : state) {
    const Step& step = steps[next++ % steps.size()];
    ops::MoeUp(bench.stream(), step.up);
    ops::MoeDown(bench.stream(), step.down);
  }
  const double expert_bytes =
      2.0 * static_cast<double>(layer.up.num_bytes()) + static_cast<double>(layer.down.num_bytes());
  const double shared_bytes = 2.0 * static_cast<double>(layer.shared_up.num_bytes()) +
                              static_cast<double>(layer.shared_down.num_bytes());
  bench.ReportBytes(num_used * expert_bytes + shared_bytes);
  bench.ReportFlops(2.0 * 3 * static_cast<double>(m * (kChosen + 1) * kHidden * kWidth),
                    kind.numerics == Numerics::kFp32 ? DType::kF32 : DType::kBF16);
}

void Shapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"m", "threads"})->UseRealTime()->Unit(benchmark::kMicrosecond);
  for (const int64_t m : {1, 8, 64, 512}) b->Args({m, 0});
}

constexpr Kind kAvx2 = {"avx2", Numerics::kFp32};
constexpr Kind kAvx512 = {"avx512", Numerics::kFp32};
constexpr Kind kAvx512Bf16 = {"avx512bf16", Numerics::kProduction};
constexpr Kind kAmx = {"amx", Numerics::kProduction};
BENCHMARK_CAPTURE(BM_Moe, avx2_f32, kAvx2)->Apply(Shapes);
BENCHMARK_CAPTURE(BM_Moe, avx512_f32, kAvx512)->Apply(Shapes);
BENCHMARK_CAPTURE(BM_Moe, avx512bf16_production, kAvx512Bf16)->Apply(Shapes);
BENCHMARK_CAPTURE(BM_Moe, amx_production, kAmx)->Apply(Shapes);

}  // namespace
}  // namespace deepinfer::cpu
