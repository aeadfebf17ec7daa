// What several op families share: weights, the ragged batch, caches.
//
// Conventions of every contract in this folder:
//   T          num_tokens of the step (rows)           D  hidden_size      n  hc_mult (residual
//   streams) act        the activation dtype: f32 when numerics is kFp32, else bf16 in, out
//   direction; "opt" may be an empty view, which switches that part of the op off An op is
//   asynchronous on its stream, allocates nothing once warm, reads no host memory after it returns,
//   and gives a row the same bits whatever else is in the batch, however the sequence is cut into
//   chunks, and with any number of threads. Tensors are contiguous; outputs do not alias inputs
//   unless the contract says in/out.
#pragma once

#include <cstdint>

#include "deepinfer/config.h"
#include "tensor/tensor_view.h"

namespace deepinfer::ops {

// A projection weight [N, K] as stored in the checkpoint; y = x W^T.
//   bf16 or f32:  scale is empty
//   f8e4m3:       scale ue8m0 [ceil(N/32), ceil(K/32)], one a 32x32 tile           (model.md 2.2,
//   F8 pair) f4e2m1:       scale ue8m0 [N, K/32], one a row and 32 columns (model.md 2.2, F4 pair)
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
  TensorView positions;     // [T]                    i32
  TensorView seq_idx;       // [T]                    i32, ascending
  TensorView cu_seqlens_q;  // [num_seqs + 1]         i32, ascending from 0
  TensorView
      num_computed_tokens;  // [num_seqs]             i32, tokens of the sequence before this step
  TensorView state_slot;    // [num_seqs]             i32
  TensorView block_table;   // [num_seqs, max_blocks] i32, block of tokens [128 b, 128 b + 128)
};

// Compressed records of one kv source inside the block pool (model.md 15.1).  Entry j of a sequence
// lies in the sequence's block j / entries_per_block; in the block, at `offset`: data of all
// entries, then (index keys only) scales of all entries.
//   main, fp4: 288 B an entry: 256 B e2m1, then 32 e4m3 scales of 16 channels (sizes for head_dim
//   512; in general C/2 + C/16) main, fp8: 528 B an entry: 512 B e4m3, then 16 ue8m0 scales of 32
//   channels (C + C/32) index key: 64 B e2m1 an entry, then after all entries 4 ue8m0 scales an
//   entry (Ci/2, Ci/32)
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
