// The block quantisers of the model: Q8, Q4x and Q4s (model.md 0.3), their inverses, and the
// weight formats of the checkpoint (model.md 2.2).
//
// Everything is fp32 inside and bit-exact: the same input gives the same bytes on every backend.  A
// bf16 input is passed as its fp32 value.
//
//   name  group  codes   scale    rule for the scale
//   Q8    32     f8e4m3  ue8m0    max(amax, 1e-4) / 448, up to a power of two
//   Q4x   32     f4e2m1  ue8m0    max(amax, 6 * 2^-126) / 6, up to a power of two
//   Q4s   16     f4e2m1  f8e4m3   max(amax, 6 * 2^-9) / 6, rounded to f8e4m3
//
// A dequantised value is code * scale; it is exact in bf16 for all three.  Inputs are expected to
// be finite.  A NaN does not enter amax and becomes a NaN code (Q8) or zero (Q4x, Q4s); an infinity
// gives the largest scale.
//
// Threading: pure functions.
#pragma once

#include <cstdint>

namespace deepinfer {

inline constexpr int64_t kQ8Group = 32;
inline constexpr int64_t kQ4xGroup = 32;
inline constexpr int64_t kQ4sGroup = 16;
inline constexpr int64_t kWeightTile = 32;  // rows and columns of one scale of an F8 pair

// Exponent k of the scale 2^k, from max|x| of a group; the stored byte is k + 127.
int32_t Q8Exponent(float amax);
int32_t Q4xExponent(float amax);

// f8e4m3 code of the scale, from max|x| of a group.
uint8_t Q4sScale(float amax);

// Each quantises `n` values, a multiple of the group.  `codes` has n bytes (Q8) or n/2 (Q4x, Q4s);
// `scales` has one byte a group.
void QuantizeQ8(const float* x, int64_t n, uint8_t* codes, uint8_t* scales);
void QuantizeQ4x(const float* x, int64_t n, uint8_t* codes, uint8_t* scales);
void QuantizeQ4s(const float* x, int64_t n, uint8_t* codes, uint8_t* scales);

// The inverse: x = code * scale.
void DequantizeQ8(const uint8_t* codes, const uint8_t* scales, int64_t n, float* x);
void DequantizeQ4x(const uint8_t* codes, const uint8_t* scales, int64_t n, float* x);
void DequantizeQ4s(const uint8_t* codes, const uint8_t* scales, int64_t n, float* x);

// Quantise and dequantise in place ("FQ8" and so on).  When `n` is not a multiple of the group the
// values stay as they are.
void FakeQuantQ8(float* x, int64_t n);
void FakeQuantQ4x(float* x, int64_t n);
void FakeQuantQ4s(float* x, int64_t n);

// Weight [num_rows, num_cols] to an F8 pair: codes [num_rows, num_cols], and one scale for each
// 32x32 tile, [ceil(num_rows/32), ceil(num_cols/32)], by the rule of Q8.
void QuantizeWeightF8(const float* w, int64_t num_rows, int64_t num_cols, uint8_t* codes,
                      uint8_t* scales);

// Weight [num_rows, num_cols] to an F4 pair: packed codes [num_rows, num_cols/2], and one scale for
// each row and 32 columns, [num_rows, num_cols/32], by the rule of Q4x.  Requires num_cols % 32 ==
// 0.
void QuantizeWeightF4(const float* w, int64_t num_rows, int64_t num_cols, uint8_t* codes,
                      uint8_t* scales);

}  // namespace deepinfer
