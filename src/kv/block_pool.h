// The free list of fixed-size KV blocks.  Knows block numbers only: no tensors, tokens or hashes.
//
// Ownership: a BlockRef owns one reference; a block is free again when its last BlockRef is gone.
//   The pool must outlive every BlockRef (checked in the destructor).
// Threading: engine thread only.
// Block 0 is never handed out; kernels read it for padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace deepinfer::kv {

class BlockPool;

// One reference to one block, or to none after a move.
class BlockRef {
 public:
  BlockRef() = default;
  BlockRef(BlockRef&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)), id_(std::exchange(other.id_, 0)) {}
  BlockRef& operator=(BlockRef&& other) noexcept;
  BlockRef(const BlockRef&) = delete;
  BlockRef& operator=(const BlockRef&) = delete;
  ~BlockRef() { Reset(); }

  // A second reference to the same block.  Not a copy constructor, so that sharing is visible.
  BlockRef Share() const;

  // Lets the block go early.
  void Reset() noexcept;

  int32_t id() const { return id_; }  // 0 when it refers to none
  explicit operator bool() const { return pool_ != nullptr; }

 private:
  friend class BlockPool;
  BlockRef(BlockPool* pool, int32_t id) : pool_(pool), id_(id) {}

  BlockPool* pool_ = nullptr;
  int32_t id_ = 0;
};

class BlockPool {
 public:
  // `num_blocks` counts block 0, so num_blocks - 1 can be acquired.  Requires num_blocks >= 2.
  explicit BlockPool(int32_t num_blocks);
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // Appends `count` blocks to `out`, or none: false when fewer than `count` are free.  The block
  // that became free last is handed out first, so memory that was never used stays untouched.
  bool Acquire(int32_t count, std::vector<BlockRef>& out);

  int32_t num_blocks() const { return static_cast<int32_t>(num_refs_.size()); }
  int32_t num_free() const { return static_cast<int32_t>(free_.size()); }

  // References to block `id`; 0 for a free one.
  int32_t num_refs(int32_t id) const { return num_refs_[static_cast<size_t>(id)]; }

 private:
  friend class BlockRef;
  void AddRef(int32_t id);
  void DropRef(int32_t id) noexcept;

  std::vector<int32_t> num_refs_;  // [num_blocks]
  std::vector<int32_t> free_;      // a stack; its capacity is fixed
};

}  // namespace deepinfer::kv
