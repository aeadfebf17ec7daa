#include "backend/ops/streams.h"

#include "backend/ops/checks.h"

namespace deepinfer::ops {

void EmbedStreams(backend::Stream& stream, const EmbedStreamsArgs& args) {
  const ArgCheck check("EmbedStreams");
  check.Act("streams", args.streams, 3);
  const int64_t num_tokens = args.streams.dim(0), n = args.streams.dim(1);
  const int64_t hidden_size = args.streams.dim(2);
  check.Tensor("token_ids", args.token_ids, DType::kI32, {num_tokens});
  check.Requires(args.embed.num_dims() == 2, "embed with 2 dimensions");
  check.Tensor("embed", args.embed, DType::kBF16, {args.embed.dim(0), hidden_size});
  check.Tensor("pre", args.pre, DType::kF32, {num_tokens, n});
  if (num_tokens == 0) return;
  CallKernel(stream, stream.ops().embed_streams, "EmbedStreams", args);
}

void HcCoeff(backend::Stream& stream, const HcCoeffArgs& args) {
  const ArgCheck check("HcCoeff");
  check.Act("streams", args.streams, 3);
  const int64_t num_tokens = args.streams.dim(0), n = args.streams.dim(1);
  const int64_t hidden_size = args.streams.dim(2), num_coeffs = (2 + n) * n;
  check.Tensor("fn", args.fn, DType::kF32, {num_coeffs, n * hidden_size});
  check.Tensor("base", args.base, DType::kF32, {num_coeffs});
  check.Tensor("scale", args.scale, DType::kF32, {3});
  check.Requires(args.num_sinkhorn_iters >= 1, "num_sinkhorn_iters >= 1");
  check.Tensor("pre", args.pre, DType::kF32, {num_tokens, n});
  check.Tensor("post", args.post, DType::kF32, {num_tokens, n});
  check.Tensor("comb", args.comb, DType::kF32, {num_tokens, n, n});
  if (num_tokens == 0) return;
  CallKernel(stream, stream.ops().hc_coeff, "HcCoeff", args);
}

void HcWriteNorm(backend::Stream& stream, const HcWriteNormArgs& args) {
  const ArgCheck check("HcWriteNorm");
  check.Act("streams", args.streams, 3);
  const int64_t num_tokens = args.streams.dim(0), n = args.streams.dim(1);
  const int64_t hidden_size = args.streams.dim(2);
  const DType act = args.streams.dtype();
  check.Requires(!args.delta.empty() || !args.x.empty(), "delta, x or both");
  check.Together("delta, post, comb",
                 {!args.delta.empty(), !args.post.empty(), !args.comb.empty()});
  check.Together("x, pre, norm", {!args.x.empty(), !args.pre.empty(), !args.norm.empty()});
  if (!args.delta.empty()) {
    check.Act("delta", args.delta, 3);
    check.Requires(args.delta.dim(1) >= 1, "at least one slot in delta");
    check.Tensor("delta", args.delta, act, {num_tokens, args.delta.dim(1), hidden_size});
    check.Tensor("post", args.post, DType::kF32, {num_tokens, n});
    check.Tensor("comb", args.comb, DType::kF32, {num_tokens, n, n});
  }
  if (!args.x.empty()) {
    check.Tensor("x", args.x, act, {num_tokens, hidden_size});
    check.Tensor("pre", args.pre, DType::kF32, {num_tokens, n});
    check.Tensor("norm", args.norm, DType::kBF16, {hidden_size});
  }
  if (!args.x_quant.empty()) {
    check.Requires(!args.x.empty() && act == DType::kBF16, "a bf16 x beside x_quant");
    check.Requires(hidden_size % 32 == 0, "x_quant in groups of 32");
    check.Tensor("x_quant", args.x_quant, DType::kBF16, {num_tokens, hidden_size});
  }
  if (num_tokens == 0) return;
  CallKernel(stream, stream.ops().hc_write_norm, "HcWriteNorm", args);
}

void FinalNormHead(backend::Stream& stream, const FinalNormHeadArgs& args) {
  const ArgCheck check("FinalNormHead");
  check.Act("streams", args.streams, 3);
  const int64_t num_tokens = args.streams.dim(0), n = args.streams.dim(1);
  const int64_t hidden_size = args.streams.dim(2);
  check.Tensor("pre", args.pre, DType::kF32, {num_tokens, n});
  check.Tensor("norm", args.norm, DType::kBF16, {hidden_size});
  check.Requires(args.row_idx.num_dims() == 1, "row_idx with 1 dimension");
  const int64_t num_rows = args.row_idx.dim(0);
  check.Tensor("row_idx", args.row_idx, DType::kI32, {num_rows});
  check.Tensor("hidden", args.hidden, args.streams.dtype(), {num_rows, hidden_size});
  check.Requires(args.logits.num_dims() == 2, "logits with 2 dimensions");
  check.Tensor("logits", args.logits, DType::kF32, {num_rows, args.logits.dim(1)});
  check.Bf16Weight("head", args.head, args.logits.dim(1), hidden_size);
  if (num_rows == 0) return;
  CallKernel(stream, stream.ops().final_norm_head, "FinalNormHead", args);
}

}  // namespace deepinfer::ops
