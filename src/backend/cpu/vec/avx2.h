// Vectors of 8 floats: the AVX2 face of the vocabulary that width-independent kernels are written in.
//
// A kernel is written once, in a .inc file between DI_ISA_BEGIN and DI_ISA_END, with the names below,
// and compiled once a width: x_avx2.cc and x_avx512.cc include the matching face and then the .inc.
// DI_ISA names the namespace; everything between the two macros is compiled for that instruction
// set, lambdas and templates included, and nothing else is, so the binary still starts on any
// x86-64.
//
//   F, I       a vector of kLanes floats or int32
//   Load/Store f32 or bf16 (uint16_t) memory, any alignment; ...N: the first n < kLanes elements
//   SumTo4     the sums of four vectors, each in the order of Sum
//
// Every function has a fixed order of operations, so a lane's bits depend on nothing but its inputs.
#pragma once

#include <immintrin.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "backend/cpu/vec/set_nans.h"

#define DI_AVX2_BEGIN         \
  _Pragma("GCC push_options") \
      _Pragma("GCC target(\"avx2,fma,f16c,bmi2\")") namespace deepinfer::cpu::avx2 {
#define DI_AVX2_END \
  }                 \
  _Pragma("GCC pop_options")

// Loops over registers must be unrolled whole, or the registers become memory.
#define DI_UNROLL _Pragma("GCC unroll 32")

DI_AVX2_BEGIN

using F = __m256;
using I = __m256i;
inline constexpr int32_t kLanes = 8;

inline F Zero() { return _mm256_setzero_ps(); }
inline F Set(float x) { return _mm256_set1_ps(x); }
inline F Add(F a, F b) { return _mm256_add_ps(a, b); }
inline F Sub(F a, F b) { return _mm256_sub_ps(a, b); }
inline F Mul(F a, F b) { return _mm256_mul_ps(a, b); }
inline F Div(F a, F b) { return _mm256_div_ps(a, b); }
inline F Sqrt(F a) { return _mm256_sqrt_ps(a); }
inline F Fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }    // a * b + c
inline F Fnma(F a, F b, F c) { return _mm256_fnmadd_ps(a, b, c); }  // c - a * b
// Where either is NaN the second operand comes back.
inline F Max(F a, F b) { return _mm256_max_ps(a, b); }
inline F Min(F a, F b) { return _mm256_min_ps(a, b); }
inline F Abs(F a) { return _mm256_and_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff))); }
inline F And(F a, uint32_t bits) {
  return _mm256_and_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int32_t>(bits))));
}
// Bit i: lane i of a is greater; never for a NaN.
inline uint32_t MaskGreater(F a, F b) {
  return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ)));
}
inline F RoundToInt(F a) {
  return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline F ToFloat(I a) { return _mm256_cvtepi32_ps(a); }

inline I ZeroI() { return _mm256_setzero_si256(); }
inline I LoadI(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline I SetI(int32_t x) { return _mm256_set1_epi32(x); }
// Computes `a` here: what comes before is not reordered with what comes after.
inline void KeepOrder(I& a) { __asm__("" : "+x"(a)); }
inline I AddI(I a, I b) { return _mm256_add_epi32(a, b); }

inline F Load(const float* p) { return _mm256_loadu_ps(p); }
inline F Load(const uint16_t* p) {
  const __m128i raw = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(raw), 16));
}
inline void Store(float* p, F v) { _mm256_storeu_ps(p, v); }

// The bits of the nearest bf16 in the upper half of each lane; a NaN stays a NaN.
inline I RoundedBf16Bits(F v) {
  const I bits = _mm256_castps_si256(v);
  const I lsb = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const I rounded = _mm256_add_epi32(bits, _mm256_add_epi32(lsb, _mm256_set1_epi32(0x7fff)));
  const I quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  const I is_nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
  return _mm256_blendv_epi8(rounded, quiet, is_nan);
}
inline F RoundToBf16(F v) {
  return _mm256_castsi256_ps(
      _mm256_and_si256(RoundedBf16Bits(v), _mm256_set1_epi32(static_cast<int32_t>(0xffff0000u))));
}
inline void Store(uint16_t* p, F v) {
  const I high = _mm256_srli_epi32(RoundedBf16Bits(v), 16);
  const __m128i packed =
      _mm_packus_epi32(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), packed);
}

