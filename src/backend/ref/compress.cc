// The compressor (backend/ops/compress.h).
#include "backend/ops/compress.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/ref/kernels.h"
#include "backend/ref/scalar.h"
#include "tensor/quantize.h"

namespace deepinfer::ref {
namespace {

// The group ring's record of one token: [2, C] f32, u then g.
float* GroupRecord(const ops::CompressKvArgs& args, int32_t slot, int64_t position, int64_t width) {
  return reinterpret_cast<float*>(
      RingRecord(args.group, slot, position, 2 * width * int64_t{sizeof(float)}));
}

// m_c = sum_i softmax_i(g_ic) u_ic over the run that ends at `position`.
std::vector<float> MixRun(const ops::CompressKvArgs& args, int32_t slot, int64_t position,
                          int64_t width) {
  const int32_t ratio = args.compress_ratio;
  std::vector<const float*> records;
  for (int32_t i = 0; i < ratio; ++i) {
    records.push_back(GroupRecord(args, slot, position - ratio + 1 + i, width));
  }
  std::vector<float> mixed(width);
  for (int64_t c = 0; c < width; ++c) {
    float max = records[0][width + c];
    for (const float* record : records) max = std::max(max, record[width + c]);
    float sum = 0, weighted = 0;
    for (const float* record : records) sum += std::exp(record[width + c] - max);
    for (const float* record : records) {
      weighted += std::exp(record[width + c] - max) / sum * record[c];
    }
    mixed[c] = weighted;
  }
  return mixed;
}

void WriteIndexKey(const ops::CompressKvArgs& args, int64_t token, int32_t seq, int64_t entry,
                   const std::vector<float>& lat, DType act) {
  std::vector<float> key = Project(lat, args.wk);
  const int64_t width = static_cast<int64_t>(key.size());
  RoundTo(act, key);
  RmsNorm(key, args.k_norm, args.rms_norm_eps);
  RoundTo(act, key);
  Rope(key.data(), width, args.cos_sin, token, Rotation::kForward);
  RoundTo(act, key);
  const IndexKeyRef record = IndexKey(args.key_pages, args.batch, seq, entry, width);
  QuantizeQ4x(key.data(), width, record.data, record.scales);
}

void WriteMainEntry(const ops::CompressKvArgs& args, int64_t token, int32_t seq, int64_t entry,
                    std::vector<float> lat, DType act) {
  const int64_t width = static_cast<int64_t>(lat.size());
  Rope(lat.data(), width, args.cos_sin, token, Rotation::kForward);
  RoundTo(act, lat);
  uint8_t* record = MainRecord(args.main_pages, args.batch, seq, entry, args.format, width);
  if (args.format == ops::KvFormat::kFp8) {
    StoreFp8Record(lat, record);
  } else {
    QuantizeQ4s(lat.data(), width, record, record + width / 2);
  }
}

}  // namespace

void CompressKv(backend::Stream&, const ops::CompressKvArgs& args) {
  const BatchArrays batch(args.batch);
  const DType act = args.x.dtype();
  const int32_t ratio = args.compress_ratio;
  const int64_t width = args.wkv.num_rows();
  for (int64_t t = 0; t < args.batch.num_tokens; ++t) {
    const int32_t seq = batch.seq_idx[t], slot = batch.state_slot[seq];
    const int64_t position = batch.positions[t];
    const std::vector<float> x = LoadRow(args.x, t);
    std::vector<float> lat = Project(x, args.wkv);
    if (ratio > 1) {
      const std::vector<float> gate = Project(x, args.wgate);
      float* record = GroupRecord(args, slot, position, width);
      std::memcpy(record, lat.data(), width * sizeof(float));
      std::memcpy(record + width, gate.data(), width * sizeof(float));
      if (position % ratio != ratio - 1) continue;  // the run is not complete
      lat = MixRun(args, slot, position, width);
    }
    RoundTo(act, lat);
    RmsNorm(lat, args.norm, args.rms_norm_eps);
    RoundTo(act, lat);
    const int64_t entry = position / ratio;
    if (!args.wk.empty()) WriteIndexKey(args, t, seq, entry, lat, act);
    WriteMainEntry(args, t, seq, entry, lat, act);
  }
}

}  // namespace deepinfer::ref
