// Sequences and caches for cases: slots, blocks, and pools full of valid records.
//
// Everything that no record covers is random bytes, so that a kernel which reads or writes beside a
// record is seen.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "backend/ops/common.h"
#include "parity/parity_case.h"

namespace deepinfer::parity {

inline constexpr int32_t kNumSlots = 7;
inline constexpr int32_t kNumBlocks = 40;

// Tokens before and in the step of one sequence.
struct Span {
  int32_t num_computed_tokens = 0;
  int32_t num_new_tokens = 0;
};

// Sequences with state slots and blocks in random order, none shared, none block 0.
std::vector<HostSequence> RandomSequences(Rng& rng, const std::vector<Span>& spans);

// Positions of the rows, and the sequence of each.
struct RowInfo {
  int32_t position = 0;
  int32_t seq = 0;
};
std::vector<RowInfo> RowsOf(const std::vector<HostSequence>& sequences);

// Where a ring or a section of a block lies in its pool.
struct RingPlace {
  int64_t slot_bytes = 0;
  int64_t offset = 0;
  int32_t ring_len = 0;

  ops::RingView View(const TensorView& pool) const { return {pool, offset, ring_len}; }
};
struct PagePlace {
  int64_t block_bytes = 0;
  int64_t offset = 0;
  int32_t entries_per_block = 0;

  ops::PagedRecords View(const TensorView& pool) const { return {pool, offset, entries_per_block}; }
};

// Places with odd gaps in front and behind.
RingPlace PlaceRing(int32_t ring_len, int64_t record_bytes);
PagePlace PlacePages(int32_t compress_ratio, int64_t entry_bytes);

HostTensor RandomBytes(Rng& rng, std::vector<int64_t> shape);
HostTensor RandomFp8Ring(Rng& rng, const RingPlace& place, int64_t width);
HostTensor RandomMainPages(Rng& rng, const PagePlace& place, ops::KvFormat format, int64_t width);
HostTensor RandomKeyPages(Rng& rng, const PagePlace& place, int64_t width);

// The records inside a pool.
Region MainRegion(const PagePlace& place, const HostSequence& sequence, int32_t entry,
                  ops::KvFormat format, int64_t width);
Region KeyRegion(const PagePlace& place, const HostSequence& sequence, int32_t entry,
                 int64_t width);
// [T, C + C/32] window records, one a row.
std::vector<Region> RecordRows(int64_t num_rows, int64_t width);

// cos and sin of a random angle for each row and pair: [T, num_pairs, 2].
HostTensor RandomCosSin(Rng& rng, int64_t num_rows, int64_t num_pairs);

// Rounds every group of x (f32 or bf16) to the grid of Q8 or Q4x.
void QuantizeToQ8(HostTensor& x);
void QuantizeToQ4x(HostTensor& x);

}  // namespace deepinfer::parity
