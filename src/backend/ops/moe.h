// Router and experts (model.md 11).
#pragma once

#include <span>

#include "backend/ops/common.h"
#include "backend/stream.h"

namespace deepinfer::ops {

// Picks num_experts_per_token experts a row.
//
//   z      = (x gate^T) / gate_temp
//   s      = sqrt(softplus(z)), softplus(z) = z above 20, else log1p(exp(z))
//   the A largest s + bias win; ties, and NaN, which counts as -inf: the smaller expert
//   weight = s / (sum of the chosen s + 1e-20) * routed_scaling_factor; A = 1: not normalised
//
//   x             [T, D]  act  in; the unquantised x
//   gate          [E, D]  bf16 in
//   bias          [E]     f32  in; moves the choice only
//   bias_vl       [E]     f32  in, opt; for rows with is_image
//   is_image      [T]     u8   in, opt
//   expert_idx    [T, A]  i32  out; ascending in each row, the order of every later sum
//   expert_weight [T, A]  f32  out
struct RouteArgs {
  TensorView x;
  WeightView gate;
  TensorView bias, bias_vl, is_image;
  float gate_temp = 1;
  float routed_scaling_factor = 1;
  TensorView expert_idx, expert_weight;
};
void Route(backend::Stream& stream, const RouteArgs& args);

// One expert: w1 = gate, w3 = up, w2 = down.
struct ExpertWeights {
  WeightView w1, w3;  // [I, D]
  WeightView w2;      // [D, I]
};

// a = silu(min(gate, lim)) * clamp(up, -lim, lim) * weight, for the chosen experts and for the
// shared one (weight 1).
//
// gate and up are rounded to act first.  Mode P writes Q8(a) of the fp32 a as exact bf16 numbers,
// mode B rounds a to bf16.
//
//   x             [T, D]     act  in; in mode P the quantised x
//   experts       [E]             in; host memory that must stay valid until the stream has run
//   shared                        in; likewise
//   expert_idx    [T, A]     i32  in; ascending in each row
//   expert_weight [T, A]     f32  in
//   a             [T, A, I]  act  out
//   a_shared      [T, Is]    act  out
struct MoeUpArgs {
  Numerics numerics = Numerics::kFp32;
  TensorView x;
  std::span<const ExpertWeights> experts;
  const ExpertWeights* shared = nullptr;
  TensorView expert_idx, expert_weight;
  float swiglu_limit = 0;  // <= 0: no clamp
  TensorView a, a_shared;
};
void MoeUp(backend::Stream& stream, const MoeUpArgs& args);

// y[t, s] = round_act( a[t, s] w2^T ); slot A is the shared expert.  HcWriteNorm sums the slots.
//
//   y [T, A + 1, D] act out
struct MoeDownArgs {
  TensorView a, a_shared, expert_idx;
  std::span<const ExpertWeights> experts;
  const ExpertWeights* shared = nullptr;
  TensorView y;
};
void MoeDown(backend::Stream& stream, const MoeDownArgs& args);

}  // namespace deepinfer::ops
