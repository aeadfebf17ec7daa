#include "backend/cpu/arena.h"

#include <algorithm>

namespace deepinfer::cpu {
namespace {

constexpr size_t kMinBlockBytes = size_t{1} << 16;
constexpr size_t RoundUp(size_t n) { return (n + 63) / 64 * 64; }

}  // namespace

void Arena::Reset() {
  used_bytes_ = 0;
  if (blocks_.size() <= 1) return;
  blocks_.clear();
  block_bytes_ = total_bytes_;
  blocks_.push_back(std::make_unique<Scratch>());
  blocks_.back()->Get(block_bytes_);
}

void* Arena::Alloc(size_t num_bytes) {
  const size_t rounded = RoundUp(num_bytes);
  if (blocks_.empty() || block_bytes_ - used_bytes_ < rounded) {
    block_bytes_ = std::max({rounded, kMinBlockBytes, total_bytes_ / 2});
    blocks_.push_back(std::make_unique<Scratch>());
    blocks_.back()->Get(block_bytes_);
    total_bytes_ += block_bytes_;
    used_bytes_ = 0;
  }
  char* piece = static_cast<char*>(blocks_.back()->Get(block_bytes_)) + used_bytes_;
  used_bytes_ += rounded;
  return piece;
}

}  // namespace deepinfer::cpu
