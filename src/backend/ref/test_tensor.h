// Small tensors with an owner, and a stream of the reference backend, for the tests in this folder.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <vector>

#include "backend/device.h"
#include "backend/ref/ref_device.h"
#include "backend/stream.h"
#include "base/check.h"
#include "gtest/gtest.h"
#include "tensor/bf16.h"
#include "tensor/tensor_view.h"

namespace deepinfer::ref {

// A tensor and its bytes.  Movable; views stay valid as long as it lives.
class TestTensor {
 public:
  TestTensor() = default;  // an absent argument
  TestTensor(DType dtype, std::initializer_list<int64_t> shape)
      : bytes_(TensorView(nullptr, dtype, shape).num_bytes() + 1),  // never null, even when empty
        view_(bytes_.data(), dtype, shape) {}
  TestTensor(TestTensor&&) = default;
  TestTensor& operator=(TestTensor&&) = default;

  operator TensorView() const { return view_; }  // NOLINT: stands for its view
  const TensorView& view() const { return view_; }

  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(bytes_.data());
  }
  // Element `i` of an f32 or bf16 tensor.
  float operator[](int64_t i) const {
    return view_.dtype() == DType::kF32 ? view_.as<float>()[i] : Bf16ToF32(view_.as<bf16>()[i]);
  }
  std::vector<float> values() const {
    std::vector<float> all(view_.num_elements());
    for (size_t i = 0; i < all.size(); ++i) all[i] = (*this)[static_cast<int64_t>(i)];
    return all;
  }

 private:
  std::vector<uint8_t> bytes_;
  TensorView view_;
};

// An f32 tensor; `values` fill it in order and the rest is zero.
inline TestTensor F32(std::initializer_list<int64_t> shape, const std::vector<float>& values = {}) {
  TestTensor tensor(DType::kF32, shape);
  if (!values.empty()) std::memcpy(tensor.as<float>(), values.data(), values.size() * 4);
  return tensor;
}

inline TestTensor Bf16(std::initializer_list<int64_t> shape,
                       const std::vector<float>& values = {}) {
  TestTensor tensor(DType::kBF16, shape);
  for (size_t i = 0; i < values.size(); ++i) tensor.as<bf16>()[i] = F32ToBf16(values[i]);
  return tensor;
}

// A tensor of integers or bytes (i32, i64, u8 or a byte format).
template <typename T>
TestTensor Filled(DType dtype, std::initializer_list<int64_t> shape,
                  const std::vector<T>& values = {}) {
  TestTensor tensor(dtype, shape);
  if (!values.empty()) std::memcpy(tensor.as<T>(), values.data(), values.size() * sizeof(T));
  return tensor;
}
inline TestTensor I32(std::initializer_list<int64_t> shape, const std::vector<int32_t>& v = {}) {
  return Filled<int32_t>(DType::kI32, shape, v);
}
inline TestTensor U8(std::initializer_list<int64_t> shape, const std::vector<uint8_t>& v = {}) {
  return Filled<uint8_t>(DType::kU8, shape, v);
}

// n values, `hot` at `index` and zero elsewhere.
inline std::vector<float> OneHot(int64_t n, int64_t index, float hot = 1.0f) {
  std::vector<float> values(n, 0.0f);
  values[index] = hot;
  return values;
}

// The n x n identity.
inline std::vector<float> Identity(int64_t n) {
  std::vector<float> values(n * n, 0.0f);
  for (int64_t i = 0; i < n; ++i) values[i * n + i] = 1.0f;
  return values;
}

// One sequence with `num_computed_tokens` behind it and `num_new_tokens` rows now, state slot 0 and
// the blocks 1, 2, ...
class TestBatch {
 public:
  TestBatch(int32_t num_computed_tokens, int32_t num_new_tokens)
      : positions_(I32({num_new_tokens})),
        seq_idx_(I32({num_new_tokens})),
        cu_seqlens_q_(I32({2}, {0, num_new_tokens})),
        num_computed_tokens_(I32({1}, {num_computed_tokens})),
        state_slot_(I32({1}, {0})),
        block_table_(I32({1, 4}, {1, 2, 3, 4})) {
    for (int32_t i = 0; i < num_new_tokens; ++i) {
      positions_.as<int32_t>()[i] = num_computed_tokens + i;
    }
    view_ = {num_new_tokens,       1,           positions_,  seq_idx_, cu_seqlens_q_,
             num_computed_tokens_, state_slot_, block_table_};
  }
  TestBatch(const TestBatch&) = delete;
  TestBatch& operator=(const TestBatch&) = delete;

  const ops::BatchView& view() const { return view_; }

 private:
  TestTensor positions_, seq_idx_, cu_seqlens_q_, num_computed_tokens_, state_slot_, block_table_;
  ops::BatchView view_;
};

class RefTest : public testing::Test {
 protected:
  backend::Stream& stream() { return *stream_; }

 private:
  std::unique_ptr<backend::Device> device_ = CreateRefDevice();
  std::unique_ptr<backend::Stream> stream_ = device_->CreateStream();
};

}  // namespace deepinfer::ref
