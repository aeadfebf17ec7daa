// The blocks of one sequence in the order of its tokens: block b holds tokens
// [b * block_size, (b + 1) * block_size).
//
// Ownership: owns its references; the pool must outlive it.  Movable: a table that is moved to
//   another owner (a step in flight) keeps the blocks alive there.
// Threading: engine thread only.
#pragma once

#include <cstdint>
#include <vector>

#include "kv/block_pool.h"

namespace deepinfer::kv {

class BlockTable {
 public:
  // Blocks that `num_tokens` tokens take.
  static int32_t NumBlocksFor(int64_t num_tokens, int32_t block_size) {
    return static_cast<int32_t>((num_tokens + block_size - 1) / block_size);
  }

  // Grows to `num_blocks` blocks, or stays as it is: false when the pool has too few.  A table that
  // is long enough already succeeds.
  bool GrowTo(BlockPool& pool, int32_t num_blocks);

  int32_t num_blocks() const { return static_cast<int32_t>(blocks_.size()); }

  // Appends the block numbers to `out`.
  void AppendIds(std::vector<int32_t>& out) const;

 private:
  std::vector<BlockRef> blocks_;
};

}  // namespace deepinfer::kv
