// The kernels under every projection: a tile of up to 32 weight rows times the rows of x.
//
// One kernel serves one instruction set, one type of x and one weight format.  Per tile it reads
// the weights once, decodes them exactly (code times scale) in registers or into a panel that fits
// the L2 cache, and multiplies them with up to kMaxTileTokens rows of x.
//
// Bits: every product sum y[m, n] has one accumulator vector.  Lane l adds the columns that
// `column_order` puts into lane l, ascending by chunk of kChunk columns, and the lanes are summed in
// one fixed order at the end.  How many rows of x or of the weight run at a time changes nothing.
// Weights are finite numbers: the NaN codes of f8e4m3 are not told from 480.
// Threading: pure functions; the scratch belongs to the calling thread.
#pragma once

#include <cstdint>

#include "backend/cpu/isa.h"
#include "backend/cpu/team.h"
#include "tensor/dtype.h"

namespace deepinfer::cpu {

inline constexpr int64_t kChunk = 64;          // columns that are decoded at a time
inline constexpr int32_t kTileRows = 32;       // weight rows of a tile: those that share f8 scales
inline constexpr int32_t kMaxTileTokens = 96;  // rows of x at a time, so that sums stay in the L2
inline constexpr int32_t kPackTokens = 16;     // rows of x in one AMX tile

// Columns of a staged row: num_cols up to whole chunks.
constexpr int64_t StagedCols(int64_t num_cols) { return (num_cols + kChunk - 1) / kChunk * kChunk; }

struct TileArgs {
  // Staged rows of x: StagedCols(num_cols) elements of TileKernel::x_dtype in its column order,
  // zero behind num_cols; aligned to 64 bytes.  Kernels with `pack` read x_packed instead.
  const void* const* x = nullptr;
  const void* x_packed = nullptr;  // of the first row, which is a multiple of kPackTokens
  int32_t num_tokens = 0;          // 1 .. kMaxTileTokens

  const uint8_t* weight = nullptr;  // first row of the tile
  const uint8_t* scale = nullptr;   // f4e2m1: scales of the first row; f8e4m3: of its band of rows
  int32_t num_rows = 0;             // 1 .. kTileRows; with f8e4m3 all within one band
  int64_t num_cols = 0;

  float* y = nullptr;  // [num_tokens, kTileRows] out; columns >= num_rows are unspecified
};

// For weight formats without scales that the rows of a tile share.
struct NothingShared {};

struct TileKernel {
  DType x_dtype = DType::kF32;
  // Element i of a staged chunk is column column_order[i] of the chunk; null for the plain order.
  const uint8_t* column_order = nullptr;
  void (*run)(const TileArgs& args, Scratch& scratch) = nullptr;
  // Writes `num_chunks` whole chunks of x, f32 or bf16, in the kernel's type and order.  Null where
  // column_order is null.
  void (*stage)(const void* x, DType dtype, int64_t num_chunks, void* out) = nullptr;
  // Rearranges one group of up to kPackTokens staged rows for `run`: kPackTokens *
  // StagedCols(num_cols) elements.  Null where `run` takes staged rows.
  void (*pack)(const void* const* rows, int32_t num_rows, int64_t num_cols, void* packed) = nullptr;
};

// The kernel for x of dtype `x` (f32 or bf16) on weights of dtype `weight` (f32, bf16, f8e4m3 or
// f4e2m1).  x_dtype of the result may be f32 for a bf16 x: then rows are widened when staged.
const TileKernel& FindTileKernel(Isa isa, DType x, DType weight);

}  // namespace deepinfer::cpu
