#include "backend/cpu/bench/op_bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <thread>
#include <utility>

#include "backend/cpu/cpu_device.h"
#include "backend/cpu/team.h"
#include "backend/cpu/vec/avx2.h"
#include "backend/ref/ref_device.h"
#include "base/check.h"
#include "tensor/bf16.h"

DI_AVX2_BEGIN
namespace {

// 12 chains of fused multiply-adds: enough to fill two units of latency 4, and no memory.
float FmaChains(int64_t num_rounds) {
  F acc[12];
  DI_UNROLL for (int32_t i = 0; i < 12; ++i) acc[i] = Set(static_cast<float>(i));
  const F a = Set(0.999f), b = Set(0.001f);
  for (int64_t round = 0; round < num_rounds; ++round) {
    DI_UNROLL for (int32_t i = 0; i < 12; ++i) acc[i] = Fma(acc[i], a, b);
  }
  F sum = Zero();
  DI_UNROLL for (int32_t i = 0; i < 12; ++i) sum = Add(sum, acc[i]);
  return Sum(sum);
}

float ReadAll(const float* p, int64_t n) {
  F acc[8];
  DI_UNROLL for (int32_t i = 0; i < 8; ++i) acc[i] = Zero();
  for (int64_t i = 0; i + 8 * kLanes <= n; i += 8 * kLanes) {
    DI_UNROLL for (int32_t k = 0; k < 8; ++k) acc[k] = Add(acc[k], Load(p + i + k * kLanes));
  }
  F sum = Zero();
  DI_UNROLL for (int32_t i = 0; i < 8; ++i) sum = Add(sum, acc[i]);
  return Sum(sum);
}

}  // namespace
DI_AVX2_END

namespace deepinfer::cpu {
namespace {

double Seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

// The best of `num_tries` runs of `body` on every thread of a team, in units a second.
template <typename Body>
double BestRate(int32_t num_threads, double units, int32_t num_tries, const Body& body) {
  Team team(num_threads);
  double best = 0;
  for (int32_t i = 0; i < num_tries; ++i) {
    const auto start = std::chrono::steady_clock::now();
    team.ParallelFor(num_threads, [&](int64_t, int64_t, int32_t thread) { body(thread); });
    best = std::max(best, units / Seconds(start));
  }
  return best;
}

float ValueAt(const TensorView& view, int64_t i) {
  return view.dtype() == DType::kF32 ? view.as<float>()[i] : Bf16ToF32(view.as<bf16>()[i]);
}

}  // namespace

double FmaPeakFlops(int32_t num_threads) {
  static std::map<int32_t, double> peaks;  // benchmarks run on one thread
  double& peak = peaks[num_threads];
  if (peak == 0) {
    constexpr int64_t kRounds = 4'000'000;
    peak = BestRate(num_threads, 2.0 * 12 * 8 * kRounds * num_threads, 5,
                    [](int32_t) { benchmark::DoNotOptimize(avx2::FmaChains(kRounds)); });
  }
  return peak;
}

double ReadBandwidthBytes(int32_t num_threads) {
  static std::map<int32_t, double> rates;
  double& rate = rates[num_threads];
  if (rate == 0) {
    const int64_t floats = int64_t{48} << 20;  // 192 MiB in all
    const std::vector<float> data(static_cast<size_t>(floats), 1.0f);
    const int64_t share = floats / num_threads;
    rate = BestRate(num_threads, 4.0 * share * num_threads, 5, [&](int32_t thread) {
      benchmark::DoNotOptimize(avx2::ReadAll(data.data() + thread * share, share));
    });
  }
  return rate;
}

OpBench::OpBench(benchmark::State& state, const std::string& isa, int32_t num_threads)
    : state_(state), num_threads_(num_threads == 0 ? NumUsableCores() : num_threads) {
  const Result<Isa> parsed = ParseIsa(isa);
  if (!parsed.ok() || !HasIsa(*parsed)) {
    state.SkipWithError("this machine lacks the instruction set");
    return;
  }
  device_ = std::move(CreateCpuDevice({.num_threads = num_threads_, .isa = *parsed})).value();
  stream_ = device_->CreateStream();
  ref_device_ = ref::CreateRefDevice();
  ref_stream_ = ref_device_->CreateStream();
}

TensorView OpBench::Empty(DType dtype, std::initializer_list<int64_t> shape) {
  int64_t elements = 1;
  for (const int64_t dim : shape) elements *= dim;
  buffers_.push_back(
      std::move(device_->Allocate(static_cast<size_t>(elements * BitsOf(dtype) / 8))).value());
  return TensorView(buffers_.back().data(), dtype, shape);
}

TensorView OpBench::Normal(DType dtype, std::initializer_list<int64_t> shape, float scale) {
  const TensorView view = Empty(dtype, shape);
  std::normal_distribution<float> normal(0.0f, scale);
  for (int64_t i = 0; i < view.num_elements(); ++i) {
    if (dtype == DType::kF32) {
      view.as<float>()[i] = normal(rng_);
    } else {
      view.as<bf16>()[i] = F32ToBf16(normal(rng_));
    }
  }
  return view;
}

TensorView OpBench::Ints(std::initializer_list<int64_t> shape, const std::vector<int32_t>& values) {
  const TensorView view = Empty(DType::kI32, shape);
  DI_CHECK(view.num_elements() == static_cast<int64_t>(values.size()), "size=", values.size());
  std::memcpy(view.data(), values.data(), view.num_bytes());
  return view;
}

double OpBench::RelativeError(const TensorView& a, const TensorView& b) {
  double diff = 0, norm = 0;
  for (int64_t i = 0; i < b.num_elements(); ++i) {
    const double x = ValueAt(a, i), y = ValueAt(b, i);
    diff += (x - y) * (x - y);
    norm += y * y;
  }
  return norm == 0 ? std::sqrt(diff) : std::sqrt(diff / norm);
}

void OpBench::CheckError(double error, double limit) {
  if (!(error <= limit)) state_.SkipWithError("the result differs from the reference");
}

void OpBench::ReportFlops(double flops) {
  const auto rate = benchmark::Counter::kIsIterationInvariantRate;
  state_.counters["FLOP/s"] = benchmark::Counter(flops, rate);
  state_.counters["of_fma_peak"] = benchmark::Counter(flops / FmaPeakFlops(num_threads_), rate);
}

void OpBench::ReportBytes(double bytes) {
  const auto rate = benchmark::Counter::kIsIterationInvariantRate;
  state_.counters["B/s"] = benchmark::Counter(bytes, rate);
  state_.counters["of_read_bandwidth"] =
      benchmark::Counter(bytes / ReadBandwidthBytes(num_threads_), rate);
}

}  // namespace deepinfer::cpu
