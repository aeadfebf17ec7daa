// Tensors with drawn contents, for the tests and benchmarks of this backend.
//
// Ownership: owns the memory of every view that it hands out.  Threading: thread-compatible.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "backend/ops/common.h"
#include "base/check.h"
#include "tensor/bf16.h"
#include "tensor/tensor_view.h"

namespace deepinfer::cpu {

class HostTensors {
 public:
  explicit HostTensors(uint32_t seed = 1) : rng_(seed) {}

  std::mt19937& rng() { return rng_; }

  // Zeroed.
  TensorView Empty(DType dtype, std::initializer_list<int64_t> shape) {
    const TensorView sized(nullptr, dtype, shape);
    constexpr size_t kAlignment = 64;
    memory_.push_back(std::make_unique<uint8_t[]>(sized.num_bytes() + kAlignment));
    const uintptr_t address = reinterpret_cast<uintptr_t>(memory_.back().get());
    return TensorView(memory_.back().get() + (kAlignment - address % kAlignment), dtype, shape);
  }

  // Normal numbers, f32 or bf16.
  TensorView Normal(DType dtype, std::initializer_list<int64_t> shape, float scale = 1.0f) {
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

  TensorView Ints(std::initializer_list<int64_t> shape, const std::vector<int32_t>& values) {
    const TensorView view = Empty(DType::kI32, shape);
    DI_CHECK(view.num_elements() == static_cast<int64_t>(values.size()), "size=", values.size());
    std::memcpy(view.data(), values.data(), view.num_bytes());
    return view;
  }

  // `num_rows` tokens of one sequence, behind `num_computed` others; its blocks are 0, 1, 2, ...
  ops::BatchView OneSequence(int32_t num_rows, int32_t num_computed) {
    std::vector<int32_t> positions(static_cast<size_t>(num_rows));
    std::iota(positions.begin(), positions.end(), num_computed);
    std::vector<int32_t> blocks(
        static_cast<size_t>((num_computed + num_rows) / ops::kBlockSize + 1));
    std::iota(blocks.begin(), blocks.end(), 0);
    const std::vector<int32_t> zeros(static_cast<size_t>(num_rows), 0);
    return {.num_tokens = num_rows,
            .num_seqs = 1,
            .positions = Ints({num_rows}, positions),
            .seq_idx = Ints({num_rows}, zeros),
            .cu_seqlens_q = Ints({2}, {0, num_rows}),
            .num_computed_tokens = Ints({1}, {num_computed}),
            .state_slot = Ints({1}, {0}),
            .block_table = Ints({1, static_cast<int64_t>(blocks.size())}, blocks)};
  }

 private:
  std::mt19937 rng_;
  std::vector<std::unique_ptr<uint8_t[]>> memory_;
};

}  // namespace deepinfer::cpu
