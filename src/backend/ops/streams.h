// Residual streams and hyper-connections (model.md 3, 4).
#pragma once

#include "backend/ops/common.h"
#include "backend/stream.h"

namespace deepinfer::ops {

// S[t, j] = embed[id_t] for every stream j; m[t] = (1, 0, ..., 0).
//
//   token_ids [T]       i32   in; ids outside [0, V) give zeros (image placeholders)
//   embed     [V, D]    bf16  in
//   streams   [T, n, D] act   out
//   pre       [T, n]    f32   out
struct EmbedStreamsArgs {
  TensorView token_ids, embed, streams, pre;
};
void EmbedStreams(backend::Stream& stream, const EmbedStreamsArgs& args);

// Coefficients of one site from the streams that enter it (model.md 4.1).
//
//   streams [T, n, D]       act  in
//   fn      [(2+n)n, n*D]   f32  in
//   base    [(2+n)n]        f32  in
//   scale   [3]             f32  in
//   pre     [T, n]          f32  out; consumed by the NEXT site
//   post    [T, n]          f32  out
//   comb    [T, n, n]       f32  out; [source stream][destination stream]
//
// One statistic over all n*D elements; the projection, sigmoids and Sinkhorn are fp32 with true
// division. Depends on nothing that the sublayer of the site computes, so a backend may run it
// beside the sublayer.
struct HcCoeffArgs {
  TensorView streams, fn, base, scale;
  float rms_norm_eps = 0;
  float hc_eps = 0;
  int32_t num_sinkhorn_iters = 0;
  TensorView pre, post, comb;
};
void HcCoeff(backend::Stream& stream, const HcCoeffArgs& args);

// Write-back of the previous site, then collapse and norm for the next one (model.md 4.2).
//
// Write part (when `delta` is there):
//   o[t]    = round_act( sum_s delta[t, s] )             fp32 sum in slot order
//   S[t, k] = round_act( post[t, k] * o + sum_j comb[t, j, k] * S[t, j] )      ascending j
// Norm part (when `x` is there), on the streams after the write:
//   x_in    = round_act( sum_j pre[t, j] * S[t, j] )
//   x       = RMSNorm(x_in, norm)                         one rounding (model.md 4.3)
//   x_quant = Q8(x) as exact bf16 numbers                 mode P only
//
//   delta    [T, num_slots, D] act  in, opt; 1 slot for attention, A + 1 for the experts
//   post     [T, n]            f32  in, with delta
//   comb     [T, n, n]         f32  in, with delta
//   streams  [T, n, D]         act  in/out
//   pre      [T, n]            f32  in, with x; the carried pre-mix of the PREVIOUS site
//   norm     [D]               bf16 in, with x
//   x        [T, D]            act  out, opt
//   x_quant  [T, D]            bf16 out, opt, with x
struct HcWriteNormArgs {
  TensorView delta, post, comb, streams;
  TensorView pre, norm;
  float rms_norm_eps = 0;
  TensorView x, x_quant;
};
void HcWriteNorm(backend::Stream& stream, const HcWriteNormArgs& args);

// Final collapse, norm and head of the rows that are sampled (model.md 3).
//
//   streams [T, n, D] act  in
//   pre     [T, n]    f32  in; pre-mix of the last FFN site
//   norm    [D]       bf16 in
//   head    [V, D]    bf16 in
//   row_idx [R]       i32  in; rows of the step, each in [0, T)
//   hidden  [R, D]    act  out; after the norm
//   logits  [R, V]    f32  out, never rounded
struct FinalNormHeadArgs {
  TensorView streams, pre, norm;
  WeightView head;
  float rms_norm_eps = 0;
  TensorView row_idx, hidden, logits;
};
void FinalNormHead(backend::Stream& stream, const FinalNormHeadArgs& args);

}  // namespace deepinfer::ops
