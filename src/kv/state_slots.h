// The free list of state slots: where a sequence keeps what is not in blocks (window rings, group
// buffers, engram history).  Knows slot numbers only.
//
// A slot has one owner and is never shared.
// Ownership: a StateSlotRef owns its slot; the pool must outlive it (checked in the destructor).
// Threading: engine thread only.
// Slot 0 is never handed out; kernels write it for padding rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace deepinfer::kv {

class StateSlotPool;

// One slot, or none after a move.
class StateSlotRef {
 public:
  StateSlotRef() = default;
  StateSlotRef(StateSlotRef&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)), id_(std::exchange(other.id_, 0)) {}
  StateSlotRef& operator=(StateSlotRef&& other) noexcept;
  StateSlotRef(const StateSlotRef&) = delete;
  StateSlotRef& operator=(const StateSlotRef&) = delete;
  ~StateSlotRef() { Reset(); }

  // Lets the slot go early.
  void Reset() noexcept;

  int32_t id() const { return id_; }  // 0 when it refers to none
  explicit operator bool() const { return pool_ != nullptr; }

 private:
  friend class StateSlotPool;
  StateSlotRef(StateSlotPool* pool, int32_t id) : pool_(pool), id_(id) {}

  StateSlotPool* pool_ = nullptr;
  int32_t id_ = 0;
};

class StateSlotPool {
 public:
  // `num_slots` counts slot 0, so num_slots - 1 can be acquired.  Requires num_slots >= 2.
  explicit StateSlotPool(int32_t num_slots);
  ~StateSlotPool();
  StateSlotPool(const StateSlotPool&) = delete;
  StateSlotPool& operator=(const StateSlotPool&) = delete;

  // Absent when none is free.
  std::optional<StateSlotRef> Acquire();

  int32_t num_slots() const { return static_cast<int32_t>(used_.size()); }
  int32_t num_free() const { return static_cast<int32_t>(free_.size()); }

 private:
  friend class StateSlotRef;
  void Release(int32_t id) noexcept;

  std::vector<uint8_t> used_;  // [num_slots]
  std::vector<int32_t> free_;  // a stack; its capacity is fixed
};

}  // namespace deepinfer::kv
