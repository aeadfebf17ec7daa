#include "kv/block_pool.h"

#include "base/check.h"

namespace deepinfer::kv {

BlockRef& BlockRef::operator=(BlockRef&& other) noexcept {
  if (this != &other) {
    Reset();
    pool_ = std::exchange(other.pool_, nullptr);
    id_ = std::exchange(other.id_, 0);
  }
  return *this;
}

BlockRef BlockRef::Share() const {
  DI_CHECK(pool_ != nullptr, "sharing an empty reference");
  pool_->AddRef(id_);
  return BlockRef(pool_, id_);
}

void BlockRef::Reset() noexcept {
  if (pool_ == nullptr) return;
  pool_->DropRef(id_);
  pool_ = nullptr;
  id_ = 0;
}

BlockPool::BlockPool(int32_t num_blocks) {
  DI_CHECK(num_blocks >= 2, "num_blocks=", num_blocks);
  num_refs_.resize(static_cast<size_t>(num_blocks), 0);
  free_.reserve(static_cast<size_t>(num_blocks));
  // Low numbers on top.
  for (int32_t id = num_blocks - 1; id >= 1; --id) free_.push_back(id);
}

BlockPool::~BlockPool() {
  if (num_free() != num_blocks() - 1) {
    DI_FATAL("a block pool ends before its blocks: ", num_blocks() - 1 - num_free(), " in use");
  }
}

bool BlockPool::Acquire(int32_t count, std::vector<BlockRef>& out) {
  DI_CHECK(count >= 0, "count=", count);
  if (count > num_free()) return false;
  for (int32_t i = 0; i < count; ++i) {
    const int32_t id = free_.back();
    free_.pop_back();
    num_refs_[static_cast<size_t>(id)] = 1;
    out.push_back(BlockRef(this, id));
  }
  return true;
}

void BlockPool::AddRef(int32_t id) {
  int32_t& refs = num_refs_[static_cast<size_t>(id)];
  DI_CHECK(refs >= 1, "block=", id, " refs=", refs);
  ++refs;
}

void BlockPool::DropRef(int32_t id) noexcept {
  int32_t& refs = num_refs_[static_cast<size_t>(id)];
  if (refs < 1) DI_FATAL("block ", id, " is given back twice");
  if (--refs == 0) free_.push_back(id);
}

}  // namespace deepinfer::kv
