// What several op families share: weights, the ragged batch, caches.
//
// Conventions of every contract in this folder:
//   T    num_tokens of the step (rows); D hidden_size; n hc_mult (residual streams)
//   act  the activation dtype: f32 when numerics is kFp32, else bf16
//   in, out, in/out  the direction; "opt" may be an empty view, which switches that part off
//
// An op is asynchronous on its stream, allocates nothing once warm, reads no host memory after it
// returns, and gives a row the same bits whatever else is in the batch, however the sequence is cut
// into chunks, and with any number of threads.  Tensors are contiguous; outputs do not alias inputs
// unless the contract says in/out.  A call without rows is legal and reaches no kernel.
#pragma once

#include <cstdint>

#include "deepinfer/config.h"
#include "tensor/tensor_view.h"

namespace deepinfer::ops {

// A projection weight [N, K] as stored in the checkpoint; y = x W^T.
//   bf16 or f32:  scale is empty
//   f8e4m3:       scale ue8m0 [ceil(N/32), ceil(K/32)], one a 32x32 tile    (model.md 2.2, F8 pair)
//   f4e2m1:       scale ue8m0 [N, K/32], one a row and 32 columns           (model.md 2.2, F4 pair)
struct WeightView {
  TensorView data;
  TensorView scale;

  bool empty() const { return data.empty(); }
  int64_t num_rows() const { return data.dim(0); }
  int64_t num_cols() const { return data.dim(1); }
};

// The ragged batch of one step.  Token t belongs to sequence seq_idx[t] and has absolute position
// positions[t]; the tokens of a sequence are consecutive rows in ascending position.
struct BatchView {
  int32_t num_tokens = 0;
  int32_t num_seqs = 0;
  TensorView positions;            // [T]                    i32
  TensorView seq_idx;              // [T]                    i32, ascending
  TensorView cu_seqlens_q;         // [num_seqs + 1]         i32, ascending from 0
  TensorView num_computed_tokens;  // [num_seqs]             i32, tokens before this step
  TensorView state_slot;           // [num_seqs]             i32
  TensorView block_table;          // [num_seqs, max_blocks] i32, block of tokens [128b, 128b + 128)
};

// Compressed records of one kv source inside the block pool (model.md 15.1).  Entry j of a sequence
// lies in the sequence's block j / entries_per_block; in the block, from `offset` on, one after the
// other:
//   main, fp4:  C/2 bytes e2m1, then C/16 e4m3 scales of 16 channels     (288 B at head_dim 512)
//   main, fp8:  C bytes e4m3, then C/32 ue8m0 scales of 32 channels      (528 B)
//   index key:  Ci/2 bytes e2m1 of every entry; behind those of all entries_per_block entries,
//               Ci/32 ue8m0 scales of every entry                        (64 B and 4 B at Ci 128)
struct PagedRecords {
  TensorView pool;                // [num_blocks, block_bytes] u8
  int64_t offset = 0;             // bytes from the start of a block
  int32_t entries_per_block = 0;  // block_size / compress_ratio
};

enum class KvFormat : int32_t { kFp4, kFp8 };  // main records; window records are always fp8

// A ring of records in the per-sequence state slot: record of position p is at offset + (p mod
// ring_len) * record bytes.
struct RingView {
  TensorView pool;  // [num_state_slots, slot_bytes] u8
  int64_t offset = 0;
  int32_t ring_len = 0;
};

// Bytes of one record for a vector of `width` channels.
constexpr int64_t Fp8RecordBytes(int64_t width) { return width + width / 32; }
constexpr int64_t Fp4MainRecordBytes(int64_t width) { return width / 2 + width / 16; }
constexpr int64_t MainRecordBytes(KvFormat format, int64_t width) {
  return format == KvFormat::kFp4 ? Fp4MainRecordBytes(width) : Fp8RecordBytes(width);
}
constexpr int64_t IndexKeyDataBytes(int64_t width) { return width / 2; }
constexpr int64_t IndexKeyScaleBytes(int64_t width) { return width / 32; }

// Compressed entries that a query at position p may see.
constexpr int32_t NumVisible(int32_t position, int32_t compress_ratio) {
  return (position + 1) / compress_ratio;
}

// Tokens in one block of the cache.
inline constexpr int32_t kBlockSize = 128;

}  // namespace deepinfer::ops
