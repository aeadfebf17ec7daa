#include "runner/kv_storage.h"

#include <algorithm>

#include "base/check.h"

namespace deepinfer::runner {

Result<std::unique_ptr<KvStorage>> KvStorage::Create(const model::CacheLayout& layout,
                                                     int32_t num_blocks, int32_t num_slots,
                                                     backend::Device& device) {
  std::unique_ptr<KvStorage> storage(new KvStorage());
  const auto allocate = [&device](int64_t count, int64_t stride, Buffer& buffer,
                                  TensorView& view) -> Status {
    // A model without compressed layers has blocks of no bytes; a view needs memory all the same.
    const size_t num_bytes = static_cast<size_t>(std::max<int64_t>(count * stride, 1));
    DI_ASSIGN_OR_RETURN(buffer, device.Allocate(num_bytes));
    view = TensorView(buffer.data(), DType::kU8, {count, stride});
    return OkStatus();
  };
  model::ModelCaches& caches = storage->caches_;
  DI_RETURN_IF_ERROR(allocate(num_blocks, layout.block_bytes(), storage->kv_pool_, caches.kv_pool));
  DI_RETURN_IF_ERROR(
      allocate(num_slots, layout.slot_bytes(), storage->state_pool_, caches.state_pool));
  return storage;
}

void KvStorage::ClearSlot(backend::Stream& stream, int32_t slot) const {
  const TensorView row = caches_.state_pool.Rows(slot, 1);
  stream.FillZero(row.data(), row.num_bytes());
}

int64_t KvStorage::num_bytes() const {
  return static_cast<int64_t>(kv_pool_.num_bytes() + state_pool_.num_bytes());
}

}  // namespace deepinfer::runner
