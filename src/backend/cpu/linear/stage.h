// Rows of x in the form that tile kernels read: the kernel's type and column order, whole chunks.
//
// Threading: called by the caller of the team, outside its regions.
#pragma once

#include <cstdint>

#include "backend/cpu/arena.h"
#include "backend/cpu/cpu_stream.h"
#include "backend/cpu/linear/gemm_jobs.h"
#include "backend/cpu/linear/tile_kernel.h"
#include "backend/cpu/team.h"
#include "tensor/tensor_view.h"

namespace deepinfer::cpu {

// Where rows of activations are: row i starts at data + i * row_stride elements of `dtype`.
struct RowsView {
  const void* data = nullptr;
  DType dtype = DType::kF32;  // f32 or bf16
  int64_t num_rows = 0;
  int64_t num_cols = 0;
  int64_t row_stride = 0;
};

inline RowsView RowsOf(const TensorView& x) {
  return {x.data(), x.dtype(), x.dim(0), x.row_elements(), x.row_elements()};
}

// A pointer to each row, staged for `kernel`.  Rows that have the right form already are used where
// they are.  The result and what it points to live in `arena`, or are `rows` themselves.
const void* const* StageRows(Team& team, Arena& arena, const RowsView& rows,
                             const TileKernel& kernel);

// Rows of x that meet several weights: staged once for each kernel, when first asked for.
//
// Ownership: refers to the stream, the arena and the rows; results live in the arena.
class StagedRows {
 public:
  StagedRows(CpuStream& stream, Arena& arena, const RowsView& rows)
      : stream_(stream), arena_(arena), rows_(rows) {}

  // The kernel for these rows and a weight of this dtype.
  const TileKernel& KernelFor(DType weight) const {
    return FindTileKernel(stream_.isa(), rows_.dtype, weight);
  }

  // A pointer to each row, staged for KernelFor(weight).
  const void* const* For(DType weight);

  // All rows times all rows of `weight`, without a sink.
  GemmJob JobFor(const ops::WeightView& weight);

 private:
  static constexpr int32_t kMaxKernels = 4;  // one a weight format

  CpuStream& stream_;
  Arena& arena_;
  const RowsView rows_;
  int32_t num_staged_ = 0;
  const TileKernel* kernels_[kMaxKernels] = {};
  const void* const* staged_[kMaxKernels] = {};
};

}  // namespace deepinfer::cpu
