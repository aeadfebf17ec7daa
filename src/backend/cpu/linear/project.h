// The projection that every op with a weight in it is built on: y = x W^T, in f32.
//
// Bits: y[m, n] depends on row m of x, row n of the weight, K and the instruction set only; not on M, on
// N, on the number of threads or on the order of the work (model.md 12).
// Threading: called outside any region of the team; runs its own.
#pragma once

#include <cstdint>

#include "backend/cpu/cpu_stream.h"
#include "backend/ops/common.h"

namespace deepinfer::cpu {

// x [M, K] f32 or bf16, rows contiguous; weight [N, K] in any stored format; y [M, N] f32 with rows
// `y_stride` elements apart (>= N), not rounded.
//
// Intermediate arrays come from `arena`, which is the op's (CpuStream::NewOpArena).
void ProjectF32(CpuStream& stream, Arena& arena, const TensorView& x, const ops::WeightView& weight,
                float* y, int64_t y_stride);

}  // namespace deepinfer::cpu
