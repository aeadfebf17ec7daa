// RopeCosSin (contract: backend/ops/attention.h; mathematics: model.md 5).
#include <cmath>

#include "backend/cpu/attention/attention_kernels.h"
#include "backend/cpu/cpu_stream.h"

namespace deepinfer::cpu {

void RopeCosSin(backend::Stream& stream, const ops::RopeCosSinArgs& args) {
  const int64_t num_rows = args.positions.dim(0);
  const int64_t num_pairs = args.freqs.dim(0);
  const int32_t* positions = args.positions.as<int32_t>();
  const float* freqs = args.freqs.as<float>();
  float* out = args.cos_sin.as<float>();
  const auto rows = [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t row = begin; row < end; ++row) {
      const float position = static_cast<float>(positions[row] / args.multiple * args.multiple);
      float* pair = out + row * num_pairs * 2;
      for (int64_t i = 0; i < num_pairs; ++i) {
        // The product is rounded to fp32 before the reduction: that is the model's angle.
        const float product = position * freqs[i];
        const double angle = static_cast<double>(product);
        pair[2 * i] = static_cast<float>(std::cos(angle));
        pair[2 * i + 1] = static_cast<float>(std::sin(angle));
      }
    }
  };
  constexpr int64_t kMinParallelPairs = 512;  // about 20 us
  if (num_rows * num_pairs < kMinParallelPairs) {
    rows(0, num_rows, 0);
  } else {
    CpuStream::From(stream).team().ParallelFor(num_rows, rows);
  }
}

}  // namespace deepinfer::cpu
