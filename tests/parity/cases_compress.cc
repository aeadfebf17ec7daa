// CompressKv.
#include <string>

#include "backend/ops/compress.h"
#include "base/strings.h"
#include "parity/caches.h"
#include "parity/parity_case.h"

namespace deepinfer::parity {
namespace {

struct CompressShape {
  std::vector<Span> spans;
  int32_t compress_ratio = 2;
  int64_t hidden_size = 128, head_dim = 64, num_pairs = 8;
  int64_t index_head_dim = 32;  // 0: no index key
  ops::KvFormat format = ops::KvFormat::kFp4;
};

// Regions of the entries that close in the step.
void ClosedEntries(const ParityCase& c, const CompressShape& s, const PagePlace& main,
                   const PagePlace& key, std::vector<Region>& main_regions,
                   std::vector<Region>& key_regions) {
  for (const RowInfo& row : RowsOf(c.sequences)) {
    if ((row.position + 1) % s.compress_ratio != 0) continue;
    const int32_t entry = row.position / s.compress_ratio;
    const HostSequence& sequence = c.sequences[row.seq];
    main_regions.push_back(MainRegion(main, sequence, entry, s.format, s.head_dim));
    if (s.index_head_dim > 0) {
      key_regions.push_back(KeyRegion(key, sequence, entry, s.index_head_dim));
    }
  }
}

// The group ring as f32 numbers: every record of it.
std::vector<Region> GroupRegions(const RingPlace& ring, int64_t head_dim) {
  std::vector<Region> regions;
  for (int32_t slot = 0; slot < kNumSlots; ++slot) {
    for (int32_t i = 0; i < ring.ring_len; ++i) {
      const int64_t begin = slot * ring.slot_bytes + ring.offset + i * 2 * head_dim * 4;
      regions.push_back({Region::Kind::kF32, begin, begin, 2 * head_dim});
    }
  }
  return regions;
}

// u and g of earlier tokens must be finite numbers.
HostTensor RandomGroupRing(Rng& rng, const RingPlace& ring) {
  HostTensor pool = RandomBytes(rng, {kNumSlots, ring.slot_bytes});
  for (size_t i = 0; i + 4 <= pool.bytes.size(); i += 4) {
    *reinterpret_cast<float*>(pool.bytes.data() + i) = Normal(rng);
  }
  return pool;
}

CaseSpec CompressCase(const std::string& what, CompressShape s, DType act) {
  return {StrCat("compress/", what, " ", DTypeName(act)), [=](Rng& rng) {
            ParityCase c;
            c.ops = {"CompressKv"};
            c.Batch(RandomSequences(rng, s.spans));
            c.In("x", Random(rng, act, {c.num_rows, s.hidden_size}), 0);
            c.Weight("wkv", RandomWeight(rng, DType::kBF16, s.head_dim, s.hidden_size));
            c.Weight("norm", {RandomNormWeight(rng, {s.head_dim}), {}});
            c.In("cos_sin", RandomCosSin(rng, c.num_rows, s.num_pairs), 0);
            const bool is_f32 = act == DType::kF32;
            const Tolerance f4 = is_f32 ? kF4GridF32 : kF4GridBf16;
            const Tolerance f8 = is_f32 ? kF8GridF32 : kF8GridBf16;
            const PagePlace main =
                PlacePages(s.compress_ratio, ops::MainRecordBytes(s.format, s.head_dim));
            const PagePlace key =
                PlacePages(s.compress_ratio, ops::IndexKeyDataBytes(s.index_head_dim) +
                                                 ops::IndexKeyScaleBytes(s.index_head_dim));
            std::vector<Region> main_regions, key_regions;
            ClosedEntries(c, s, main, key, main_regions, key_regions);
            c.InOut(
                "main", RandomMainPages(rng, main, s.format, s.head_dim), kShared,
                {Compare::Kind::kRecords, s.format == ops::KvFormat::kFp8 ? f8 : f4, main_regions});
            if (s.index_head_dim > 0) {
              c.Weight("wk", RandomWeight(rng, DType::kBF16, s.index_head_dim, s.head_dim));
              c.Weight("k_norm", {RandomNormWeight(rng, {s.index_head_dim}), {}});
              c.InOut("key", RandomKeyPages(rng, key, s.index_head_dim), kShared,
                      {Compare::Kind::kRecords, f4, key_regions});
            }
            RingPlace group;
            if (s.compress_ratio > 1) {
              group = PlaceRing(s.compress_ratio + 5, 2 * s.head_dim * 4);
              HostWeight wgate = RandomWeight(rng, DType::kBF16, s.head_dim, s.hidden_size);
              for (int64_t i = 0; i < wgate.data.num_elements(); ++i) {
                wgate.data.SetF32(i, 3 * wgate.data.GetF32(i));  // a pooling far from uniform
              }
              c.Weight("wgate", std::move(wgate));
              c.InOut("group", RandomGroupRing(rng, group), kShared,
                      {Compare::Kind::kRecords, kSumF32, GroupRegions(group, s.head_dim)});
            }
            c.run = [=](backend::Stream& stream, const Bound& b) {
              ops::CompressKv(stream, {.batch = b.batch(),
                                       .compress_ratio = s.compress_ratio,
                                       .x = b["x"],
                                       .wkv = b.Weight("wkv"),
                                       .wgate = b.Weight("wgate"),
                                       .norm = b["norm"],
                                       .wk = b.Weight("wk"),
                                       .k_norm = b["k_norm"],
                                       .cos_sin = b["cos_sin"],
                                       .rms_norm_eps = 1e-20f,
                                       .format = s.format,
                                       .group = group.View(b["group"]),
                                       .main_pages = main.View(b["main"]),
                                       .key_pages = key.View(b["key"])});
            };
            return c;
          }};
}

}  // namespace

std::vector<CaseSpec> CompressCases() {
  // Starts at even and odd tokens, runs that straddle steps, blocks that end inside, no row.
  const std::vector<Span> ragged = {{0, 7}, {3, 4}, {0, 0}, {40, 1}, {41, 1}, {125, 9}};
  std::vector<CaseSpec> cases;
  for (const DType act : {DType::kF32, DType::kBF16}) {
    cases.push_back(CompressCase("r2", {.spans = ragged}, act));
    cases.push_back(CompressCase("r1", {.spans = ragged, .compress_ratio = 1}, act));
    cases.push_back(CompressCase("r2 without keys", {.spans = ragged, .index_head_dim = 0}, act));
    cases.push_back(CompressCase("r2 fp8", {.spans = ragged, .format = ops::KvFormat::kFp8}, act));
    cases.push_back(CompressCase(
        "r1 fp8", {.spans = ragged, .compress_ratio = 1, .format = ops::KvFormat::kFp8}, act));
    cases.push_back(CompressCase(
        "r2 odd widths",
        {.spans = ragged, .hidden_size = 71, .head_dim = 96, .num_pairs = 16, .index_head_dim = 64},
        act));
    cases.push_back(CompressCase("r4 chunk longer than the ring",
                                 {.spans = {{2, 31}, {5, 3}}, .compress_ratio = 4}, act));
    cases.push_back(CompressCase("r2 released widths",
                                 {.spans = {{126, 3}},
                                  .hidden_size = 1280,
                                  .head_dim = 512,
                                  .num_pairs = 32,
                                  .index_head_dim = 128},
                                 act));
    cases.push_back(CompressCase(
        "r1 released hidden size",
        {.spans = {{127, 2}}, .compress_ratio = 1, .hidden_size = 5120, .head_dim = 64}, act));
  }
  return cases;
}

}  // namespace deepinfer::parity
