// Addresses of cache records (layout: backend/ops/common.h).
//
// Threading: pure functions over views; the caller vouches for slots, positions and entries.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/ops/common.h"

namespace deepinfer::cpu {

// Record of `position` in the ring of a state slot.
inline uint8_t* RingRecord(const ops::RingView& ring, int32_t slot, int32_t position,
                           int64_t record_bytes) {
  return ring.pool.as<uint8_t>() + static_cast<size_t>(slot) * ring.pool.row_bytes() + ring.offset +
         position % ring.ring_len * record_bytes;
}

// The blocks of one sequence.
inline const int32_t* BlockTableOf(const ops::BatchView& batch, int32_t seq) {
  return batch.block_table.as<int32_t>() + seq * batch.block_table.dim(1);
}

// Where the records of an entry's block begin.
inline uint8_t* EntryBlock(const ops::PagedRecords& pages, const int32_t* block_table,
                           int32_t entry) {
  const size_t block = static_cast<size_t>(block_table[entry / pages.entries_per_block]);
  return pages.pool.as<uint8_t>() + block * pages.pool.row_bytes() + pages.offset;
}

// Main record of an entry.
inline uint8_t* MainRecord(const ops::PagedRecords& pages, const int32_t* block_table,
                           int32_t entry, int64_t record_bytes) {
  return EntryBlock(pages, block_table, entry) + entry % pages.entries_per_block * record_bytes;
}

// Codes and scales of an entry's index key of `width` channels.
inline uint8_t* IndexKeyCodes(const ops::PagedRecords& pages, const int32_t* block_table,
                              int32_t entry, int64_t width) {
  return EntryBlock(pages, block_table, entry) +
         entry % pages.entries_per_block * ops::IndexKeyDataBytes(width);
}
inline uint8_t* IndexKeyScales(const ops::PagedRecords& pages, const int32_t* block_table,
                               int32_t entry, int64_t width) {
  return EntryBlock(pages, block_table, entry) +
         pages.entries_per_block * ops::IndexKeyDataBytes(width) +
         entry % pages.entries_per_block * ops::IndexKeyScaleBytes(width);
}

}  // namespace deepinfer::cpu
