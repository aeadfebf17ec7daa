#include "backend/ops/compress.h"

#include "backend/ops/checks.h"

namespace deepinfer::ops {

void CompressKv(backend::Stream& stream, const CompressKvArgs& args) {
  const ArgCheck check("CompressKv");
  const int64_t num_tokens = args.batch.num_tokens;
  const int32_t ratio = args.compress_ratio;
  check.Requires(ratio >= 1 && kBlockSize % ratio == 0, "a compress_ratio that divides the block");
  check.Batch(args.batch, true);
  check.Act("x", args.x, 2);
  check.Requires(!args.wkv.empty() && args.wkv.data.num_dims() == 2, "wkv with 2 dimensions");
  const int64_t hidden_size = args.x.dim(1), head_dim = args.wkv.num_rows();
  check.Tensor("x", args.x, args.x.dtype(), {num_tokens, hidden_size});
  check.Bf16Weight("wkv", args.wkv, head_dim, hidden_size);
  check.Tensor("norm", args.norm, DType::kBF16, {head_dim});
  check.Requires(head_dim % 32 == 0, "head_dim in groups of 32");
  check.Requires(args.cos_sin.num_dims() == 3, "cos_sin with 3 dimensions");
  check.Tensor("cos_sin", args.cos_sin, DType::kF32, {num_tokens, args.cos_sin.dim(1), 2});
  const int64_t rope_dim = 2 * args.cos_sin.dim(1);
  check.Requires(rope_dim <= head_dim, "a rotation no wider than the entry");
  if (ratio > 1) {
    check.Bf16Weight("wgate", args.wgate, head_dim, hidden_size);
    check.Ring("group", args.group, 2 * head_dim * int64_t{sizeof(float)}, ratio);
  } else {
    check.Requires(args.wgate.empty(), "no wgate at ratio 1");
  }
  check.Pages("main_pages", args.main_pages, MainRecordBytes(args.format, head_dim));
  check.Requires(args.main_pages.entries_per_block == kBlockSize / ratio,
                 "block_size / compress_ratio main entries a block");
  check.Together("wk, k_norm, key_pages",
                 {!args.wk.empty(), !args.k_norm.empty(), !args.key_pages.pool.empty()});
  if (!args.wk.empty()) {
    check.Requires(args.wk.data.num_dims() == 2, "wk with 2 dimensions");
    const int64_t index_head_dim = args.wk.num_rows();
    check.Bf16Weight("wk", args.wk, index_head_dim, head_dim);
    check.Tensor("k_norm", args.k_norm, DType::kBF16, {index_head_dim});
    check.Requires(index_head_dim % 32 == 0, "index_head_dim in groups of 32");
    check.Requires(rope_dim <= index_head_dim, "a rotation no wider than the key");
    check.Pages("key_pages", args.key_pages,
                IndexKeyDataBytes(index_head_dim) + IndexKeyScaleBytes(index_head_dim));
    check.Requires(args.key_pages.entries_per_block == kBlockSize / ratio,
                   "block_size / compress_ratio keys a block");
  }
  if (num_tokens == 0) return;
  CallKernel(stream, stream.ops().compress_kv, "CompressKv", args);
}

}  // namespace deepinfer::ops
