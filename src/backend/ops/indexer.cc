#include "backend/ops/indexer.h"

#include "backend/ops/checks.h"

namespace deepinfer::ops {
namespace {

void CheckRows(const ArgCheck& check, int32_t row_begin, int32_t num_rows, int32_t num_tokens,
               const TensorView& scores) {
  check.Requires(row_begin >= 0 && num_rows >= 0 && num_rows <= num_tokens - row_begin,
                 "rows of the step");
  check.Requires(scores.num_dims() == 2, "scores with 2 dimensions");
  check.Tensor("scores", scores, DType::kF32, {num_rows, scores.dim(1)});
}

void CheckCandidates(const ArgCheck& check, const TensorView& cand, const TensorView& cand_count,
                     int32_t candidate_block_size, int64_t num_tokens) {
  check.Together("cand, cand_count", {!cand.empty(), !cand_count.empty()});
  if (cand.empty()) return;
  check.Requires(cand.num_dims() == 2, "cand with 2 dimensions");
  check.Tensor("cand", cand, DType::kI32, {num_tokens, cand.dim(1)});
  check.Tensor("cand_count", cand_count, DType::kI32, {num_tokens});
  check.Requires(candidate_block_size >= 1 && cand.dim(1) >= 1,
                 "at least one candidate block of at least one entry");
}

}  // namespace

void IndexScore(backend::Stream& stream, const IndexScoreArgs& args) {
  const ArgCheck check("IndexScore");
  const int64_t num_tokens = args.batch.num_tokens;
  check.Batch(args.batch, true);
  check.Act("index_q", args.index_q, 3);
  const int64_t index_n_heads = args.index_q.dim(1), index_head_dim = args.index_q.dim(2);
  check.Tensor("index_q", args.index_q, args.index_q.dtype(),
               {num_tokens, index_n_heads, index_head_dim});
  check.Tensor("index_w", args.index_w, DType::kF32, {num_tokens, index_n_heads});
  check.Requires(index_head_dim % 32 == 0, "index_head_dim in groups of 32");
  check.Requires(args.compress_ratio >= 1 && kBlockSize % args.compress_ratio == 0,
                 "a compress_ratio that divides the block");
  check.Requires(args.index_topk >= 1, "index_topk >= 1");
  check.Pages("keys", args.keys,
              IndexKeyDataBytes(index_head_dim) + IndexKeyScaleBytes(index_head_dim));
  check.Requires(args.keys.entries_per_block == kBlockSize / args.compress_ratio,
                 "block_size / compress_ratio keys a block");
  CheckRows(check, args.row_begin, args.num_rows, args.batch.num_tokens, args.scores);
  CheckCandidates(check, args.cand, args.cand_count, args.candidate_block_size, num_tokens);
  if (args.num_rows == 0) return;
  CallKernel(stream, stream.ops().index_score, "IndexScore", args);
}

void IndexTopK(backend::Stream& stream, const IndexTopKArgs& args) {
  const ArgCheck check("IndexTopK");
  const int64_t num_tokens = args.batch.num_tokens;
  check.Batch(args.batch, false);
  check.Requires(args.compress_ratio >= 1, "compress_ratio >= 1");
  check.Requires(args.sel.num_dims() == 2 && args.sel.dim(1) >= 1, "sel with index_topk columns");
  check.Tensor("sel", args.sel, DType::kI32, {num_tokens, args.sel.dim(1)});
  check.Tensor("sel_count", args.sel_count, DType::kI32, {num_tokens});
  CheckRows(check, args.row_begin, args.num_rows, args.batch.num_tokens, args.scores);
  CheckCandidates(check, args.cand, args.cand_count, args.candidate_block_size, num_tokens);
  // Else a row that selects everything could not publish all its blocks.
  check.Requires(
      args.cand.empty() || args.cand.dim(1) * args.candidate_block_size >= args.sel.dim(1),
      "candidate blocks for at least index_topk entries");
  if (args.num_rows == 0) return;
  CallKernel(stream, stream.ops().index_top_k, "IndexTopK", args);
}

}  // namespace deepinfer::ops
