// Projections: y = x W^T on stored weights.
#pragma once

#include "backend/ops/common.h"
#include "backend/stream.h"

namespace deepinfer::ops {

// How a result leaves an op.
enum class OutputFormat : int32_t {
  kActivation,  // the dtype of y, one rounding from fp32
  kQuantized,   // mode P: Q8 of the fp32 value along the whole row of y, as the bf16 number
                // code * 2^k, which is exact
};

// y = x W^T.
//
//   x       [M, K]   act or f32    in
//   weight  [N, K]   any format    in
//   y       [M, N]   act or f32    out; f32 = "fp32 out", not rounded
//
// Accumulates in f32 in an order that depends on K and the instruction set only, never on M
// (model.md 12).
struct LinearArgs {
  TensorView x;
  WeightView weight;
  TensorView y;
  OutputFormat output = OutputFormat::kActivation;
};
void Linear(backend::Stream& stream, const LinearArgs& args);

// Block-diagonal projection: z[:, g] = x[:, g] W_g^T for g < num_groups (model.md 6.6, wo_a).
//
//   x       [M, num_groups * K]  act  in
//   weight  [num_groups * N, K]       in; rows g*N .. (g+1)*N belong to group g
//   y       [M, num_groups * N]  act  out
struct GroupedLinearArgs {
  TensorView x;
  WeightView weight;
  int32_t num_groups = 1;
  TensorView y;
  OutputFormat output = OutputFormat::kActivation;
};
void GroupedLinear(backend::Stream& stream, const GroupedLinearArgs& args);

}  // namespace deepinfer::ops
