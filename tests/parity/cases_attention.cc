// RopeCosSin, QkvA, QB, SparseAttention and WindowWrite.
#include <algorithm>
#include <string>

#include "backend/ops/attention.h"
#include "backend/ops/checks.h"
#include "base/strings.h"
#include "parity/caches.h"
#include "parity/parity_case.h"

namespace deepinfer::parity {
namespace {

constexpr float kEps = 1e-20f;
constexpr Numerics kModes[] = {Numerics::kFp32, Numerics::kBf16, Numerics::kProduction};

const char* ModeName(Numerics numerics) {
  return numerics == Numerics::kFp32 ? "F" : numerics == Numerics::kBf16 ? "B" : "P";
}

Tolerance Chain(DType act) { return act == DType::kF32 ? kChainF32 : kChainBf16; }
Tolerance F8Grid(DType act) { return act == DType::kF32 ? kF8GridF32 : kF8GridBf16; }

CaseSpec RopeCase(int64_t num_rows, int64_t num_pairs, int32_t multiple) {
  return {
      StrCat("attention/rope_cos_sin T", num_rows, " pairs ", num_pairs, " multiple ", multiple),
      [=](Rng& rng) {
        ParityCase c;
        c.ops = {"RopeCosSin"};
        c.num_rows = num_rows;
        HostTensor positions = Zeros(DType::kI32, {num_rows});
        for (int64_t t = 0; t < num_rows; ++t) {
          // Small ones, and up to the longest context.
          positions.as<int32_t>()[t] = UniformInt(rng, 0, t % 2 == 0 ? 5 : (1 << 20));
        }
        HostTensor freqs = Zeros(DType::kF32, {num_pairs});
        for (int64_t i = 0; i < num_pairs; ++i) {
          freqs.as<float>()[i] = i == 0 ? 1.0f : std::abs(Normal(rng));
        }
        c.In("positions", std::move(positions), 0);
        c.In("freqs", std::move(freqs), kShared);
        // Correctly rounded or the neighbour; cosines near 0 are not the sums of anything.
        c.Out("cos_sin", DType::kF32, {num_rows, num_pairs, 2},
              Numbers({.rel_norm = 1e-7, .max_ulp = 1}));
        c.run = [=](backend::Stream& stream, const Bound& b) {
          ops::RopeCosSin(stream, {.positions = b["positions"],
                                   .freqs = b["freqs"],
                                   .multiple = multiple,
                                   .cos_sin = b["cos_sin"]});
        };
        return c;
      }};
}

struct QkvShape {
  int64_t num_rows, hidden_size, q_lora_rank, head_dim, num_pairs;
};

CaseSpec QkvACase(QkvShape s, Numerics numerics, DType w, Fill fill = Fill::kNormal) {
  return {StrCat("attention/qkv_a ", ModeName(numerics), " ", DTypeName(w), " T", s.num_rows, " D",
                 s.hidden_size, " Qr", s.q_lora_rank, " C", s.head_dim,
                 fill == Fill::kMixedRows ? " mixed" : ""),
          [=](Rng& rng) {
            ParityCase c;
            c.ops = {"QkvA"};
            c.num_rows = s.num_rows;
            const DType act = ops::ActDType(numerics);
            HostTensor x = Random(rng, act, {s.num_rows, s.hidden_size}, fill);
            if (numerics == Numerics::kProduction) QuantizeToQ8(x);
            c.In("x", std::move(x), 0);
            c.Weight("wq_a", RandomWeight(rng, w, s.q_lora_rank, s.hidden_size));
            c.Weight("wkv", RandomWeight(rng, w, s.head_dim, s.hidden_size));
            c.Weight("q_norm", {RandomNormWeight(rng, {s.q_lora_rank}), {}});
            c.Weight("kv_norm", {RandomNormWeight(rng, {s.head_dim}), {}});
            c.In("cos_sin", RandomCosSin(rng, s.num_rows, s.num_pairs), 0);
            c.Out("qr", act, {s.num_rows, s.q_lora_rank},
                  numerics == Numerics::kProduction ? Numbers(kF8GridBf16) : Numbers(Chain(act)));
            c.Out("kv_record", DType::kU8, {s.num_rows, ops::Fp8RecordBytes(s.head_dim)},
                  {Compare::Kind::kRecords, F8Grid(act), RecordRows(s.num_rows, s.head_dim)});
            c.run = [=](backend::Stream& stream, const Bound& b) {
              ops::QkvA(stream, {.numerics = numerics,
                                 .x = b["x"],
                                 .wq_a = b.Weight("wq_a"),
                                 .wkv = b.Weight("wkv"),
                                 .q_norm = b["q_norm"],
                                 .kv_norm = b["kv_norm"],
                                 .cos_sin = b["cos_sin"],
                                 .rms_norm_eps = kEps,
                                 .qr = b["qr"],
                                 .kv_record = b["kv_record"]});
            };
            return c;
          }};
}

struct QbShape {
  int64_t num_rows, q_lora_rank, num_heads, head_dim, num_pairs;
  int64_t hidden_size = 0, index_n_heads = 0, index_head_dim = 0;  // 0: no index part
};

CaseSpec QbCase(QbShape s, DType act, DType w) {
  return {StrCat("attention/q_b ", DTypeName(act), " ", DTypeName(w), " T", s.num_rows, " Qr",
                 s.q_lora_rank, " H", s.num_heads, " C", s.head_dim, " Hi", s.index_n_heads, " Ci",
                 s.index_head_dim),
          [=](Rng& rng) {
            ParityCase c;
            c.ops = {"QB"};
            c.num_rows = s.num_rows;
            c.In("qr", Random(rng, act, {s.num_rows, s.q_lora_rank}), 0);
            c.Weight("wq_b", RandomWeight(rng, w, s.num_heads * s.head_dim, s.q_lora_rank));
            c.In("cos_sin", RandomCosSin(rng, s.num_rows, s.num_pairs), 0);
            c.Out("q", act, {s.num_rows, s.num_heads, s.head_dim}, Numbers(Chain(act)));
            if (s.index_n_heads > 0) {
              c.In("x", Random(rng, act, {s.num_rows, s.hidden_size}), 0);
              c.Weight("index_wq_b",
                       RandomWeight(rng, w, s.index_n_heads * s.index_head_dim, s.q_lora_rank));
              c.Weight("weights_proj",
                       RandomWeight(rng, DType::kBF16, s.index_n_heads, s.hidden_size));
              c.Out("index_q", act, {s.num_rows, s.index_n_heads, s.index_head_dim},
                    Numbers(act == DType::kF32 ? kF4GridF32 : kF4GridBf16));
              c.Out("index_w", DType::kF32, {s.num_rows, s.index_n_heads},
                    Numbers(act == DType::kF32 ? kSumF32 : kBf16InF32));
            }
            c.run = [](backend::Stream& stream, const Bound& b) {
              ops::QB(stream, {.qr = b["qr"],
                               .wq_b = b.Weight("wq_b"),
                               .cos_sin = b["cos_sin"],
                               .q = b["q"],
                               .x = b["x"],
                               .index_wq_b = b.Weight("index_wq_b"),
                               .weights_proj = b.Weight("weights_proj"),
                               .index_q = b["index_q"],
                               .index_w = b["index_w"]});
            };
            return c;
          }};
}

struct AttentionShape {
  std::vector<Span> spans;
  int32_t window = 8;
  int64_t num_heads = 4, head_dim = 64, num_pairs = 8;
  int32_t compress_ratio = 0;  // 0: no compressed entries
  int32_t index_topk = 0;
  ops::KvFormat format = ops::KvFormat::kFp4;
  float q_factor = 1;  // large: the softmax picks one key
};

// Ascending subsets of the visible entries, some of them empty; -1 behind the count.
void AddSelection(Rng& rng, const AttentionShape& s, ParityCase& c) {
  HostTensor sel = Zeros(DType::kI32, {c.num_rows, s.index_topk});
  HostTensor count = Zeros(DType::kI32, {c.num_rows});
  const std::vector<RowInfo> rows = RowsOf(c.sequences);
  for (int64_t t = 0; t < c.num_rows; ++t) {
    const int32_t num_visible = ops::NumVisible(rows[t].position, s.compress_ratio);
    int32_t wanted = std::min(s.index_topk, num_visible);
    if (t % 5 == 4) wanted = UniformInt(rng, 0, wanted);
    int32_t taken = 0;
    int32_t* row = sel.as<int32_t>() + t * s.index_topk;
    std::fill(row, row + s.index_topk, -1);
    for (int32_t j = 0; j < num_visible && taken < wanted; ++j) {
      const int32_t left = num_visible - j, needed = wanted - taken;
      if (UniformInt(rng, 1, left) <= needed) row[taken++] = j;
    }
    count.as<int32_t>()[t] = taken;
  }
  c.In("sel", std::move(sel), 0);
  c.In("sel_count", std::move(count), 0);
}

CaseSpec AttentionCase(const std::string& what, AttentionShape s, Numerics numerics) {
  return {StrCat("attention/sparse ", what, " ", ModeName(numerics)), [=](Rng& rng) {
            ParityCase c;
            c.ops = {"SparseAttention", "WindowWrite"};
            c.Batch(RandomSequences(rng, s.spans));
            const DType act = ops::ActDType(numerics);
            const int64_t record_bytes = ops::Fp8RecordBytes(s.head_dim);
            c.In("q",
                 Random(rng, act, {c.num_rows, s.num_heads, s.head_dim}, Fill::kNormal, s.q_factor),
                 0);
            HostTensor records = Zeros(DType::kU8, {c.num_rows, record_bytes});
            const HostTensor source = RandomFp8Ring(
                rng, {record_bytes * c.num_rows, 0, static_cast<int32_t>(c.num_rows)}, s.head_dim);
            std::copy_n(source.bytes.begin(), records.bytes.size(), records.bytes.begin());
            c.In("kv_record", std::move(records), 0);
            const RingPlace ring = PlaceRing(s.window + 6, record_bytes);
            c.InOut("ring", RandomFp8Ring(rng, ring, s.head_dim), kShared, {});
            PagePlace pages;
            if (s.compress_ratio > 0) {
              pages = PlacePages(s.compress_ratio, ops::MainRecordBytes(s.format, s.head_dim));
              c.In("pages", RandomMainPages(rng, pages, s.format, s.head_dim), kShared);
              AddSelection(rng, s, c);
            }
            c.In("attn_sink", Random(rng, DType::kF32, {s.num_heads}), kShared);
            c.In("cos_sin", RandomCosSin(rng, c.num_rows, s.num_pairs), 0);
            c.Out("out", act, {c.num_rows, s.num_heads * s.head_dim},
                  numerics == Numerics::kProduction ? Numbers(kF8GridAttention)
                  : numerics == Numerics::kBf16     ? Numbers(kAttentionBf16)
                  : s.q_factor > 1                  ? Numbers(kPeakedAttentionF32)
                                                    : Numbers(kChainF32));
            const float scale = 1.0f / std::sqrt(static_cast<float>(s.head_dim));
            c.run = [=](backend::Stream& stream, const Bound& b) {
              ops::SparseAttention(stream, {.numerics = numerics,
                                            .batch = b.batch(),
                                            .q = b["q"],
                                            .kv_record = b["kv_record"],
                                            .ring = ring.View(b["ring"]),
                                            .window = s.window,
                                            .pages = pages.View(b["pages"]),
                                            .format = s.format,
                                            .sel = b["sel"],
                                            .sel_count = b["sel_count"],
                                            .attn_sink = b["attn_sink"],
                                            .cos_sin = b["cos_sin"],
                                            .softmax_scale = scale,
                                            .out = b["out"]});
              ops::WindowWrite(
                  stream,
                  {.batch = b.batch(), .kv_record = b["kv_record"], .ring = ring.View(b["ring"])});
            };
            return c;
          }};
}

CaseSpec WindowWriteCase(const std::string& what, std::vector<Span> spans, int32_t ring_len,
                         int64_t record_bytes) {
  return {StrCat("attention/window_write ", what), [=](Rng& rng) {
            ParityCase c;
            c.ops = {"WindowWrite"};
            c.Batch(RandomSequences(rng, spans));
            const RingPlace ring = PlaceRing(ring_len, record_bytes);
            c.In("kv_record", RandomBytes(rng, {c.num_rows, record_bytes}), 0);
            c.InOut("ring", RandomBytes(rng, {kNumSlots, ring.slot_bytes}), kShared, {});
            c.run = [=](backend::Stream& stream, const Bound& b) {
              ops::WindowWrite(
                  stream,
                  {.batch = b.batch(), .kv_record = b["kv_record"], .ring = ring.View(b["ring"])});
            };
            return c;
          }};
}

void AddAttentionCases(std::vector<CaseSpec>& cases) {
  // From an empty sequence, behind a partly and a fully filled ring, longer than the ring, no row.
  const std::vector<Span> ragged = {{0, 5}, {3, 4}, {0, 0}, {40, 1}, {130, 21}};
  for (const Numerics numerics : kModes) {
    cases.push_back(AttentionCase("window", {.spans = ragged}, numerics));
    cases.push_back(
        AttentionCase("r2", {.spans = ragged, .compress_ratio = 2, .index_topk = 12}, numerics));
    cases.push_back(
        AttentionCase("r1", {.spans = ragged, .compress_ratio = 1, .index_topk = 33}, numerics));
    cases.push_back(AttentionCase("r1 fp8",
                                  {.spans = ragged,
                                   .num_heads = 3,
                                   .head_dim = 96,
                                   .num_pairs = 16,
                                   .compress_ratio = 1,
                                   .index_topk = 7,
                                   .format = ops::KvFormat::kFp8},
                                  numerics));
    cases.push_back(AttentionCase(
        "peaked", {.spans = ragged, .compress_ratio = 2, .index_topk = 12, .q_factor = 30},
        numerics));
    cases.push_back(AttentionCase("one key", {.spans = {{0, 3}}, .window = 1}, numerics));
    cases.push_back(AttentionCase("released widths",
                                  {.spans = {{0, 1}, {300, 2}, {1100, 1}},
                                   .window = 128,
                                   .num_heads = 64,
                                   .head_dim = 512,
                                   .num_pairs = 32,
                                   .compress_ratio = 2,
                                   .index_topk = 512},
                                  numerics));
  }
}

}  // namespace

std::vector<CaseSpec> AttentionCases() {
  std::vector<CaseSpec> cases = {RopeCase(9, 32, 1), RopeCase(6, 8, 2), RopeCase(3, 5, 1)};
  for (const Numerics numerics : kModes) {
    for (const DType w : {DType::kF8E4M3, DType::kBF16}) {
      cases.push_back(QkvACase({5, 128, 64, 64, 8}, numerics, w));
      cases.push_back(QkvACase({37, 128, 64, 64, 8}, numerics, w));
      cases.push_back(QkvACase({5, 96, 96, 32, 16}, numerics, w, Fill::kMixedRows));
    }
    cases.push_back(QkvACase({3, 5120, 160, 64, 32}, numerics, DType::kF8E4M3));
    cases.push_back(QkvACase({1, 128, 1280, 512, 32}, numerics, DType::kF8E4M3));
  }
  for (const DType act : {DType::kF32, DType::kBF16}) {
    for (const DType w : {DType::kF8E4M3, DType::kBF16}) {
      cases.push_back(QbCase({5, 64, 4, 64, 8}, act, w));
      cases.push_back(QbCase({5, 64, 4, 64, 8, 128, 16, 32}, act, w));
      cases.push_back(QbCase({37, 64, 2, 64, 8, 96, 4, 32}, act, w));
    }
    cases.push_back(QbCase({3, 1280, 2, 512, 32, 160, 3, 128}, act, DType::kF8E4M3));
  }
  AddAttentionCases(cases);
  cases.push_back(WindowWriteCase("ragged", {{0, 5}, {3, 4}, {0, 0}, {13, 1}}, 14, 66));
  cases.push_back(WindowWriteCase("longer than the ring", {{2, 23}, {0, 9}}, 9, 528));
  return cases;
}

}  // namespace deepinfer::parity
