#include "backend/ops/checks.h"

#include <algorithm>
#include <string>

namespace deepinfer::ops {
namespace {

constexpr int64_t kScaleGroup = 32;

bool HasShape(const TensorView& view, std::initializer_list<int64_t> shape) {
  if (view.num_dims() != static_cast<int32_t>(shape.size())) return false;
  int32_t i = 0;
  return std::all_of(shape.begin(), shape.end(), [&](int64_t dim) { return view.dim(i++) == dim; });
}

std::string ShapeText(std::initializer_list<int64_t> shape) {
  std::string text = "[";
  for (const int64_t dim : shape) text += StrCat(text.size() > 1 ? ", " : "", dim);
  return text + "]";
}

}  // namespace

void ArgCheck::Tensor(std::string_view name, const TensorView& view, DType dtype,
                      std::initializer_list<int64_t> shape) const {
  DI_CHECK(!view.empty() && view.dtype() == dtype && HasShape(view, shape), op_, ": ", name,
           ": expected ", DTypeName(dtype), ShapeText(shape), ", got ",
           view.empty() ? "nothing" : view.ToString());
}

void ArgCheck::Act(std::string_view name, const TensorView& view, int32_t num_dims) const {
  DI_CHECK(!view.empty() && (view.dtype() == DType::kF32 || view.dtype() == DType::kBF16) &&
               view.num_dims() == num_dims,
           op_, ": ", name, ": expected f32 or bf16 with ", num_dims, " dimensions, got ",
           view.empty() ? "nothing" : view.ToString());
}

void ArgCheck::Weight(std::string_view name, const WeightView& weight, int64_t num_rows,
                      int64_t num_cols) const {
  const DType dtype = weight.data.dtype();
  const bool is_plain = dtype == DType::kF32 || dtype == DType::kBF16;
  DI_CHECK(!weight.empty() && (is_plain || dtype == DType::kF8E4M3 || dtype == DType::kF4E2M1), op_,
           ": ", name, ": expected f32, bf16, f8e4m3 or f4e2m1, got ",
           weight.empty() ? "nothing" : weight.data.ToString());
  Tensor(name, weight.data, dtype, {num_rows, num_cols});
  if (is_plain) {
    DI_CHECK(weight.scale.empty(), op_, ": ", name, ": expected no scale with ",
             weight.data.ToString(), ", got ", weight.scale.ToString());
    return;
  }
  const int64_t num_groups = (num_cols + kScaleGroup - 1) / kScaleGroup;
  if (dtype == DType::kF8E4M3) {
    Tensor(name, weight.scale, DType::kUE8M0,
           {(num_rows + kScaleGroup - 1) / kScaleGroup, num_groups});
    return;
  }
  DI_CHECK(num_cols % kScaleGroup == 0, op_, ": ", name, ": expected columns in groups of ",
           kScaleGroup, ", got ", weight.data.ToString());
  Tensor(name, weight.scale, DType::kUE8M0, {num_rows, num_groups});
}

void ArgCheck::Bf16Weight(std::string_view name, const WeightView& weight, int64_t num_rows,
                          int64_t num_cols) const {
  Tensor(name, weight.data, DType::kBF16, {num_rows, num_cols});
  DI_CHECK(weight.scale.empty(), op_, ": ", name, ": expected no scale, got ",
           weight.scale.ToString());
}

void ArgCheck::Batch(const BatchView& batch, bool needs_block_table) const {
  const int64_t num_tokens = batch.num_tokens, num_seqs = batch.num_seqs;
  Tensor("batch.positions", batch.positions, DType::kI32, {num_tokens});
  Tensor("batch.seq_idx", batch.seq_idx, DType::kI32, {num_tokens});
  Tensor("batch.cu_seqlens_q", batch.cu_seqlens_q, DType::kI32, {num_seqs + 1});
  Tensor("batch.num_computed_tokens", batch.num_computed_tokens, DType::kI32, {num_seqs});
  Tensor("batch.state_slot", batch.state_slot, DType::kI32, {num_seqs});
  if (!needs_block_table) return;
  DI_CHECK(batch.block_table.num_dims() == 2, op_, ": batch.block_table: expected 2 dimensions");
  Tensor("batch.block_table", batch.block_table, DType::kI32, {num_seqs, batch.block_table.dim(1)});
}

void ArgCheck::Ring(std::string_view name, const RingView& ring, int64_t record_bytes,
                    int32_t min_len) const {
  DI_CHECK(!ring.pool.empty() && ring.pool.dtype() == DType::kU8 && ring.pool.num_dims() == 2, op_,
           ": ", name, ": expected u8[num_state_slots, slot_bytes], got ",
           ring.pool.empty() ? "nothing" : ring.pool.ToString());
  DI_CHECK(ring.ring_len >= std::max(min_len, 1), op_, ": ", name,
           ": expected ring_len >= ", std::max(min_len, 1), ", got ", ring.ring_len);
  DI_CHECK(ring.offset >= 0 && ring.offset <= ring.pool.dim(1) &&
               ring.ring_len <= (ring.pool.dim(1) - ring.offset) / record_bytes,
           op_, ": ", name, ": expected ", ring.ring_len, " records of ", record_bytes,
           " bytes at offset ", ring.offset, " in a slot of ", ring.pool.dim(1));
}

void ArgCheck::Pages(std::string_view name, const PagedRecords& pages, int64_t record_bytes) const {
  DI_CHECK(!pages.pool.empty() && pages.pool.dtype() == DType::kU8 && pages.pool.num_dims() == 2,
           op_, ": ", name, ": expected u8[num_blocks, block_bytes], got ",
           pages.pool.empty() ? "nothing" : pages.pool.ToString());
  DI_CHECK(pages.entries_per_block >= 1 && pages.offset >= 0 && pages.offset <= pages.pool.dim(1) &&
               pages.entries_per_block <= (pages.pool.dim(1) - pages.offset) / record_bytes,
           op_, ": ", name, ": expected ", pages.entries_per_block, " >= 1 entries of ",
           record_bytes, " bytes at offset ", pages.offset, " in a block of ", pages.pool.dim(1));
}

void ArgCheck::Together(std::string_view names, std::initializer_list<bool> is_present) const {
  const auto num_present = std::count(is_present.begin(), is_present.end(), true);
  DI_CHECK(num_present == 0 || num_present == static_cast<int64_t>(is_present.size()), op_,
           ": expected all or none of ", names, ", got ", num_present, " of ", is_present.size());
}

}  // namespace deepinfer::ops
