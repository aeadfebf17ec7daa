// Scores and selection of compressed entries (backend/ops/indexer.h).
#include "backend/ops/indexer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "backend/ref/kernels.h"
#include "backend/ref/scalar.h"
#include "tensor/quantize.h"

namespace deepinfer::ref {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

bool IsCandidate(const ops::IndexScoreArgs& args, int64_t token, int32_t entry) {
  if (args.cand.empty()) return true;
  const int32_t* cand = args.cand.as<int32_t>() + token * args.cand.dim(1);
  const int32_t* end = cand + args.cand_count.as<int32_t>()[token];
  return std::find(cand, end, entry / args.candidate_block_size) != end;
}

float Score(const ops::IndexScoreArgs& args, int64_t token, int32_t seq, int32_t entry) {
  const int64_t num_heads = args.index_q.dim(1), width = args.index_q.dim(2);
  const IndexKeyRef record = IndexKey(args.keys, args.batch, seq, entry, width);
  std::vector<float> key(width);
  DequantizeQ4x(record.data, record.scales, width, key.data());
  const std::vector<float> q = LoadRow(args.index_q, token);
  const float scale =
      1.0f / std::sqrt(static_cast<float>(width)) / std::sqrt(static_cast<float>(num_heads));
  float score = 0;
  for (int64_t h = 0; h < num_heads; ++h) {
    const float dot = Dot(q.data() + h * width, key.data(), width);
    score += args.index_w.as<float>()[token * num_heads + h] * scale * std::max(dot, 0.0f);
  }
  return score;
}

// The `max_count` largest of scores[0, n), -inf and NaN left out, as ascending indices.
std::vector<int32_t> Largest(const std::vector<float>& scores, int64_t max_count) {
  std::vector<int32_t> order;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > kMinusInfinity) order.push_back(static_cast<int32_t>(i));
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return scores[a] > scores[b]; });
  if (static_cast<int64_t>(order.size()) > max_count) order.resize(max_count);
  std::sort(order.begin(), order.end());
  return order;
}

std::vector<int32_t> Iota(int64_t n) {
  std::vector<int32_t> all(n);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// Score of each candidate block: its largest entry, and +inf for the newest one (model.md 8.2).
std::vector<float> BlockScores(const std::vector<float>& scores, int32_t block_size) {
  const int64_t num_visible = static_cast<int64_t>(scores.size());
  std::vector<float> blocks((num_visible + block_size - 1) / block_size, kMinusInfinity);
  for (int64_t j = 0; j < num_visible; ++j) {
    if (scores[j] > blocks[j / block_size]) blocks[j / block_size] = scores[j];
  }
  blocks[(num_visible - 1) / block_size] = std::numeric_limits<float>::infinity();
  return blocks;
}

void StoreIndices(const std::vector<int32_t>& indices, int64_t token, const TensorView& out,
                  const TensorView& count) {
  int32_t* row = out.as<int32_t>() + token * out.dim(1);
  std::fill(row, row + out.dim(1), -1);
  std::copy(indices.begin(), indices.end(), row);
  count.as<int32_t>()[token] = static_cast<int32_t>(indices.size());
}

}  // namespace

void IndexScore(backend::Stream&, const ops::IndexScoreArgs& args) {
  const BatchArrays batch(args.batch);
  const int64_t max_entries = args.scores.dim(1);
  for (int64_t r = 0; r < args.num_rows; ++r) {
    const int64_t token = args.row_begin + r;
    const int32_t num_visible = ops::NumVisible(batch.positions[token], args.compress_ratio);
    if (num_visible <= args.index_topk) continue;
    for (int32_t j = 0; j < num_visible; ++j) {
      args.scores.as<float>()[r * max_entries + j] =
          IsCandidate(args, token, j) ? Score(args, token, batch.seq_idx[token], j)
                                      : kMinusInfinity;
    }
  }
}

void IndexTopK(backend::Stream&, const ops::IndexTopKArgs& args) {
  const BatchArrays batch(args.batch);
  const int64_t index_topk = args.sel.dim(1), max_entries = args.scores.dim(1);
  for (int64_t r = 0; r < args.num_rows; ++r) {
    const int64_t token = args.row_begin + r;
    const int32_t num_visible = ops::NumVisible(batch.positions[token], args.compress_ratio);
    if (num_visible <= index_topk) {
      StoreIndices(Iota(num_visible), token, args.sel, args.sel_count);
      if (args.cand.empty()) continue;
      const int32_t block_size = args.candidate_block_size;
      StoreIndices(Iota((num_visible + block_size - 1) / block_size), token, args.cand,
                   args.cand_count);
      continue;
    }
    const float* row = args.scores.as<float>() + r * max_entries;
    const std::vector<float> scores(row, row + num_visible);
    StoreIndices(Largest(scores, index_topk), token, args.sel, args.sel_count);
    if (args.cand.empty()) continue;
    StoreIndices(Largest(BlockScores(scores, args.candidate_block_size), args.cand.dim(1)), token,
                 args.cand, args.cand_count);
  }
}

}  // namespace deepinfer::ref
