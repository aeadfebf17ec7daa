#include "backend/ref/scalar.h"

#include <cmath>

#include "base/check.h"
#include "tensor/bf16.h"
#include "tensor/float4.h"
#include "tensor/float8.h"
#include "tensor/quantize.h"

namespace deepinfer::ref {

float Load(const TensorView& tensor, int64_t i) {
  if (tensor.dtype() == DType::kF32) return tensor.as<float>()[i];
  DI_CHECK(tensor.dtype() == DType::kBF16, tensor.ToString());
  return Bf16ToF32(tensor.as<bf16>()[i]);
}

void Store(const TensorView& tensor, int64_t i, float value) {
  if (tensor.dtype() == DType::kF32) {
    tensor.as<float>()[i] = value;
    return;
  }
  DI_CHECK(tensor.dtype() == DType::kBF16, tensor.ToString());
  tensor.as<bf16>()[i] = F32ToBf16(value);
}

std::vector<float> LoadRow(const TensorView& tensor, int64_t row) {
  const int64_t n = tensor.row_elements();
  std::vector<float> values(n);
  for (int64_t i = 0; i < n; ++i) values[i] = Load(tensor, row * n + i);
  return values;
}

void StoreRow(const TensorView& tensor, int64_t row, const std::vector<float>& values) {
  const int64_t n = tensor.row_elements();
  DI_CHECK(static_cast<int64_t>(values.size()) == n, "n=", n, " values=", values.size());
  for (int64_t i = 0; i < n; ++i) Store(tensor, row * n + i, values[i]);
}

float RoundTo(DType act, float value) { return act == DType::kBF16 ? RoundToBf16(value) : value; }

void RoundTo(DType act, std::vector<float>& values) {
  for (float& value : values) value = RoundTo(act, value);
}

std::vector<float> WeightRow(const ops::WeightView& weight, int64_t row) {
  const DType dtype = weight.data.dtype();
  if (dtype == DType::kF32 || dtype == DType::kBF16) return LoadRow(weight.data, row);
  const int64_t n = weight.num_cols();
  std::vector<float> values(n);
  const uint8_t* codes = weight.data.as<uint8_t>() + row * weight.data.row_bytes();
  if (dtype == DType::kF8E4M3) {
    const uint8_t* scales =
        weight.scale.as<uint8_t>() + row / kWeightTile * weight.scale.row_bytes();
    for (int64_t i = 0; i < n; ++i) {
      values[i] = F8E4M3ToF32(codes[i]) * UE8M0ToF32(scales[i / kWeightTile]);
    }
    return values;
  }
  DI_CHECK(dtype == DType::kF4E2M1, weight.data.ToString());
  DequantizeQ4x(codes, weight.scale.as<uint8_t>() + row * weight.scale.row_bytes(), n,
                values.data());
  return values;
}

float Dot(const float* a, const float* b, int64_t n) {
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

std::vector<float> Project(const std::vector<float>& x, const ops::WeightView& weight) {
  std::vector<float> y(weight.num_rows());
  for (int64_t row = 0; row < weight.num_rows(); ++row) {
    y[row] = Dot(x.data(), WeightRow(weight, row).data(), weight.num_cols());
  }
  return y;
}

float InverseRms(const float* x, int64_t n, float eps) {
  return 1.0f / std::sqrt(Dot(x, x, n) / static_cast<float>(n) + eps);
}

void RmsNorm(std::vector<float>& x, const TensorView& weight, float eps) {
  const float inverse_rms = InverseRms(x.data(), static_cast<int64_t>(x.size()), eps);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = x[i] * inverse_rms * Load(weight, static_cast<int64_t>(i));
  }
}

float Sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

void Rope(float* x, int64_t width, const TensorView& cos_sin, int64_t token, Rotation rotation) {
  const int64_t num_pairs = cos_sin.dim(1);
  const float* row = cos_sin.as<float>() + token * num_pairs * 2;
  float* rotated = x + (width - 2 * num_pairs);
  for (int64_t i = 0; i < num_pairs; ++i) {
    const float cos = row[2 * i];
    const float sin = rotation == Rotation::kForward ? row[2 * i + 1] : -row[2 * i + 1];
    const float a = rotated[2 * i], b = rotated[2 * i + 1];
    rotated[2 * i] = a * cos - b * sin;
    rotated[2 * i + 1] = a * sin + b * cos;
  }
}

uint8_t* RingRecord(const ops::RingView& ring, int32_t slot, int64_t position,
                    int64_t record_bytes) {
  return ring.pool.as<uint8_t>() + slot * ring.pool.row_bytes() + ring.offset +
         position % ring.ring_len * record_bytes;
}

uint8_t* EntryBlock(const ops::PagedRecords& pages, const ops::BatchView& batch, int32_t seq,
                    int64_t entry) {
  const int64_t block_idx = entry / pages.entries_per_block;
  DI_CHECK(entry >= 0 && block_idx < batch.block_table.dim(1), "entry=", entry,
           " blocks=", batch.block_table.dim(1));
  const int32_t block = batch.block_table.as<int32_t>()[seq * batch.block_table.dim(1) + block_idx];
  DI_CHECK(block >= 0 && block < pages.pool.dim(0), "block=", block);
  return pages.pool.as<uint8_t>() + block * pages.pool.row_bytes() + pages.offset;
}

uint8_t* MainRecord(const ops::PagedRecords& pages, const ops::BatchView& batch, int32_t seq,
                    int64_t entry, ops::KvFormat format, int64_t width) {
  return EntryBlock(pages, batch, seq, entry) +
         entry % pages.entries_per_block * ops::MainRecordBytes(format, width);
}

void LoadMainRecord(const uint8_t* record, ops::KvFormat format, int64_t width, float* out) {
  if (format == ops::KvFormat::kFp8) {
    LoadFp8Record(record, width, out);
  } else {
    DequantizeQ4s(record, record + width / 2, width, out);
  }
}

void StoreFp8Record(const std::vector<float>& x, uint8_t* record) {
  QuantizeQ8(x.data(), static_cast<int64_t>(x.size()), record, record + x.size());
}

void LoadFp8Record(const uint8_t* record, int64_t width, float* out) {
  DequantizeQ8(record, record + width, width, out);
}

IndexKeyRef IndexKey(const ops::PagedRecords& pages, const ops::BatchView& batch, int32_t seq,
                     int64_t entry, int64_t width) {
  uint8_t* block = EntryBlock(pages, batch, seq, entry);
  const int64_t in_block = entry % pages.entries_per_block;
  return {block + in_block * ops::IndexKeyDataBytes(width),
          block + pages.entries_per_block * ops::IndexKeyDataBytes(width) +
              in_block * ops::IndexKeyScaleBytes(width)};
}

}  // namespace deepinfer::ref
