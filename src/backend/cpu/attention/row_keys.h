// Where the keys of one query row lie: the window records first, then the selected entries.
//
// Threading: a value over the op's arguments, which must outlive it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/cpu/records.h"
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
    state_slot_ = batch.state_slot.as<int32_t>()[seq];
    window_bytes_ = args.kv_record.dim(1);
    if (!args.sel.empty()) {
      num_selected_ = args.sel_count.as<int32_t>()[row];
      sel_ = args.sel.as<int32_t>() + row * args.sel.dim(1);
      block_table_ = BlockTableOf(batch, seq);
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
      return RingRecord(args_.ring, state_slot_, position, window_bytes_);
    }
    return args_.kv_record.as<uint8_t>() + (row_ - (position_ - position)) * window_bytes_;
  }

  const uint8_t* Entry(int32_t j) const {
    return MainRecord(args_.pages, block_table_, j, entry_bytes_);
  }

  const ops::SparseAttentionArgs& args_;
  int64_t row_;
  int32_t position_ = 0;
  int32_t first_position_ = 0;
  int32_t num_computed_ = 0;
  int32_t state_slot_ = 0;
  int32_t num_selected_ = 0;
  const int32_t* sel_ = nullptr;
  const int32_t* block_table_ = nullptr;
  int64_t window_bytes_ = 0;
  int64_t entry_bytes_ = 0;
};

}  // namespace deepinfer::cpu
