// Argument checks of the op front ends.  A failed check is a bug of the caller: DI_CHECK.
//
// Only what the host can see is checked: presence, dtype, shape and extents of views.  Contents of
// device memory (positions, block numbers, indices) are the caller's promise.
// Threading: values.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "backend/op_table.h"
#include "backend/ops/common.h"
#include "backend/stream.h"
#include "base/check.h"
#include "tensor/tensor_view.h"

namespace deepinfer::ops {

// Activation dtype of a numeric mode.
constexpr DType ActDType(Numerics numerics) {
  return numerics == Numerics::kFp32 ? DType::kF32 : DType::kBF16;
}

// The checks of one call.  Every message starts with the op's and the argument's name.
class ArgCheck {
 public:
  // `op` must outlive the object: a literal.
  explicit ArgCheck(std::string_view op) : op_(op) {}

  // Present, of this dtype and shape.
  void Tensor(std::string_view name, const TensorView& view, DType dtype,
              std::initializer_list<int64_t> shape) const;

  // Present, f32 or bf16, with `num_dims` dimensions: where an op reads its sizes from.
  void Act(std::string_view name, const TensorView& view, int32_t num_dims) const;

  // A weight [num_rows, num_cols] of any stored format, with the scale that belongs to it.
  void Weight(std::string_view name, const WeightView& weight, int64_t num_rows,
              int64_t num_cols) const;

  // A bf16 weight [num_rows, num_cols] without scale.
  void Bf16Weight(std::string_view name, const WeightView& weight, int64_t num_rows,
                  int64_t num_cols) const;

  // Shapes of the per-row and per-sequence arrays; the block table where `needs_block_table`.
  void Batch(const BatchView& batch, bool needs_block_table) const;

  // The ring of `record_bytes` records lies inside a state slot and holds `min_len` of them.
  void Ring(std::string_view name, const RingView& ring, int64_t record_bytes,
            int32_t min_len) const;

  // `entries_per_block` records of `record_bytes` lie inside a block.
  void Pages(std::string_view name, const PagedRecords& pages, int64_t record_bytes) const;

  // Optional arguments that come together: all present, or all absent.
  void Together(std::string_view names, std::initializer_list<bool> is_present) const;

  // A condition between arguments, in words: Requires(n % 32 == 0, "N % 32 == 0").
  void Requires(bool condition, std::string_view what) const {
    DI_CHECK(condition, op_, ": expected ", what);
  }

 private:
  std::string_view op_;
};

// Calls the kernel of the stream's device.
template <typename Args>
void CallKernel(backend::Stream& stream, void (*kernel)(backend::Stream&, const Args&),
                std::string_view op, const Args& args) {
  DI_CHECK(kernel != nullptr, op, ": this device has no kernel");
  kernel(stream, args);
}

}  // namespace deepinfer::ops
