// Scores and selection of compressed entries (model.md 8).
#pragma once

#include "backend/ops/common.h"
#include "backend/stream.h"

namespace deepinfer::ops {

// score[t, j] = sum_h w_h * Ci^-0.5 * Hi^-0.5 * relu(index_q[t, h] . key_j) for j < nvis(p), in
// fp32.
//
// Works on the rows [row_begin, row_begin + num_rows) of the step so that the caller can bound the
// scratch.  Rows with nvis <= index_topk select everything; their scores are not written, nor are
// those from nvis on.  With candidates, entries outside them get -inf.
//
//   index_q   [T, Hi, Ci]             act  in
//   index_w   [T, Hi]                 f32  in
//   keys                                   in
//   cand      [T, candidate_blocks]   i32  in, opt; ascending block numbers
//   cand_count[T]                     i32  in, with cand
//   scores    [num_rows, max_entries] f32  out; max_entries >= nvis of every row
struct IndexScoreArgs {
  BatchView batch;
  int32_t row_begin = 0;
  int32_t num_rows = 0;
  int32_t compress_ratio = 1;
  int32_t index_topk = 0;
  TensorView index_q, index_w;
  PagedRecords keys;
  TensorView cand, cand_count;
  int32_t candidate_block_size = 0;
  TensorView scores;
};
void IndexScore(backend::Stream& stream, const IndexScoreArgs& args);

// The index_topk best entries of each row, ascending (model.md 8.1); at the candidate source the
// candidate blocks too (8.2).  Equal scores: the smaller index wins; -0 equals 0.  Entries at -inf
// are never selected, and a NaN counts as -inf.  Rows with nvis <= index_topk select 0..nvis-1 and
// publish all their blocks; their scores are not read.
//
//   scores     [num_rows, max_entries]  f32  in
//   sel        [T, index_topk]          i32  out; -1 behind the count
//   sel_count  [T]                      i32  out
//   cand       [T, candidate_blocks]    i32  out, opt; ascending, -1 behind the count
//   cand_count [T]                      i32  out, with cand
struct IndexTopKArgs {
  BatchView batch;
  int32_t row_begin = 0;
  int32_t num_rows = 0;
  int32_t compress_ratio = 1;
  TensorView scores;
  TensorView sel, sel_count;
  TensorView cand, cand_count;
  int32_t candidate_block_size = 0;
};
void IndexTopK(backend::Stream& stream, const IndexTopKArgs& args);

}  // namespace deepinfer::ops
