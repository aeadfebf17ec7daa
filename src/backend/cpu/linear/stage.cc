#include "backend/cpu/linear/stage.h"

#include <cstring>

#include "base/check.h"
#include "tensor/bf16.h"

namespace deepinfer::cpu {
namespace {

// Rows whose distance is a multiple of the L1 cache's span would all meet in the same few sets.
constexpr int64_t kRowSkewBytes = 128;

// Below this many elements a region costs more than it saves.
constexpr int64_t kInlineElements = 16 << 10;

float Convert(float value, float) { return value; }
float Convert(uint16_t bits, float) { return Bf16ToF32(bf16{bits}); }
uint16_t Convert(uint16_t bits, uint16_t) { return bits; }

// The incomplete last chunk of a row, from column `begin` on, with zeros behind it.
template <typename In, typename Out>
void StageEnd(const In* in, int64_t begin, int64_t num_cols, const uint8_t* order, Out* out) {
  for (int64_t i = begin; i < StagedCols(num_cols); ++i) {
    const int64_t column = order == nullptr ? i : begin + order[i - begin];
    out[i] = column < num_cols ? Convert(in[column], Out{}) : Out{0};
  }
}

template <typename In, typename Out>
void StageRow(const In* in, DType dtype, int64_t num_cols, const TileKernel& kernel, Out* out) {
  const int64_t num_whole = num_cols / kChunk * kChunk;
  if (kernel.stage != nullptr) {
    kernel.stage(in, dtype, num_whole / kChunk, out);
  } else {
    for (int64_t i = 0; i < num_whole; ++i) out[i] = Convert(in[i], Out{});
  }
  if (num_whole < num_cols) StageEnd(in, num_whole, num_cols, kernel.column_order, out);
}

void StageRowOf(const RowsView& rows, int64_t row, const TileKernel& kernel, void* out) {
  if (rows.dtype == DType::kF32) {
    const float* in = static_cast<const float*>(rows.data) + row * rows.row_stride;
    StageRow(in, rows.dtype, rows.num_cols, kernel, static_cast<float*>(out));
  } else {
    const uint16_t* in = static_cast<const uint16_t*>(rows.data) + row * rows.row_stride;
    if (kernel.x_dtype == DType::kF32) {
      StageRow(in, rows.dtype, rows.num_cols, kernel, static_cast<float*>(out));
    } else {
      StageRow(in, rows.dtype, rows.num_cols, kernel, static_cast<uint16_t*>(out));
    }
  }
}

}  // namespace

const void* const* StageRows(Team& team, Arena& arena, const RowsView& rows,
                             const TileKernel& kernel) {
  DI_CHECK(rows.dtype == kernel.x_dtype || kernel.x_dtype == DType::kF32,
           "cannot stage f32 rows as bf16");
  const int64_t element_bytes = kernel.x_dtype == DType::kF32 ? 4 : 2;
  const void** pointers = arena.AllocArray<const void*>(rows.num_rows);
  const bool is_ready =
      rows.dtype == kernel.x_dtype && kernel.column_order == nullptr && rows.num_cols % kChunk == 0;
  if (is_ready && rows.num_rows <= 8) {
    for (int64_t i = 0; i < rows.num_rows; ++i) {
      pointers[i] = static_cast<const char*>(rows.data) + i * rows.row_stride * element_bytes;
    }
    return pointers;
  }
  const int64_t row_bytes = StagedCols(rows.num_cols) * element_bytes + kRowSkewBytes;
  char* staged = static_cast<char*>(arena.Alloc(static_cast<size_t>(rows.num_rows * row_bytes)));
  const auto stage = [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t i = begin; i < end; ++i) {
      pointers[i] = staged + i * row_bytes;
      StageRowOf(rows, i, kernel, staged + i * row_bytes);
    }
  };
  if (rows.num_rows * rows.num_cols < kInlineElements) {
    stage(0, rows.num_rows, 0);
  } else {
    team.ParallelFor(rows.num_rows, stage);
  }
  return pointers;
}

const void* const* StagedRows::For(DType weight) {
  const TileKernel& kernel = KernelFor(weight);
  for (int32_t i = 0; i < num_staged_; ++i) {
    if (kernels_[i] == &kernel) return staged_[i];
  }
  DI_CHECK(num_staged_ < kMaxKernels, "more kernels than weight formats");
  kernels_[num_staged_] = &kernel;
  staged_[num_staged_] = StageRows(stream_.team(), arena_, rows_, kernel);
  return staged_[num_staged_++];
}

GemmJob StagedRows::JobFor(const ops::WeightView& weight) {
  GemmJob job;
  job.kernel = &KernelFor(weight.data.dtype());
  job.rows = For(weight.data.dtype());
  job.num_rows = rows_.num_rows;
  job.weight = &weight;
  job.n_end = weight.num_rows();
  return job;
}

}  // namespace deepinfer::cpu
