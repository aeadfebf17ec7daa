// Engram: n-gram hashes, table rows, injection into the streams (model.md 13).
#pragma once

#include "backend/ops/common.h"
#include "backend/stream.h"

namespace deepinfer::ops {

// Table rows of every token for all engram layers at once (model.md 13.3).
//
// c_i is the compressed id of position p - i: from this step's tokens, else from `history`;
// `pad_id` in front of position 0 and from the first DEAD position on, looking back.  DEAD: image
// rows, ids outside the map and ids that the map sends to a negative number.  The history ring is
// updated with the compressed ids of this step (-1 = DEAD).
//
//   token_ids      [T]                     i32  in
//   is_image       [T]                     u8   in, opt
//   compressed_ids [tokenizer size]        i32  in
//   multipliers    [num_layers, Ng]        i64  in
//   primes         [num_layers, K]         i64  in; K = (Ng - 1) * Nh, n-gram major
//   offsets        [num_layers, K]         i64  in
//   history                                     in/out; record = 4 bytes, ring_len >= Ng - 1
//   row_ids        [num_layers, T, K]      i64  out
struct EngramHashArgs {
  BatchView batch;
  TensorView token_ids, is_image, compressed_ids;
  TensorView multipliers, primes, offsets;
  int32_t pad_id = 0;
  RingView history;
  TensorView row_ids;
};
void EngramHash(backend::Stream& stream, const EngramHashArgs& args);

// Looks up and concatenates rows; only the rows named are touched.
//
//   row_ids [T, K]         i64    in
//   table   [rows, Ne]     f8e4m3 in
//   scale   [rows, Ne/32]  ue8m0  in
//   out     [T, K * Ne]    act    out; exact
struct EngramGatherArgs {
  TensorView row_ids, table, scale, out;
};
void EngramGather(backend::Stream& stream, const EngramGatherArgs& args);

// S_j += gate_j * val, with gate_j from stream j and key j (model.md 13.4).  Statistics per stream
// over D.
//
//   kv       [T, (n+1) * D] act  in; keys of the n streams, then the value
//   q_weight [n, D]         bf16 in
//   k_weight [n, D]         bf16 in
//   is_image [T]            u8   in, opt; those rows stay unchanged
//   streams  [T, n, D]      act  in/out
struct EngramInjectArgs {
  TensorView kv, q_weight, k_weight, is_image;
  float rms_norm_eps = 0;
  TensorView streams;
};
void EngramInject(backend::Stream& stream, const EngramInjectArgs& args);

}  // namespace deepinfer::ops
