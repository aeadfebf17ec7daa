#include "backend/ops/attention.h"

#include "backend/ops/checks.h"

namespace deepinfer::ops {
namespace {

// cos_sin [T, Rd/2, 2] for vectors of at least `min_width` channels.
void CheckCosSin(const ArgCheck& check, const TensorView& cos_sin, int64_t num_tokens,
                 int64_t min_width) {
  check.Requires(cos_sin.num_dims() == 3, "cos_sin with 3 dimensions");
  check.Tensor("cos_sin", cos_sin, DType::kF32, {num_tokens, cos_sin.dim(1), 2});
  check.Requires(2 * cos_sin.dim(1) <= min_width, "a rotation no wider than the vector");
}

}  // namespace

void RopeCosSin(backend::Stream& stream, const RopeCosSinArgs& args) {
  const ArgCheck check("RopeCosSin");
  check.Requires(args.positions.num_dims() == 1 && args.freqs.num_dims() == 1,
                 "positions and freqs with 1 dimension");
  const int64_t num_tokens = args.positions.dim(0), num_pairs = args.freqs.dim(0);
  check.Tensor("positions", args.positions, DType::kI32, {num_tokens});
  check.Tensor("freqs", args.freqs, DType::kF32, {num_pairs});
  check.Tensor("cos_sin", args.cos_sin, DType::kF32, {num_tokens, num_pairs, 2});
  check.Requires(args.multiple >= 1, "multiple >= 1");
  if (num_tokens == 0) return;
  CallKernel(stream, stream.ops().rope_cos_sin, "RopeCosSin", args);
}

void QkvA(backend::Stream& stream, const QkvAArgs& args) {
  const ArgCheck check("QkvA");
  const DType act = ActDType(args.numerics);
  check.Act("x", args.x, 2);
  check.Act("qr", args.qr, 2);
  const int64_t num_tokens = args.x.dim(0), hidden_size = args.x.dim(1);
  const int64_t q_lora_rank = args.qr.dim(1);
  check.Requires(!args.wkv.empty() && args.wkv.data.num_dims() == 2, "wkv with 2 dimensions");
  const int64_t head_dim = args.wkv.num_rows();
  check.Tensor("x", args.x, act, {num_tokens, hidden_size});
  check.Tensor("qr", args.qr, act, {num_tokens, q_lora_rank});
  check.Weight("wq_a", args.wq_a, q_lora_rank, hidden_size);
  check.Weight("wkv", args.wkv, head_dim, hidden_size);
  check.Tensor("q_norm", args.q_norm, DType::kBF16, {q_lora_rank});
  check.Tensor("kv_norm", args.kv_norm, DType::kBF16, {head_dim});
  check.Requires(head_dim % 32 == 0, "head_dim in groups of 32");
  check.Requires(args.numerics != Numerics::kProduction || q_lora_rank % 32 == 0,
                 "q_lora_rank in groups of 32 in mode P");
  CheckCosSin(check, args.cos_sin, num_tokens, head_dim);
  check.Tensor("kv_record", args.kv_record, DType::kU8, {num_tokens, Fp8RecordBytes(head_dim)});
  if (num_tokens == 0) return;
  CallKernel(stream, stream.ops().qkv_a, "QkvA", args);
}

void QB(backend::Stream& stream, const QBArgs& args) {
  const ArgCheck check("QB");
  check.Act("qr", args.qr, 2);
  check.Act("q", args.q, 3);
  const DType act = args.qr.dtype();
  const int64_t num_tokens = args.qr.dim(0), q_lora_rank = args.qr.dim(1);
  const int64_t num_heads = args.q.dim(1), head_dim = args.q.dim(2);
  check.Weight("wq_b", args.wq_b, num_heads * head_dim, q_lora_rank);
  check.Tensor("q", args.q, act, {num_tokens, num_heads, head_dim});
  CheckCosSin(check, args.cos_sin, num_tokens, head_dim);
  check.Together("x, index_wq_b, weights_proj, index_q, index_w",
                 {!args.x.empty(), !args.index_wq_b.empty(), !args.weights_proj.empty(),
                  !args.index_q.empty(), !args.index_w.empty()});
  if (!args.index_q.empty()) {
    check.Act("x", args.x, 2);
    check.Act("index_q", args.index_q, 3);
    const int64_t index_n_heads = args.index_q.dim(1), index_head_dim = args.index_q.dim(2);
    check.Tensor("x", args.x, act, {num_tokens, args.x.dim(1)});
    check.Weight("index_wq_b", args.index_wq_b, index_n_heads * index_head_dim, q_lora_rank);
    check.Bf16Weight("weights_proj", args.weights_proj, index_n_heads, args.x.dim(1));
    check.Tensor("index_q", args.index_q, act, {num_tokens, index_n_heads, index_head_dim});
    check.Tensor("index_w", args.index_w, DType::kF32, {num_tokens, index_n_heads});
    check.Requires(index_head_dim % 32 == 0, "index_head_dim in groups of 32");
    CheckCosSin(check, args.cos_sin, num_tokens, index_head_dim);
  }
  if (num_tokens == 0) return;
  CallKernel(stream, stream.ops().q_b, "QB", args);
}

void SparseAttention(backend::Stream& stream, const SparseAttentionArgs& args) {
  const ArgCheck check("SparseAttention");
  const DType act = ActDType(args.numerics);
  check.Act("q", args.q, 3);
  const int64_t num_tokens = args.batch.num_tokens;
  const int64_t num_heads = args.q.dim(1), head_dim = args.q.dim(2);
  check.Tensor("q", args.q, act, {num_tokens, num_heads, head_dim});
  check.Requires(head_dim % 32 == 0, "head_dim in groups of 32");
  check.Tensor("kv_record", args.kv_record, DType::kU8, {num_tokens, Fp8RecordBytes(head_dim)});
  check.Requires(args.window >= 1, "window >= 1");
  check.Ring("ring", args.ring, Fp8RecordBytes(head_dim), args.window - 1);
  check.Together("pages, sel, sel_count",
                 {!args.pages.pool.empty(), !args.sel.empty(), !args.sel_count.empty()});
  const bool has_pages = !args.pages.pool.empty();
  check.Batch(args.batch, has_pages);
  if (has_pages) {
    check.Pages("pages", args.pages, MainRecordBytes(args.format, head_dim));
    check.Requires(args.sel.num_dims() == 2, "sel with 2 dimensions");
    check.Tensor("sel", args.sel, DType::kI32, {num_tokens, args.sel.dim(1)});
    check.Tensor("sel_count", args.sel_count, DType::kI32, {num_tokens});
  }
  check.Tensor("attn_sink", args.attn_sink, DType::kF32, {num_heads});
  CheckCosSin(check, args.cos_sin, num_tokens, head_dim);
  check.Tensor("out", args.out, act, {num_tokens, num_heads * head_dim});
  if (num_tokens == 0) return;
  CallKernel(stream, stream.ops().sparse_attention, "SparseAttention", args);
}

void WindowWrite(backend::Stream& stream, const WindowWriteArgs& args) {
  const ArgCheck check("WindowWrite");
  check.Batch(args.batch, false);
  check.Requires(args.kv_record.num_dims() == 2, "kv_record with 2 dimensions");
  const int64_t record_bytes = args.kv_record.dim(1);
  check.Requires(record_bytes >= 1, "records of at least a byte");
  check.Tensor("kv_record", args.kv_record, DType::kU8, {args.batch.num_tokens, record_bytes});
  check.Ring("ring", args.ring, record_bytes, 1);
  if (args.batch.num_tokens == 0) return;
  CallKernel(stream, stream.ops().window_write, "WindowWrite", args);
}

}  // namespace deepinfer::ops
