// The projections alone, at the shapes of the released model.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <memory>
#include <vector>

#include "backend/all/registry.h"
#include "backend/device.h"
#include "backend/ops/linear.h"
#include "backend/stream.h"
#include "cli/bench.h"
#include "tensor/tensor_view.h"

namespace deepinfer::cli {
namespace {

struct Shape {
  const char* name;
  DType dtype;
  int64_t num_rows;
  int64_t num_cols;
};

constexpr Shape kShapes[] = {
    {"wq_b", DType::kF8E4M3, 32768, 1280},     {"wo_b", DType::kF8E4M3, 5120, 8192},
    {"wq_a", DType::kF8E4M3, 1280, 5120},      {"expert w1", DType::kF4E2M1, 2304, 5120},
    {"expert w2", DType::kF4E2M1, 5120, 2304}, {"head", DType::kBF16, 8192, 5120},
};

// Enough copies of a weight that none is still in a cache when its turn comes again.
constexpr int64_t kColdBytes = int64_t{512} << 20;
constexpr int64_t kPrefillRows = 512;

// A device, its memory, and random tensors in it.
class KernelBench {
 public:
  static Result<std::unique_ptr<KernelBench>> Create(const BenchContext& context) {
    auto bench = std::make_unique<KernelBench>();
    DI_ASSIGN_OR_RETURN(bench->device_, backend::CreateDevice({.name = "cpu",
                                                               .num_threads = context.num_threads,
                                                               .isa = context.config.isa}));
    bench->stream_ = bench->device_->CreateStream();
    return bench;
  }

  backend::Stream& stream() { return *stream_; }

  Result<TensorView> Random(DType dtype, std::initializer_list<int64_t> shape) {
    const TensorView probe(nullptr, dtype, shape);
    DI_ASSIGN_OR_RETURN(Buffer buffer, device_->Allocate(probe.num_bytes()));
    const TensorView tensor(buffer.data(), dtype, shape);
    Fill(tensor);
    buffers_.push_back(std::move(buffer));
    return tensor;
  }

  Result<ops::WeightView> RandomWeight(const Shape& s) {
    ops::WeightView weight;
    DI_ASSIGN_OR_RETURN(weight.data, Random(s.dtype, {s.num_rows, s.num_cols}));
    if (s.dtype == DType::kF8E4M3) {
      DI_ASSIGN_OR_RETURN(weight.scale,
                          Random(DType::kUE8M0, {(s.num_rows + 31) / 32, s.num_cols / 32}));
    } else if (s.dtype == DType::kF4E2M1) {
      DI_ASSIGN_OR_RETURN(weight.scale, Random(DType::kUE8M0, {s.num_rows, s.num_cols / 32}));
    }
    return weight;
  }

  void FreeAll() { buffers_.clear(); }

 private:
  // Geometric: k with probability 2^-(k+1).
  static uint64_t LeadingOnes(uint64_t bits) {
    return static_cast<uint64_t>(std::countl_one(bits));
  }

  void Fill(const TensorView& tensor) {
    uint64_t state = 0x9E3779B97F4A7C15u;
    const auto next = [&state] {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      return state;
    };
    const int64_t n = tensor.num_elements();
    switch (tensor.dtype()) {
      case DType::kF32:
        for (int64_t i = 0; i < n; ++i) {
          tensor.as<float>()[i] = static_cast<float>(next() >> 40) / 8388608.0f - 1.0f;
        }
        break;
      case DType::kBF16:  // sign, exponents 2^-4 .. 2^-1
        for (int64_t i = 0; i < n; ++i) {
          const uint64_t bits = next();
          tensor.as<uint16_t>()[i] =
              static_cast<uint16_t>((bits & 0x807f) | (123 + (bits >> 60) % 4) << 7);
        }
        break;
      case DType::kUE8M0:
        for (int64_t i = 0; i < n; ++i) {
          tensor.as<uint8_t>()[i] = static_cast<uint8_t>(118 + next() % 4);
        }
        break;
      case DType::kF8E4M3:
        // Exponents as those of a quantised normal distribution: hardly a code is subnormal, which some processors
        // multiply slowly in f32.
        for (int64_t i = 0; i < n; ++i) {
          const uint64_t bits = next();
          tensor.as<uint8_t>()[i] = static_cast<uint8_t>(
              (bits & 0x87) | (14 - std::min<uint64_t>(13, LeadingOnes(bits))) << 3);
        }
        break;
      default:  // f4e2m1: every byte is two codes
        for (int64_t i = 0; i < static_cast<int64_t>(tensor.num_bytes()); ++i) {
          tensor.as<uint8_t>()[i] = static_cast<uint8_t>(next());
        }
    }
  }

