// What several reference kernels share: reading and writing numbers, dot products, RMSNorm, the
// rotation, and where records lie.
//
// Everything computes in fp32, sums ascend, and rounding happens only where a name says so.
// Threading: pure functions on the caller's memory.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/ops/common.h"
#include "tensor/tensor_view.h"

namespace deepinfer::ref {

// Element `i` in row-major order of an f32 or bf16 tensor.
float Load(const TensorView& tensor, int64_t i);

// The same, written; bf16 rounds to nearest even.
void Store(const TensorView& tensor, int64_t i, float value);

// Row `row` of the leading axis.
std::vector<float> LoadRow(const TensorView& tensor, int64_t row);
void StoreRow(const TensorView& tensor, int64_t row, const std::vector<float>& values);

// `value` as the activation dtype holds it: f32 unchanged, bf16 rounded.
float RoundTo(DType act, float value);
void RoundTo(DType act, std::vector<float>& values);

// Row `row` of a stored weight, dequantised; exact.
std::vector<float> WeightRow(const ops::WeightView& weight, int64_t row);

float Dot(const float* a, const float* b, int64_t n);

// x W^T for one row x, not rounded.
std::vector<float> Project(const std::vector<float>& x, const ops::WeightView& weight);

// x * rsqrt(mean(x^2) + eps) * weight, not rounded (model.md 4.3).  `weight` is bf16 [x.size()].
void RmsNorm(std::vector<float>& x, const TensorView& weight, float eps);

// 1 / sqrt(mean(x^2) + eps) of `n` numbers.
float InverseRms(const float* x, int64_t n, float eps);

float Sigmoid(float x);

enum class Rotation : int32_t { kForward, kInverse };

// Rotates the trailing channels of x[0..width), interleaved pairs, by row `token` of
// cos_sin [T, Rd/2, 2], not rounded (model.md 5).
void Rope(float* x, int64_t width, const TensorView& cos_sin, int64_t token, Rotation rotation);

// First byte of the record of `position` in the ring of state slot `slot`.
uint8_t* RingRecord(const ops::RingView& ring, int32_t slot, int64_t position,
                    int64_t record_bytes);

// First byte (`offset` included) of the part of a block that holds entry `entry` of sequence `seq`.
uint8_t* EntryBlock(const ops::PagedRecords& pages, const ops::BatchView& batch, int32_t seq,
                    int64_t entry);

// The main record of an entry, and its dequantised vector.
uint8_t* MainRecord(const ops::PagedRecords& pages, const ops::BatchView& batch, int32_t seq,
                    int64_t entry, ops::KvFormat format, int64_t width);
void LoadMainRecord(const uint8_t* record, ops::KvFormat format, int64_t width, float* out);

// Window records, and main records in KvFormat::kFp8: codes, then scales.
void StoreFp8Record(const std::vector<float>& x, uint8_t* record);
void LoadFp8Record(const uint8_t* record, int64_t width, float* out);

// Data and scales of an index key.
struct IndexKeyRef {
  uint8_t* data;
  uint8_t* scales;
};
IndexKeyRef IndexKey(const ops::PagedRecords& pages, const ops::BatchView& batch, int32_t seq,
                     int64_t entry, int64_t width);

// Host pointers into the arrays of a batch.
struct BatchArrays {
  explicit BatchArrays(const ops::BatchView& batch)
      : positions(batch.positions.as<int32_t>()),
        seq_idx(batch.seq_idx.as<int32_t>()),
        cu_seqlens_q(batch.cu_seqlens_q.as<int32_t>()),
        num_computed_tokens(batch.num_computed_tokens.as<int32_t>()),
        state_slot(batch.state_slot.as<int32_t>()) {}

  const int32_t* positions;
  const int32_t* seq_idx;
  const int32_t* cu_seqlens_q;
  const int32_t* num_computed_tokens;
  const int32_t* state_slot;
};

}  // namespace deepinfer::ref
