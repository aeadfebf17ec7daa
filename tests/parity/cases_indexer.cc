// IndexScore and IndexTopK.
#include <algorithm>
#include <limits>
#include <string>

#include "backend/ops/indexer.h"
#include "base/strings.h"
#include "parity/caches.h"
#include "parity/parity_case.h"

namespace deepinfer::parity {
namespace {

struct ScoreShape {
  std::vector<Span> spans;
  int32_t compress_ratio = 1, index_topk = 4;
  int64_t index_n_heads = 16, index_head_dim = 32;
  int32_t candidate_block_size = 0, num_candidate_blocks = 0;  // 0: no candidates
  int32_t rows_per_call = 1000;
};

int32_t MaxVisible(const std::vector<Span>& spans, int32_t compress_ratio) {
  int32_t max = 1;
  for (const Span& span : spans) {
    max = std::max(max, (span.num_computed_tokens + span.num_new_tokens) / compress_ratio);
  }
  return max;
}

// Ascending blocks, the newest always among them, at most num_candidate_blocks; -1 behind the count.
void AddCandidates(Rng& rng, const ScoreShape& s, ParityCase& c) {
  HostTensor cand = Zeros(DType::kI32, {c.num_rows, s.num_candidate_blocks});
  HostTensor count = Zeros(DType::kI32, {c.num_rows});
  const std::vector<RowInfo> rows = RowsOf(c.sequences);
  for (int64_t t = 0; t < c.num_rows; ++t) {
    const int32_t num_visible = ops::NumVisible(rows[t].position, s.compress_ratio);
    const int32_t num_blocks = (num_visible + s.candidate_block_size - 1) / s.candidate_block_size;
    int32_t* row = cand.as<int32_t>() + t * s.num_candidate_blocks;
    std::fill(row, row + s.num_candidate_blocks, -1);
    int32_t taken = 0;
    const int32_t wanted = std::min(num_blocks, s.num_candidate_blocks);
    for (int32_t b = 0; b < num_blocks && taken < wanted; ++b) {
      const int32_t left = num_blocks - b, needed = wanted - taken;
      if (UniformInt(rng, 1, left) <= needed) row[taken++] = b;
    }
    if (taken > 0) row[taken - 1] = num_blocks - 1;
    count.as<int32_t>()[t] = taken;
  }
  c.In("cand", std::move(cand), 0);
  c.In("cand_count", std::move(count), 0);
}

CaseSpec ScoreCase(const std::string& what, ScoreShape s, DType act) {
  return {
      StrCat("indexer/score ", what, " ", DTypeName(act)), [=](Rng& rng) {
        ParityCase c;
        c.ops = {"IndexScore"};
        c.Batch(RandomSequences(rng, s.spans));
        HostTensor q = Random(rng, act, {c.num_rows, s.index_n_heads, s.index_head_dim});
        QuantizeToQ4x(q);
        c.In("index_q", std::move(q), 0);
        c.In("index_w", Random(rng, DType::kF32, {c.num_rows, s.index_n_heads}), 0);
        const PagePlace keys =
            PlacePages(s.compress_ratio, ops::IndexKeyDataBytes(s.index_head_dim) +
                                             ops::IndexKeyScaleBytes(s.index_head_dim));
        c.In("keys", RandomKeyPages(rng, keys, s.index_head_dim), kShared);
        if (s.num_candidate_blocks > 0) AddCandidates(rng, s, c);

        const int64_t max_entries = MaxVisible(s.spans, s.compress_ratio) + 3;
        Arg& scores = c.Out("scores", DType::kF32, {c.num_rows, max_entries}, Numbers(kChainF32));
        scores.ignored.resize(c.num_rows * max_entries);
        const std::vector<RowInfo> rows = RowsOf(c.sequences);
        for (int64_t t = 0; t < c.num_rows; ++t) {
          const int32_t num_visible = ops::NumVisible(rows[t].position, s.compress_ratio);
          const int32_t num_written = num_visible <= s.index_topk ? 0 : num_visible;
          for (int64_t j = num_written; j < max_entries; ++j) {
            scores.ignored[t * max_entries + j] = true;
          }
        }
        c.run = [=](backend::Stream& stream, const Bound& b) {
          const int32_t num_tokens = b.batch().num_tokens;
          for (int32_t row = 0; row < num_tokens; row += s.rows_per_call) {
            const int32_t num_rows = std::min(s.rows_per_call, num_tokens - row);
            ops::IndexScore(stream, {.batch = b.batch(),
                                     .row_begin = row,
                                     .num_rows = num_rows,
                                     .compress_ratio = s.compress_ratio,
                                     .index_topk = s.index_topk,
                                     .index_q = b["index_q"],
                                     .index_w = b["index_w"],
                                     .keys = keys.View(b["keys"]),
                                     .cand = b["cand"],
                                     .cand_count = b["cand_count"],
                                     .candidate_block_size = s.candidate_block_size,
                                     .scores = b["scores"].Rows(row, num_rows)});
          }
        };
        return c;
      }};
}

struct TopKShape {
  std::vector<Span> spans;
  int32_t compress_ratio = 1, index_topk = 4;
  int32_t candidate_block_size = 0, num_candidate_blocks = 0;  // 0: publishes no candidates
  int32_t num_levels = 0;       // > 0: scores take this many values, so most of them tie
  int32_t percent_removed = 0;  // entries at -inf, as a layer restricted to candidates has them
  bool has_nan = false;
  int32_t rows_per_call = 1000;
};

float DrawScore(Rng& rng, const TopKShape& s) {
  if (UniformInt(rng, 1, 100) <= s.percent_removed) {
    return -std::numeric_limits<float>::infinity();
  }
  if (s.has_nan && UniformInt(rng, 0, 9) == 0) return std::numeric_limits<float>::quiet_NaN();
  if (s.num_levels == 0) return Normal(rng);
  const float sign = UniformInt(rng, 0, 1) == 0 ? -1.0f : 1.0f;  // zeros of either sign tie too
  return sign * static_cast<float>(UniformInt(rng, 0, s.num_levels - 1));
}

CaseSpec TopKCase(const std::string& what, TopKShape s) {
  return {StrCat("indexer/top_k ", what), [=](Rng& rng) {
            ParityCase c;
            c.ops = {"IndexTopK"};
            c.Batch(RandomSequences(rng, s.spans));
            const int64_t max_entries = MaxVisible(s.spans, s.compress_ratio) + 3;
            HostTensor scores = Zeros(DType::kF32, {c.num_rows, max_entries});
            for (int64_t i = 0; i < scores.num_elements(); ++i) {
              scores.as<float>()[i] = DrawScore(rng, s);
            }
            // What lies behind the visible entries must not be looked at.
            const std::vector<RowInfo> rows = RowsOf(c.sequences);
            for (int64_t t = 0; t < c.num_rows; ++t) {
              const int32_t num_visible = ops::NumVisible(rows[t].position, s.compress_ratio);
              for (int64_t j = num_visible; j < max_entries; ++j) {
                scores.as<float>()[t * max_entries + j] = 1e30f;
              }
            }
            c.In("scores", std::move(scores), 0);
            c.Out("sel", DType::kI32, {c.num_rows, s.index_topk}, {});
            c.Out("sel_count", DType::kI32, {c.num_rows}, {});
            if (s.num_candidate_blocks > 0) {
              c.Out("cand", DType::kI32, {c.num_rows, s.num_candidate_blocks}, {});
              c.Out("cand_count", DType::kI32, {c.num_rows}, {});
            }
            c.run = [=](backend::Stream& stream, const Bound& b) {
              const int32_t num_tokens = b.batch().num_tokens;
              for (int32_t row = 0; row < num_tokens; row += s.rows_per_call) {
                const int32_t num_rows = std::min(s.rows_per_call, num_tokens - row);
                ops::IndexTopK(stream, {.batch = b.batch(),
                                        .row_begin = row,
                                        .num_rows = num_rows,
                                        .compress_ratio = s.compress_ratio,
                                        .scores = b["scores"].Rows(row, num_rows),
                                        .sel = b["sel"],
                                        .sel_count = b["sel_count"],
                                        .cand = b["cand"],
                                        .cand_count = b["cand_count"],
                                        .candidate_block_size = s.candidate_block_size});
              }
            };
            return c;
          }};
}

}  // namespace

std::vector<CaseSpec> IndexerCases() {
  const std::vector<Span> ragged = {{0, 7}, {3, 4}, {0, 0}, {40, 1}, {125, 9}, {300, 5}};
  std::vector<CaseSpec> cases;
  for (const DType act : {DType::kF32, DType::kBF16}) {
    cases.push_back(ScoreCase("r1", {.spans = ragged}, act));
    cases.push_back(ScoreCase("r2 in calls of 4 rows",
                              {.spans = ragged, .compress_ratio = 2, .rows_per_call = 4}, act));
    cases.push_back(
        ScoreCase("r1 candidates",
                  {.spans = ragged, .candidate_block_size = 4, .num_candidate_blocks = 3}, act));
    cases.push_back(ScoreCase("r1 odd heads",
                              {.spans = ragged, .index_n_heads = 5, .index_head_dim = 96}, act));
    cases.push_back(ScoreCase("released widths",
                              {.spans = {{600, 3}, {1023, 1}},
                               .index_topk = 512,
                               .index_n_heads = 32,
                               .index_head_dim = 128},
                              act));
  }
  cases.push_back(TopKCase("distinct", {.spans = ragged}));
  cases.push_back(TopKCase("ties", {.spans = ragged, .num_levels = 3}));
  cases.push_back(TopKCase("all equal", {.spans = ragged, .num_levels = 1}));
  cases.push_back(TopKCase("removed", {.spans = ragged, .num_levels = 5, .percent_removed = 60}));
  cases.push_back(
      TopKCase("all removed", {.spans = ragged, .index_topk = 7, .percent_removed = 100}));
  cases.push_back(TopKCase("nan", {.spans = ragged, .num_levels = 4, .has_nan = true}));
  cases.push_back(
      TopKCase("r2 in calls of 4 rows",
               {.spans = ragged, .compress_ratio = 2, .num_levels = 6, .rows_per_call = 4}));
  cases.push_back(
      TopKCase("publishes candidates",
               {.spans = ragged, .candidate_block_size = 4, .num_candidate_blocks = 3}));
  cases.push_back(TopKCase(
      "publishes tied candidates",
      {.spans = ragged, .candidate_block_size = 8, .num_candidate_blocks = 2, .num_levels = 2}));
  cases.push_back(
      TopKCase("publishes one block",
               {.spans = ragged, .candidate_block_size = 4, .num_candidate_blocks = 1}));
  cases.push_back(TopKCase("released widths", {.spans = {{600, 3}, {1500, 2}},
                                               .index_topk = 512,
                                               .candidate_block_size = 8,
                                               .num_candidate_blocks = 64}));
  cases.push_back(TopKCase("released widths tied", {.spans = {{600, 3}, {1500, 2}},
                                                    .index_topk = 512,
                                                    .candidate_block_size = 8,
                                                    .num_candidate_blocks = 64,
                                                    .num_levels = 9}));
  return cases;
}

}  // namespace deepinfer::parity