// ((0+2)+(1+3)) + ((4+6)+(5+7)) of each vector.
inline __m128 SumTo4(F a, F b, F c, F d) {
  const F ab = Add(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
  const F cd = Add(_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
  const __m256d x = _mm256_castps_pd(ab), y = _mm256_castps_pd(cd);
  const F sums =
      Add(_mm256_castpd_ps(_mm256_unpacklo_pd(x, y)), _mm256_castpd_ps(_mm256_unpackhi_pd(x, y)));
  return _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps(sums, 1));
}
inline float Sum(F a) { return _mm_cvtss_f32(SumTo4(a, a, a, a)); }
inline float MaxOfLanes(F v) {
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}

// x * 2^n for integral n in [-150, 128]; two factors, so that the last rounding is the only one
// when the result is subnormal.
inline F ScaleByPowerOf2(F x, F n) {
  const I k = _mm256_cvtps_epi32(n);
  const I half = _mm256_srai_epi32(k, 1);
  const I bias = _mm256_set1_epi32(127);
  const I first = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
  const I second = _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(k, half), bias), 23);
  return Mul(Mul(x, _mm256_castsi256_ps(first)), _mm256_castsi256_ps(second));
}

// 32 numbers f8e4m3 times `scale`.  Without the sign, the bits of a code shifted to those of an f16
// are 2^-8 of its number.
inline void DecodeF8Group(const uint8_t* codes, float scale, float* out) {
  const I raw = LoadI(codes);
  const I nan = _mm256_set1_epi8(0x7f);
  const I is_nan = _mm256_cmpeq_epi8(_mm256_and_si256(raw, nan), nan);
  // 2^8 apart, for 2^8 times the largest scale is infinite.
  const F shift = Set(0x1p8f), factor = Set(scale);
  DI_UNROLL for (int32_t i = 0; i < 2; ++i) {
    const __m128i half = i == 0 ? _mm256_castsi256_si128(raw) : _mm256_extracti128_si256(raw, 1);
    // The sign fills the upper byte; shifted, it is in bit 15 and must leave bit 14.
    const I f16 = _mm256_and_si256(_mm256_slli_epi16(_mm256_cvtepi8_epi16(half), 7),
                                   _mm256_set1_epi16(static_cast<int16_t>(0xbf80)));
    const F low = _mm256_cvtph_ps(_mm256_castsi256_si128(f16));
    const F high = _mm256_cvtph_ps(_mm256_extracti128_si256(f16, 1));
    Store(out + i * 16, Mul(Mul(low, shift), factor));
    Store(out + i * 16 + 8, Mul(Mul(high, shift), factor));
  }
  if (_mm256_movemask_epi8(is_nan) != 0) [[unlikely]]
    SetNans(codes, out);
}

// 32 numbers f4e2m1 from 16 bytes: twice each, times `first` the first 16 and `second` the others.
inline void DecodeTwiceF4Groups(const uint8_t* packed, float first, float second, float* out) {
  const __m128i twice = _mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
  const __m128i raw = _mm_loadu_si128(reinterpret_cast<const __m128i*>(packed));
  const __m128i mask = _mm_set1_epi8(0x0f);
  const __m128i even = _mm_shuffle_epi8(twice, _mm_and_si128(raw, mask));
  const __m128i odd = _mm_shuffle_epi8(twice, _mm_and_si128(_mm_srli_epi16(raw, 4), mask));
  const __m128i numbers[2] = {_mm_unpacklo_epi8(even, odd), _mm_unpackhi_epi8(even, odd)};
  DI_UNROLL for (int32_t i = 0; i < 2; ++i) {
    const F scale = Set(i == 0 ? first : second);
    const F low = ToFloat(_mm256_cvtepi8_epi32(numbers[i]));
    const F high = ToFloat(_mm256_cvtepi8_epi32(_mm_srli_si128(numbers[i], 8)));
    Store(out + i * 16, Mul(low, scale));
    Store(out + i * 16 + 8, Mul(high, scale));
  }
}

// Adds the products of unsigned and signed bytes, four neighbours to each 32-bit lane, to running
// sums whose form is the instruction set's own; ByteProductSums turns them into int32.  At most
// 8 additions of products below 512 fit.
inline I AddByteProducts(I sums, I unsigned_bytes, I signed_bytes) {
  return _mm256_add_epi16(sums, _mm256_maddubs_epi16(unsigned_bytes, signed_bytes));
}
inline I ByteProductSums(I sums) { return _mm256_madd_epi16(sums, _mm256_set1_epi16(1)); }

#include "backend/cpu/vec/common.inc"

DI_AVX2_END
