// What the micro-benchmarks of this backend share: a device, tensors, and the machine's own peaks.
//
// Peaks are measured in the same process on the cores in use, so that every benchmark can print the
// share of them that it reaches.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <string>

#include "backend/cpu/isa.h"
#include "backend/cpu/testing/host_tensors.h"
#include "backend/device.h"
#include "backend/stream.h"
#include "tensor/tensor_view.h"

namespace deepinfer::cpu {

class OpBench : public HostTensors {
 public:
  // A device for instruction set `isa` ("avx2", "avx512", ...) with `num_threads` (0 = all cores).
  // Benchmarks skip themselves with a message when is_usable() is false.
  OpBench(benchmark::State& state, const std::string& isa, int32_t num_threads);

  bool is_usable() const { return device_ != nullptr; }
  backend::Stream& stream() { return *stream_; }
  backend::Stream& ref_stream() { return *ref_stream_; }

  // ||a - b|| / ||b|| of two tensors of equal shape, f32 or bf16.
  static double RelativeError(const TensorView& a, const TensorView& b);

  // Stops the benchmark when the error is larger: a fast wrong kernel must not be reported.
  void CheckError(double error, double limit);

  // Counters "FLOP/s" and "of_peak", from the flops of one iteration: of the f32 peak, or with bf16
  // activations of the widest multiply-adds that the instruction set has.
  void ReportFlops(double flops, DType act = DType::kF32);
  // Counters "B/s" and "of_read_bandwidth", from the bytes of one iteration.
  void ReportBytes(double bytes);

 private:
  benchmark::State& state_;
  std::unique_ptr<backend::Device> device_, ref_device_;
  std::unique_ptr<backend::Stream> stream_, ref_stream_;
  Isa isa_ = Isa::kAvx2;
  int32_t num_threads_ = 0;
};

}  // namespace deepinfer::cpu