  std::unique_ptr<backend::Device> device_;
  std::unique_ptr<backend::Stream> stream_;
  std::vector<Buffer> buffers_;
};

int64_t BytesOf(const ops::WeightView& weight) {
  return static_cast<int64_t>(weight.data.num_bytes() + weight.scale.num_bytes());
}

// Bytes a second of `num_x` rows times cold copies of one weight.
Result<double> MeasureVector(KernelBench& bench, const Shape& shape, DType act, int32_t repeats) {
  std::vector<ops::WeightView> copies;
  int64_t bytes = 0;
  do {
    DI_ASSIGN_OR_RETURN(copies.emplace_back(), bench.RandomWeight(shape));
    bytes += BytesOf(copies.back());
  } while (bytes < kColdBytes);
  DI_ASSIGN_OR_RETURN(const TensorView x, bench.Random(act, {1, shape.num_cols}));
  DI_ASSIGN_OR_RETURN(const TensorView y, bench.Random(act, {1, shape.num_rows}));
  std::vector<double> seconds;
  for (int32_t i = 0; i <= repeats; ++i) {
    const double s = SecondsOf([&] {
      for (const ops::WeightView& weight : copies) {
        ops::Linear(bench.stream(), {.x = x, .weight = weight, .y = y});
      }
      bench.stream().Synchronize();
    });
    if (i > 0) seconds.push_back(s);  // the first warms up
  }
  bench.FreeAll();
  return static_cast<double>(bytes) / Median(seconds);
}

// Flops a second of a prefill's rows.
Result<double> MeasureMatrix(KernelBench& bench, const Shape& shape, DType act, int32_t repeats) {
  DI_ASSIGN_OR_RETURN(const ops::WeightView weight, bench.RandomWeight(shape));
  DI_ASSIGN_OR_RETURN(const TensorView x, bench.Random(act, {kPrefillRows, shape.num_cols}));
  DI_ASSIGN_OR_RETURN(const TensorView y, bench.Random(act, {kPrefillRows, shape.num_rows}));
  std::vector<double> seconds;
  for (int32_t i = 0; i <= repeats; ++i) {
    const double s = SecondsOf([&] {
      ops::Linear(bench.stream(), {.x = x, .weight = weight, .y = y});
      bench.stream().Synchronize();
    });
    if (i > 0) seconds.push_back(s);
  }
  bench.FreeAll();
  return 2.0 * static_cast<double>(kPrefillRows * shape.num_rows * shape.num_cols) /
         Median(seconds);
}

double& RateOf(KernelRates& rates, DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3:
      return rates.f8_bytes_per_second;
    case DType::kF4E2M1:
      return rates.f4_bytes_per_second;
    default:
      return rates.bf16_bytes_per_second;
  }
}

}  // namespace

Status BenchKernels(BenchContext& context) {
  DI_ASSIGN_OR_RETURN(const std::unique_ptr<KernelBench> bench, KernelBench::Create(context));
  const bool is_f32 = context.config.numerics == Numerics::kFp32;
  const DType act = is_f32 ? DType::kF32 : DType::kBF16;
  const double peak = is_f32 || context.limits.bf16_flops_per_s == 0
                          ? context.limits.f32_flops_per_s
                          : context.limits.bf16_flops_per_s;
  const double bandwidth = context.limits.read_bytes_per_s;
  json::Value rows = json::Value::Array();
  if (!context.json) {
    std::printf(
        "\nkernels, %s activations   weights  1 row: GB/s  of bandwidth   %d rows: GFLOP/s  of "
        "peak\n",
        is_f32 ? "f32" : "bf16", static_cast<int32_t>(kPrefillRows));
  }
  for (const Shape& shape : kShapes) {
    DI_ASSIGN_OR_RETURN(const double bytes, MeasureVector(*bench, shape, act, context.num_repeats));
    DI_ASSIGN_OR_RETURN(const double flops, MeasureMatrix(*bench, shape, act, 3));
    // The largest weight of a format stands for it: it has the most bytes of a step.
    double& rate = RateOf(context.kernels, shape.dtype);
    if (rate == 0) rate = bytes;
    json::Value row = json::Value::Object();
    row.Set("name", shape.name);
    row.Set("dtype", DTypeName(shape.dtype));
    row.Set("gb_per_second", bytes / 1e9);
    row.Set("share_of_bandwidth", bytes / bandwidth);
    row.Set("gflops", flops / 1e9);
    row.Set("share_of_peak", flops / peak);
    rows.Append(std::move(row));
    if (!context.json) {
      std::printf("  %-10s %6lld x %-6lld  %-6s  %10.1f  %11.0f%%  %17.0f  %6.0f%%\n", shape.name,
                  static_cast<long long>(shape.num_rows), static_cast<long long>(shape.num_cols),
                  std::string(DTypeName(shape.dtype)).c_str(), bytes / 1e9, 100 * bytes / bandwidth,
                  flops / 1e9, 100 * flops / peak);
    }
  }
  context.report.Set("kernels", std::move(rows));
  return OkStatus();
}

}  // namespace deepinfer::cli
