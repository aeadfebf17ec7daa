#include "backend/cpu/bench/op_bench.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "backend/cpu/cpu_device.h"
#include "backend/cpu/machine.h"
#include "backend/cpu/team.h"
#include "backend/ref/ref_device.h"
#include "tensor/bf16.h"

namespace deepinfer::cpu {
namespace {

float ValueAt(const TensorView& view, int64_t i) {
  return view.dtype() == DType::kF32 ? view.as<float>()[i] : Bf16ToF32(view.as<bf16>()[i]);
}

}  // namespace

OpBench::OpBench(benchmark::State& state, const std::string& isa, int32_t num_threads)
    : state_(state), num_threads_(num_threads == 0 ? NumUsableCores() : num_threads) {
  const Result<Isa> parsed = ParseIsa(isa);
  if (!parsed.ok() || !HasIsa(*parsed)) {
    state.SkipWithError("this machine lacks the instruction set");
    return;
  }
  isa_ = *parsed;
  device_ = std::move(CreateCpuDevice({.num_threads = num_threads_, .isa = *parsed})).value();
  stream_ = device_->CreateStream();
  ref_device_ = ref::CreateRefDevice();
  ref_stream_ = ref_device_->CreateStream();
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

void OpBench::ReportFlops(double flops, DType act) {
  // Clocks hold still: once a process is enough.
  static std::map<std::pair<Isa, int32_t>, double> peaks[2];
  const bool is_bf16 = act == DType::kBF16;
  double& peak = peaks[is_bf16][{isa_, num_threads_}];
  if (peak == 0) {
    Team team(num_threads_);
    peak = MeasureF32Flops(team, isa_);
    if (is_bf16) peak = std::max(peak, MeasureBf16Flops(team, isa_));
  }
  const auto rate = benchmark::Counter::kIsIterationInvariantRate;
  state_.counters["FLOP/s"] = benchmark::Counter(flops, rate);
  state_.counters["of_peak"] = benchmark::Counter(flops / peak, rate);
}

void OpBench::ReportBytes(double bytes) {
  // On a shared host the bandwidth moves by half within a minute: it is measured beside every run.
  Team team(num_threads_);
  const double peak = MeasureReadBandwidth(team).value();
  const auto rate = benchmark::Counter::kIsIterationInvariantRate;
  state_.counters["B/s"] = benchmark::Counter(bytes, rate);
  state_.counters["of_read_bandwidth"] = benchmark::Counter(bytes / peak, rate);
}

}  // namespace deepinfer::cpu
