// The compressor of a kv-source layer (model.md 7).
#pragma once

#include "backend/ops/common.h"
#include "backend/stream.h"

namespace deepinfer::ops {

// Turns each run of `compress_ratio` tokens into one main entry and (on index-k sources) one index
// key.
//
//   r = 1: lat = RMSNorm( round_act(x wkv^T), norm )
//   r = 2: u = x wkv^T, g = x wgate^T             f32, not rounded
//          m_c = sum_i softmax_i(g_ic) u_ic       over the run, for each channel c
//          lat = RMSNorm( round_act(m), norm )
//   key    = Q4x( RoPE( RMSNorm( round_act(lat wk^T), k_norm ) ) )   from the unrotated lat
//   entry  = Q4s( RoPE(lat) ) or, with KvFormat::kFp8, Q8( RoPE(lat) )
//
// RMSNorm and RoPE round to act each.
//
// Entry j closes at the token with position p = j*r + r-1 and is rotated at position j*r.  Runs may
// straddle steps: u and g of the last `group.ring_len` tokens of each sequence wait in the group
// ring (r > 1), f32, per token [2, C] with 0 = u, 1 = g.
//
//   x       [T, D]         act  in
//   wkv     [C, D]         bf16 in
//   wgate   [C, D]         bf16 in, with r > 1
//   norm    [C]            bf16 in
//   wk      [Ci, C]        bf16 in, opt
//   k_norm  [Ci]           bf16 in, with wk
//   cos_sin [T, Rd/2, 2]   f32  in; of position p rounded down to a multiple of r
//   group                       in/out, with r > 1; record = 2*C*4 bytes
//   main_pages, key_pages       out; entries that close in this step
struct CompressKvArgs {
  BatchView batch;
  int32_t compress_ratio = 1;
  TensorView x;
  WeightView wkv, wgate;
  TensorView norm;
  WeightView wk;
  TensorView k_norm, cos_sin;
  float rms_norm_eps = 0;
  KvFormat format = KvFormat::kFp4;
  RingView group;
  PagedRecords main_pages, key_pages;
};
void CompressKv(backend::Stream& stream, const CompressKvArgs& args);

}  // namespace deepinfer::ops
