// Where everything that outlives a step lies inside the caches (model.md 15): the blocks of
// compressed entries, and the state slot of a sequence.
//
// A block holds the entries of kBlockSize tokens: for each kv source in layer order the index keys,
// then the main records, each section rounded up to 32 bytes.  A state slot holds what a sequence
// needs beside its blocks: the window ring of every layer, the group ring of every kv source with
// ratio 2, and the engram history.  All rings keep max_rollback_tokens more positions than the
// forward pass reads, so that a sequence may be cut back by that many tokens and go on:
//
//   Rolling back is only a smaller num_computed_tokens in the next step.  Entries beyond it are
//   invisible (visibility follows the position) and are written again; a half group finds its first
//   token still in the group ring; the window finds its W - 1 older positions still in its ring.
//
// A new sequence needs a zeroed state slot; blocks need no clearing.  A slot and its blocks may be
// copied elsewhere and back between any two steps.
//
// Threading: values; thread-compatible.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/ops/common.h"
#include "model/model_config.h"
#include "tensor/tensor_view.h"

namespace deepinfer::model {

// The caches of all sequences.
struct ModelCaches {
  TensorView kv_pool;     // [num_blocks, block_bytes] u8; block 0 is never handed out
  TensorView state_pool;  // [num_state_slots, slot_bytes] u8
};

// Knows offsets and sizes only; owns no memory.  Depends on the config and the roll-back length
// alone: two engines with equal ones may exchange caches.
class CacheLayout {
 public:
  CacheLayout() = default;
  // Requires a validated config and max_rollback_tokens >= 0.
  CacheLayout(const ModelConfig& config, int32_t max_rollback_tokens);

  // Bytes from one block to the next; 0 in a model without compressed layers.
  int64_t block_bytes() const { return block_bytes_; }
  // Bytes of a block that hold data: 113,920 = 128 * 890 in the release.
  int64_t block_payload_bytes() const { return block_payload_bytes_; }
  // Bytes of one state slot.
  int64_t slot_bytes() const { return slot_bytes_; }
  // Blocks that a sequence of `num_tokens` needs; at least as many as its block table must list.
  static int32_t NumBlocks(int64_t num_tokens);

  ops::KvFormat format() const { return format_; }

  // The sections of a kv source; IndexKeys needs a layer that owns index keys.
  ops::PagedRecords MainRecords(const ModelCaches& caches, int32_t layer_idx) const;
  ops::PagedRecords IndexKeys(const ModelCaches& caches, int32_t layer_idx) const;

  // Rings in the state slots.  GroupRing needs a kv source with ratio 2.
  ops::RingView WindowRing(const ModelCaches& caches, int32_t layer_idx) const;
  ops::RingView GroupRing(const ModelCaches& caches, int32_t layer_idx) const;
  ops::RingView EngramHistory(const ModelCaches& caches) const;

 private:
  // Offsets of one layer; -1 where it has no such part.
  struct LayerOffsets {
    int64_t index_keys = -1;
    int64_t main_records = -1;
    int32_t entries_per_block = 0;
    int64_t window_ring = -1;
    int64_t group_ring = -1;
  };

  void PlaceBlock(const ModelConfig& config);
  void PlaceSlot(const ModelConfig& config, int32_t max_rollback_tokens);

  std::vector<LayerOffsets> layers_;
  ops::KvFormat format_ = ops::KvFormat::kFp4;
  int32_t window_ring_len_ = 0;
  int32_t group_ring_len_ = 0;
  int32_t history_ring_len_ = 0;
  int64_t history_offset_ = -1;
  int64_t block_bytes_ = 0;
  int64_t block_payload_bytes_ = 0;
  int64_t slot_bytes_ = 0;
};

}  // namespace deepinfer::model
