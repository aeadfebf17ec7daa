#include "parity/caches.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "tensor/quantize.h"

namespace deepinfer::parity {
namespace {

std::vector<int32_t> Shuffled(Rng& rng, int32_t begin, int32_t end) {
  std::vector<int32_t> all(end - begin);
  std::iota(all.begin(), all.end(), begin);
  for (size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[rng() % i]);
  return all;
}

std::vector<float> NormalVector(Rng& rng, int64_t width) {
  std::vector<float> x(width);
  for (float& value : x) value = Normal(rng);
  return x;
}

void FakeQuant(HostTensor& x, void (*fake)(float*, int64_t)) {
  std::vector<float> values(x.num_elements());
  for (size_t i = 0; i < values.size(); ++i) values[i] = x.GetF32(static_cast<int64_t>(i));
  fake(values.data(), static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) x.SetF32(static_cast<int64_t>(i), values[i]);
}

int64_t RoundUp4(int64_t n) { return (n + 3) / 4 * 4; }

}  // namespace

std::vector<HostSequence> RandomSequences(Rng& rng, const std::vector<Span>& spans) {
  const std::vector<int32_t> slots = Shuffled(rng, 0, kNumSlots);
  const std::vector<int32_t> blocks = Shuffled(rng, 1, kNumBlocks);
  DI_CHECK(spans.size() <= slots.size(), "sequences=", spans.size());
  int32_t max_blocks = 1;
  for (const Span& span : spans) {
    const int32_t num_tokens = span.num_computed_tokens + span.num_new_tokens;
    max_blocks = std::max(max_blocks, (num_tokens + ops::kBlockSize - 1) / ops::kBlockSize);
  }
  std::vector<HostSequence> sequences;
  size_t next_block = 0;
  for (size_t s = 0; s < spans.size(); ++s) {
    HostSequence sequence{spans[s].num_computed_tokens, spans[s].num_new_tokens, slots[s], {}};
    for (int32_t b = 0; b < max_blocks; ++b) {
      DI_CHECK(next_block < blocks.size(), "blocks=", blocks.size());
      sequence.block_table.push_back(blocks[next_block++]);
    }
    sequences.push_back(std::move(sequence));
  }
  return sequences;
}

std::vector<RowInfo> RowsOf(const std::vector<HostSequence>& sequences) {
  std::vector<RowInfo> rows;
  for (size_t s = 0; s < sequences.size(); ++s) {
    for (int32_t i = 0; i < sequences[s].num_new_tokens; ++i) {
      rows.push_back({sequences[s].num_computed_tokens + i, static_cast<int32_t>(s)});
    }
  }
  return rows;
}

RingPlace PlaceRing(int32_t ring_len, int64_t record_bytes) {
  return {RoundUp4(20 + ring_len * record_bytes + 12), 20, ring_len};
}

PagePlace PlacePages(int32_t compress_ratio, int64_t entry_bytes) {
  const int32_t entries = ops::kBlockSize / compress_ratio;
  return {RoundUp4(36 + entries * entry_bytes + 8), 36, entries};
}

HostTensor RandomBytes(Rng& rng, std::vector<int64_t> shape) {
  HostTensor tensor = Zeros(DType::kU8, std::move(shape));
  for (uint8_t& byte : tensor.bytes) byte = static_cast<uint8_t>(rng());
  return tensor;
}

HostTensor RandomFp8Ring(Rng& rng, const RingPlace& place, int64_t width) {
  HostTensor pool = RandomBytes(rng, {kNumSlots, place.slot_bytes});
  for (int32_t slot = 0; slot < kNumSlots; ++slot) {
    for (int32_t i = 0; i < place.ring_len; ++i) {
      uint8_t* record = pool.bytes.data() + slot * place.slot_bytes + place.offset +
                        i * ops::Fp8RecordBytes(width);
      QuantizeQ8(NormalVector(rng, width).data(), width, record, record + width);
    }
  }
  return pool;
}

HostTensor RandomMainPages(Rng& rng, const PagePlace& place, ops::KvFormat format, int64_t width) {
  HostTensor pool = RandomBytes(rng, {kNumBlocks, place.block_bytes});
  for (int32_t block = 0; block < kNumBlocks; ++block) {
    for (int32_t i = 0; i < place.entries_per_block; ++i) {
      uint8_t* record = pool.bytes.data() + block * place.block_bytes + place.offset +
                        i * ops::MainRecordBytes(format, width);
      const std::vector<float> x = NormalVector(rng, width);
      if (format == ops::KvFormat::kFp8) {
        QuantizeQ8(x.data(), width, record, record + width);
      } else {
        QuantizeQ4s(x.data(), width, record, record + width / 2);
      }
    }
  }
  return pool;
}

HostTensor RandomKeyPages(Rng& rng, const PagePlace& place, int64_t width) {
  HostTensor pool = RandomBytes(rng, {kNumBlocks, place.block_bytes});
  for (int32_t block = 0; block < kNumBlocks; ++block) {
    uint8_t* data = pool.bytes.data() + block * place.block_bytes + place.offset;
    uint8_t* scales = data + place.entries_per_block * ops::IndexKeyDataBytes(width);
    for (int32_t i = 0; i < place.entries_per_block; ++i) {
      QuantizeQ4x(NormalVector(rng, width).data(), width, data + i * ops::IndexKeyDataBytes(width),
                  scales + i * ops::IndexKeyScaleBytes(width));
    }
  }
  return pool;
}

Region MainRegion(const PagePlace& place, const HostSequence& sequence, int32_t entry,
                  ops::KvFormat format, int64_t width) {
  const int32_t block = sequence.block_table[entry / place.entries_per_block];
  const int64_t begin = block * place.block_bytes + place.offset +
                        entry % place.entries_per_block * ops::MainRecordBytes(format, width);
  if (format == ops::KvFormat::kFp8) {
    return {Region::Kind::kFp8, begin, begin + width, width};
  }
  return {Region::Kind::kFp4Main, begin, begin + width / 2, width};
}

Region KeyRegion(const PagePlace& place, const HostSequence& sequence, int32_t entry,
                 int64_t width) {
  const int32_t block = sequence.block_table[entry / place.entries_per_block];
  const int64_t data = block * place.block_bytes + place.offset;
  const int64_t scales = data + place.entries_per_block * ops::IndexKeyDataBytes(width);
  const int64_t in_block = entry % place.entries_per_block;
  return {Region::Kind::kIndexKey, data + in_block * ops::IndexKeyDataBytes(width),
          scales + in_block * ops::IndexKeyScaleBytes(width), width};
}

std::vector<Region> RecordRows(int64_t num_rows, int64_t width) {
  std::vector<Region> regions;
  for (int64_t row = 0; row < num_rows; ++row) {
    const int64_t begin = row * ops::Fp8RecordBytes(width);
    regions.push_back({Region::Kind::kFp8, begin, begin + width, width});
  }
  return regions;
}

HostTensor RandomCosSin(Rng& rng, int64_t num_rows, int64_t num_pairs) {
  HostTensor tensor = Zeros(DType::kF32, {num_rows, num_pairs, 2});
  for (int64_t i = 0; i < num_rows * num_pairs; ++i) {
    const double angle = 3 * Normal(rng);
    tensor.as<float>()[2 * i] = static_cast<float>(std::cos(angle));
    tensor.as<float>()[2 * i + 1] = static_cast<float>(std::sin(angle));
  }
  return tensor;
}

void QuantizeToQ8(HostTensor& x) { FakeQuant(x, FakeQuantQ8); }
void QuantizeToQ4x(HostTensor& x) { FakeQuant(x, FakeQuantQ4x); }

}  // namespace deepinfer::parity
