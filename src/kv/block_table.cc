#include "kv/block_table.h"

namespace deepinfer::kv {

bool BlockTable::GrowTo(BlockPool& pool, int32_t num_blocks) {
  const int32_t missing = num_blocks - this->num_blocks();
  return missing <= 0 || pool.Acquire(missing, blocks_);
}

void BlockTable::AppendIds(std::vector<int32_t>& out) const {
  for (const BlockRef& block : blocks_) out.push_back(block.id());
}

}  // namespace deepinfer::kv
