#include "kv/state_slots.h"

#include "base/check.h"

namespace deepinfer::kv {

StateSlotRef& StateSlotRef::operator=(StateSlotRef&& other) noexcept {
  if (this != &other) {
    Reset();
    pool_ = std::exchange(other.pool_, nullptr);
    id_ = std::exchange(other.id_, 0);
  }
  return *this;
}

void StateSlotRef::Reset() noexcept {
  if (pool_ == nullptr) return;
  pool_->Release(id_);
  pool_ = nullptr;
  id_ = 0;
}

StateSlotPool::StateSlotPool(int32_t num_slots) {
  DI_CHECK(num_slots >= 2, "num_slots=", num_slots);
  used_.resize(static_cast<size_t>(num_slots), 0);
  free_.reserve(static_cast<size_t>(num_slots));
  for (int32_t id = num_slots - 1; id >= 1; --id) free_.push_back(id);
}

StateSlotPool::~StateSlotPool() {
  if (num_free() != num_slots() - 1) {
    DI_FATAL("a state slot pool ends before its slots: ", num_slots() - 1 - num_free(), " in use");
  }
}

std::optional<StateSlotRef> StateSlotPool::Acquire() {
  if (free_.empty()) return std::nullopt;
  const int32_t id = free_.back();
  free_.pop_back();
  used_[static_cast<size_t>(id)] = 1;
  return StateSlotRef(this, id);
}

void StateSlotPool::Release(int32_t id) noexcept {
  uint8_t& used = used_[static_cast<size_t>(id)];
  if (used == 0) DI_FATAL("state slot ", id, " is given back twice");
  used = 0;
  free_.push_back(id);
}

}  // namespace deepinfer::kv
