// Attention of one layer (model.md 5, 6).
#pragma once

#include "backend/ops/common.h"
#include "backend/ops/linear.h"
#include "backend/stream.h"

namespace deepinfer::ops {

// cos and sin of fl32(position * freq) for every row, accurate for arguments up to 2^20 rad
// (model.md 5).
//
//   positions [T]               i32  in; each is first rounded down to a multiple of `multiple`
//   freqs     [Rd/2]            f32  in
//   cos_sin   [T, Rd/2, 2]      f32  out; 0 = cos, 1 = sin
struct RopeCosSinArgs {
  TensorView positions, freqs;
  int32_t multiple = 1;  // compress_ratio for the first token of a group
  TensorView cos_sin;
};
void RopeCosSin(backend::Stream& stream, const RopeCosSinArgs& args);

// The two projections of the attention input, with their epilogues (model.md 6.1, 6.2).
//
//   qr        = RMSNorm( round_act(x wq_a^T), q_norm ), in mode P quantised with Q8
//   kv_record = Q8( RoPE( RMSNorm( round_act(x wkv^T), kv_norm ) ) )      norm over all C channels
//
//   x         [T, D]               act  in; in mode P the quantised x
//   wq_a      [Qr, D]                   in
//   q_norm    [Qr]                 bf16 in
//   wkv       [C, D]                    in
//   kv_norm   [C]                  bf16 in
//   cos_sin   [T, Rd/2, 2]         f32  in; the layer's rope
//   qr        [T, Qr]              act  out
//   kv_record [T, C + C/32]        u8   out; window records of this step, not yet in the ring
struct QkvAArgs {
  Numerics numerics = Numerics::kFp32;
  TensorView x;
  WeightView wq_a, wkv;
  TensorView q_norm, kv_norm, cos_sin;
  float rms_norm_eps = 0;
  TensorView qr, kv_record;
};
void QkvA(backend::Stream& stream, const QkvAArgs& args);

// Query projection with its rotation; on index-source layers the index queries too (model.md 6.1,
// 8).
//
//   q       = RoPE( round_act(qr wq_b^T) )                       trailing Rd channels of each head
//   index_q = Q4x( RoPE( round_act(qr index_wq_b^T) ) )          as numbers; trailing Rd of each Ci
//   index_w = round_act( x weights_proj^T )                      as f32
//
//   qr           [T, Qr]           act  in
//   wq_b         [H*C, Qr]              in
//   cos_sin      [T, Rd/2, 2]      f32  in
//   q            [T, H, C]         act  out
//   x            [T, D]            act  in, opt (index part); the unquantised x
//   index_wq_b   [Hi*Ci, Qr]            in, opt
//   weights_proj [Hi, D]           bf16 in, opt
//   index_q      [T, Hi, Ci]       act  out, opt; quantised values, exact in bf16
//   index_w      [T, Hi]           f32  out, opt
struct QBArgs {
  TensorView qr;
  WeightView wq_b;
  TensorView cos_sin, q;
  TensorView x;
  WeightView index_wq_b, weights_proj;
  TensorView index_q, index_w;
};
void QB(backend::Stream& stream, const QBArgs& args);

// Joint softmax over the sliding window, the selected compressed entries and the sink, then the
// inverse rotation (model.md 6.5, 6.6).
//
// Row t at position p sees the window positions [max(0, p - window + 1), p]: those before this
// step's first token of its sequence come from `ring`, the others from `kv_record`; then the
// entries sel[t, 0 .. sel_count[t]) of `pages`.  Keys are taken in this order, ascending.  The sink
// joins the denominator only.  No key at all gives 0.
//
// Modes B and P round the unnormalised probabilities to bf16 in front of the value product; the
// denominator sums them unrounded.  Output: mode F f32; mode B round to bf16, rotate, round; mode P
// rotate in fp32, then Q8 along the channels as exact bf16 numbers.
//
//   q         [T, H, C]           act  in
//   kv_record [T, C + C/32]       u8   in
//   ring                               in; window ring of the layer
//   pages, format                      in, opt; main records of the layer's kv source
//   sel       [T, index_topk]     i32  in, opt; ascending entries, -1 behind the count
//   sel_count [T]                 i32  in, opt
//   attn_sink [H]                 f32  in; natural-log units, not scaled
//   cos_sin   [T, Rd/2, 2]        f32  in
//   out       [T, H * C]          act  out
struct SparseAttentionArgs {
  Numerics numerics = Numerics::kFp32;
  BatchView batch;
  TensorView q, kv_record;
  RingView ring;
  int32_t window = 0;
  PagedRecords pages;
  KvFormat format = KvFormat::kFp4;
  TensorView sel, sel_count;
  TensorView attn_sink, cos_sin;
  float softmax_scale = 0;
  TensorView out;
};
void SparseAttention(backend::Stream& stream, const SparseAttentionArgs& args);

// Moves the window records of this step into the ring, after attention has read the old ones.  Of
// each sequence only the last ring_len records are written.
//
//   kv_record [T, record_bytes] u8 in
//   ring                           in/out
struct WindowWriteArgs {
  BatchView batch;
  TensorView kv_record;
  RingView ring;
};
void WindowWrite(backend::Stream& stream, const WindowWriteArgs& args);

}  // namespace deepinfer::ops
