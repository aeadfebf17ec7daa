// The memory behind block and slot numbers: what kv/ counts, on the device.
//
// Ownership: owns both pools; the device must outlive it.
// Threading: device thread only.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/device.h"
#include "backend/stream.h"
#include "deepinfer/status.h"
#include "model/model.h"
#include "tensor/buffer.h"

namespace deepinfer::runner {

class KvStorage {
 public:
  // Allocates `num_blocks` blocks and `num_slots` state slots, number 0 of both included, zeroed.
  // kResourceExhausted names the size when the device has no room.
  static Result<std::unique_ptr<KvStorage>> Create(const model::CacheLayout& layout,
                                                   int32_t num_blocks, int32_t num_slots,
                                                   backend::Device& device);

  // Zeroes one slot, as a new sequence needs it.
  void ClearSlot(backend::Stream& stream, int32_t slot) const;

  const model::ModelCaches& caches() const { return caches_; }
  int64_t num_bytes() const;

 private:
  KvStorage() = default;

  Buffer kv_pool_;
  Buffer state_pool_;
  model::ModelCaches caches_;
};

}  // namespace deepinfer::runner
