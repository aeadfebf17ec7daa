// Where the keys of one query row lie: the window records first, then the selected entries.
//
// Threading: a value over the op's arguments, which must outlive it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/ops/attention.h"

namespace deepinfer::cpu {

class RowKeys {
 public:
  RowKeys(const ops::SparseAttentionArgs& args, int32_t row) : args_(args), row_(row) {
    const ops::BatchView& batch = args.batch;
    const int32_t seq = batch.seq_idx.as<int32_t>()[row];
    position_ = batch.positions.as<int32_t>()[row];
    first_position_ = std::max(0, position_ - args.window + 1);
    num_computed_ = batch.num_computed_tokens.as<int32_t>()[seq];
    const size_t slot = static_cast<size_t>(batch.state_slot.as<int32_t>()[seq]);
    ring_ = args.ring.pool.as<uint8_t>() + slot * args.ring.pool.row_bytes() + args.ring.offset;
    window_bytes_ = args.kv_record.dim(1);
    if (!args.sel.empty()) {
      num_selected_ = args.sel_count.as<int32_t>()[row];
      sel_ = args.sel.as<int32_t>() + row * args.sel.dim(1);
      block_table_ = batch.block_table.as<int32_t>() + seq * batch.block_table.dim(1);
      entry_bytes_ = ops::MainRecordBytes(args.format, args.q.dim(2));
    }
  }

  int32_t num_window() const { return position_ - first_position_ + 1; }
  int32_t count() const { return num_window() + num_selected_; }

  // Record of key i in [0, count()); a window record (fp8) when i < num_window(), else an entry in
  // the op's format.
  const uint8_t* Record(int32_t i) const {
    return i < num_window() ? WindowRecord(first_position_ + i) : Entry(sel_[i - num_window()]);
  }

 private:
  const uint8_t* WindowRecord(int32_t position) const {
    if (position < num_computed_) {
      return ring_ + (position % args_.ring.ring_len) * window_bytes_;
    }
    return args_.kv_record.as<uint8_t>() + (row_ - (position_ - position)) * window_bytes_;
  }

  const uint8_t* Entry(int32_t j) const {
    const ops::PagedRecords& pages = args_.pages;
    const size_t block = static_cast<size_t>(block_table_[j / pages.entries_per_block]);
    return pages.pool.as<uint8_t>() + block * pages.pool.row_bytes() + pages.offset +
           (j % pages.entries_per_block) * entry_bytes_;
  }

  const ops::SparseAttentionArgs& args_;
  int64_t row_;
  int32_t position_ = 0;
  int32_t first_position_ = 0;
  int32_t num_computed_ = 0;
  int32_t num_selected_ = 0;
  const int32_t* sel_ = nullptr;
  const int32_t* block_table_ = nullptr;
  const uint8_t* ring_ = nullptr;
  int64_t window_bytes_ = 0;
  int64_t entry_bytes_ = 0;
};

}  // namespace deepinfer::cpu
