#include "backend/cpu/bench/weight_pool.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "tensor/bf16.h"
#include "tensor/quantize.h"

namespace deepinfer::cpu {
namespace {

// Rows of which the whole weight is made by repetition: drawing all would take minutes.
constexpr int64_t kDrawnRows = 32;

struct DrawnRows {
  std::vector<uint8_t> data, scale;
};

DrawnRows Draw(std::mt19937& rng, DType dtype, int64_t num_cols) {
  std::normal_distribution<float> normal(0.0f, 0.02f);
  std::vector<float> w(static_cast<size_t>(kDrawnRows * num_cols));
  for (float& value : w) value = normal(rng);
  DrawnRows rows;
  rows.data.resize(w.size() * BitsOf(dtype) / 8);
  if (dtype == DType::kF8E4M3) {
    rows.scale.resize(static_cast<size_t>((num_cols + 31) / 32));
    QuantizeWeightF8(w.data(), kDrawnRows, num_cols, rows.data.data(), rows.scale.data());
  } else if (dtype == DType::kF4E2M1) {
    rows.scale.resize(w.size() / 32);
    QuantizeWeightF4(w.data(), kDrawnRows, num_cols, rows.data.data(), rows.scale.data());
  } else if (dtype == DType::kBF16) {
    for (size_t i = 0; i < w.size(); ++i) {
      const bf16 value = F32ToBf16(w[i]);
      std::memcpy(rows.data.data() + 2 * i, &value, 2);
    }
  } else {
    std::memcpy(rows.data.data(), w.data(), rows.data.size());
  }
  return rows;
}

void Repeat(const std::vector<uint8_t>& pattern, const TensorView& out) {
  for (size_t at = 0; at < out.num_bytes(); at += pattern.size()) {
    std::memcpy(out.as<uint8_t>() + at, pattern.data(),
                std::min(pattern.size(), out.num_bytes() - at));
  }
}

}  // namespace

WeightPool::WeightPool(OpBench& bench, DType dtype, int64_t num_rows, int64_t num_cols,
                       int64_t min_bytes) {
  const DrawnRows drawn = Draw(bench.rng(), dtype, num_cols);
  do {
    ops::WeightView weight;
    weight.data = bench.Empty(dtype, {num_rows, num_cols});
    Repeat(drawn.data, weight.data);
    if (dtype == DType::kF8E4M3) {
      weight.scale = bench.Empty(DType::kUE8M0, {(num_rows + 31) / 32, (num_cols + 31) / 32});
    } else if (dtype == DType::kF4E2M1) {
      weight.scale = bench.Empty(DType::kUE8M0, {num_rows, num_cols / 32});
    }
    if (!weight.scale.empty()) Repeat(drawn.scale, weight.scale);
    num_bytes_ = static_cast<int64_t>(weight.data.num_bytes());
    if (!weight.scale.empty()) num_bytes_ += static_cast<int64_t>(weight.scale.num_bytes());
    copies_.push_back(weight);
  } while (static_cast<int64_t>(copies_.size()) * num_bytes_ < min_bytes);
}

const ops::WeightView& WeightPool::Next() {
  next_ = (next_ + 1) % copies_.size();
  return copies_[next_];
}

}  // namespace deepinfer::cpu
