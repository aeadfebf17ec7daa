// The parts of `deepinfer bench`; each measures something, prints a table and adds to a JSON report.
//
// Threading: one thread; the machine should be quiet.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/cpu/machine.h"
#include "base/json.h"
#include "deepinfer/config.h"
#include "deepinfer/status.h"

namespace deepinfer::cli {

// What the kernels reach alone, for the share that the whole model reaches of it.
struct KernelRates {
  double f8_bytes_per_second = 0;
  double f4_bytes_per_second = 0;
  double bf16_bytes_per_second = 0;
};

struct BenchContext {
  EngineConfig config;
  int32_t num_threads = 0;  // resolved
  int32_t num_repeats = 5;
  bool json = false;
  cpu::MachineLimits limits;
  KernelRates kernels;  // zero until the kernel part has run
  json::Value report = json::Value::Object();
};

// Read bandwidth and multiply-add peaks of the cores in use.
Status BenchMachine(BenchContext& context);

// Matrix-vector products on f8e4m3, f4e2m1 and bf16 weights and the matrix products of a prefill, at the released shapes.
Status BenchKernels(BenchContext& context);

// Decode at batch 1 and 8 and a prefill of 512 tokens through the whole engine, against the kernels alone and the machine's limits.
Status BenchModel(BenchContext& context);

// Time to the first token of a fresh process, tokens a second at batch 1 and at larger batches.
Status BenchEngine(BenchContext& context);

// Makes the benchmark's checkpoint (released widths, four layers) in `folder` unless it is there; returns its folder.
Result<std::string> MakeBenchCheckpoint(const std::string& folder, bool quiet);

// The middle of some measurements.
inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

// Seconds of one call.
template <typename Body>
double SecondsOf(const Body& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace deepinfer::cli
