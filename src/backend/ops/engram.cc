#include "backend/ops/engram.h"

#include "backend/ops/checks.h"

namespace deepinfer::ops {

void EngramHash(backend::Stream& stream, const EngramHashArgs& args) {
  const ArgCheck check("EngramHash");
  const int64_t num_tokens = args.batch.num_tokens;
  check.Batch(args.batch, false);
  check.Tensor("token_ids", args.token_ids, DType::kI32, {num_tokens});
  if (!args.is_image.empty()) check.Tensor("is_image", args.is_image, DType::kU8, {num_tokens});
  check.Requires(args.compressed_ids.num_dims() == 1, "compressed_ids with 1 dimension");
  check.Tensor("compressed_ids", args.compressed_ids, DType::kI32, {args.compressed_ids.dim(0)});
  check.Requires(args.multipliers.num_dims() == 2 && args.primes.num_dims() == 2,
                 "multipliers and primes with 2 dimensions");
  const int64_t num_layers = args.multipliers.dim(0), max_ngram_size = args.multipliers.dim(1);
  const int64_t num_hashes = args.primes.dim(1);
  check.Requires(max_ngram_size >= 2 && num_hashes % (max_ngram_size - 1) == 0,
                 "as many hashes for every n-gram size");
  check.Tensor("multipliers", args.multipliers, DType::kI64, {num_layers, max_ngram_size});
  check.Tensor("primes", args.primes, DType::kI64, {num_layers, num_hashes});
  check.Tensor("offsets", args.offsets, DType::kI64, {num_layers, num_hashes});
  check.Requires(args.pad_id >= 0, "pad_id >= 0");
  check.Ring("history", args.history, int64_t{sizeof(int32_t)},
             static_cast<int32_t>(max_ngram_size - 1));
  check.Tensor("row_ids", args.row_ids, DType::kI64, {num_layers, num_tokens, num_hashes});
  if (num_tokens == 0) return;
  CallKernel(stream, stream.ops().engram_hash, "EngramHash", args);
}

void EngramGather(backend::Stream& stream, const EngramGatherArgs& args) {
  const ArgCheck check("EngramGather");
  check.Requires(args.row_ids.num_dims() == 2 && args.table.num_dims() == 2,
                 "row_ids and table with 2 dimensions");
  const int64_t num_tokens = args.row_ids.dim(0), num_hashes = args.row_ids.dim(1);
  const int64_t num_rows = args.table.dim(0), engram_head_dim = args.table.dim(1);
  check.Tensor("row_ids", args.row_ids, DType::kI64, {num_tokens, num_hashes});
  check.Tensor("table", args.table, DType::kF8E4M3, {num_rows, engram_head_dim});
  check.Requires(engram_head_dim % 32 == 0, "engram_head_dim in groups of 32");
  check.Tensor("scale", args.scale, DType::kUE8M0, {num_rows, engram_head_dim / 32});
  check.Act("out", args.out, 2);
  check.Tensor("out", args.out, args.out.dtype(), {num_tokens, num_hashes * engram_head_dim});
  if (num_tokens == 0) return;
  CallKernel(stream, stream.ops().engram_gather, "EngramGather", args);
}

void EngramInject(backend::Stream& stream, const EngramInjectArgs& args) {
  const ArgCheck check("EngramInject");
  check.Act("streams", args.streams, 3);
  const int64_t num_tokens = args.streams.dim(0), n = args.streams.dim(1);
  const int64_t hidden_size = args.streams.dim(2);
  check.Tensor("kv", args.kv, args.streams.dtype(), {num_tokens, (n + 1) * hidden_size});
  check.Tensor("q_weight", args.q_weight, DType::kBF16, {n, hidden_size});
  check.Tensor("k_weight", args.k_weight, DType::kBF16, {n, hidden_size});
  if (!args.is_image.empty()) check.Tensor("is_image", args.is_image, DType::kU8, {num_tokens});
  if (num_tokens == 0) return;
  CallKernel(stream, stream.ops().engram_inject, "EngramInject", args);
}

}  // namespace deepinfer::ops
