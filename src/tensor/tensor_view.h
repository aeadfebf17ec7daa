// A typed, shaped, contiguous (row-major) window into memory that something else owns.
//
// It does not own, allocate or copy.  The memory may be host or device memory: nothing in here
// touches it.
// An empty view (data == nullptr) stands for an absent optional argument.
// Threading: a value; thread-compatible.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "base/check.h"
#include "base/strings.h"
#include "tensor/dtype.h"

namespace deepinfer {

class TensorView {
 public:
  static constexpr int32_t kMaxDims = 5;

  TensorView() = default;

  // Requires at most kMaxDims dims, each >= 0.
  TensorView(void* data, DType dtype, std::initializer_list<int64_t> shape)
      : data_(data), dtype_(dtype), num_dims_(static_cast<int32_t>(shape.size())) {
    DI_CHECK(num_dims_ <= kMaxDims, "num_dims=", num_dims_);
    int32_t i = 0;
    for (const int64_t dim : shape) {
      DI_CHECK(dim >= 0, "dim=", dim);
      shape_[i++] = dim;
    }
  }

  bool empty() const {
    return data_ == nullptr;
  }  // absent, which is not the same as having no rows
  void* data() const { return data_; }
  DType dtype() const { return dtype_; }
  int32_t num_dims() const { return num_dims_; }
  int64_t dim(int32_t i) const { return shape_[i]; }
  int64_t num_elements() const {
    int64_t n = 1;
    for (int32_t i = 0; i < num_dims_; ++i) n *= shape_[i];
    return n;
  }
  size_t num_bytes() const { return static_cast<size_t>(num_elements()) * BitsOf(dtype_) / 8; }

  // Elements in one row of the leading axis; 1 for a vector.
  int64_t row_elements() const {
    int64_t n = 1;
    for (int32_t i = 1; i < num_dims_; ++i) n *= shape_[i];
    return n;
  }
  size_t row_bytes() const { return static_cast<size_t>(row_elements()) * BitsOf(dtype_) / 8; }

  // The first element as T.  The caller vouches that T matches dtype().
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

  // Rows [begin, begin + count) of the leading axis.  Rows must be whole bytes.
  TensorView Rows(int64_t begin, int64_t count) const {
    DI_CHECK(num_dims_ >= 1 && begin >= 0 && count >= 0 && begin + count <= shape_[0],
             "begin=", begin, " count=", count, " rows=", shape_[0]);
    TensorView view = *this;
    view.data_ = static_cast<char*>(data_) + static_cast<size_t>(begin) * row_bytes();
    view.shape_[0] = count;
    return view;
  }

  // The same elements in another shape.  Requires an equal number of elements.
  TensorView Reshaped(std::initializer_list<int64_t> shape) const {
    TensorView view(data_, dtype_, shape);
    DI_CHECK(view.num_elements() == num_elements(), "elements=", num_elements());
    return view;
  }

  // "bf16[7, 5120]"
  std::string ToString() const {
    std::string out = StrCat(DTypeName(dtype_), "[");
    for (int32_t i = 0; i < num_dims_; ++i) out += StrCat(i > 0 ? ", " : "", shape_[i]);
    return out + "]";
  }

 private:
  void* data_ = nullptr;
  DType dtype_ = DType::kU8;
  int32_t num_dims_ = 0;
  std::array<int64_t, kMaxDims> shape_ = {};
};

}  // namespace deepinfer
