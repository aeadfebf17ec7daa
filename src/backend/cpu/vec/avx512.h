// Vectors of 16 floats: the AVX-512 face of the vocabulary of vec/avx2.h.
#pragma once

#include <immintrin.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

// g++ 12 takes the deliberately undefined operands in its own AVX-512 header for uninitialised
// reads, so that warning is off here.
#define DI_AVX512_WARNINGS_OFF                                                               \
  _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wmaybe-uninitialized\"") \
      _Pragma("GCC diagnostic ignored \"-Wuninitialized\"")
#define DI_AVX512_TARGET \
  _Pragma("GCC target(\"avx2,fma,f16c,bmi2,avx512f,avx512bw,avx512dq,avx512vl\")")
#define DI_AVX512_BEGIN                              \
  DI_AVX512_WARNINGS_OFF _Pragma("GCC push_options") \
      DI_AVX512_TARGET namespace deepinfer::cpu::avx512 {
#define DI_AVX512_END \
  }                   \
  _Pragma("GCC pop_options") _Pragma("GCC diagnostic pop")

#ifndef DI_UNROLL
#define DI_UNROLL _Pragma("GCC unroll 32")
#endif

DI_AVX512_BEGIN

using F = __m512;
using I = __m512i;
inline constexpr int32_t kLanes = 16;

inline F Zero() { return _mm512_setzero_ps(); }
inline F Set(float x) { return _mm512_set1_ps(x); }
inline F Add(F a, F b) { return _mm512_add_ps(a, b); }
inline F Sub(F a, F b) { return _mm512_sub_ps(a, b); }
inline F Mul(F a, F b) { return _mm512_mul_ps(a, b); }
inline F Div(F a, F b) { return _mm512_div_ps(a, b); }
inline F Sqrt(F a) { return _mm512_sqrt_ps(a); }
inline F Fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
inline F Fnma(F a, F b, F c) { return _mm512_fnmadd_ps(a, b, c); }
inline F Max(F a, F b) { return _mm512_max_ps(a, b); }
inline F Min(F a, F b) { return _mm512_min_ps(a, b); }
inline F Abs(F a) { return _mm512_abs_ps(a); }
inline F And(F a, uint32_t bits) {
  return _mm512_castsi512_ps(
      _mm512_and_si512(_mm512_castps_si512(a), _mm512_set1_epi32(static_cast<int32_t>(bits))));
}
inline F RoundToInt(F a) {
  return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline F ToFloat(I a) { return _mm512_cvtepi32_ps(a); }

inline F Load(const float* p) { return _mm512_loadu_ps(p); }
inline F Load(const uint16_t* p) {
  const __m256i raw = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(raw), 16));
}
inline void Store(float* p, F v) { _mm512_storeu_ps(p, v); }

inline I RoundedBf16Bits(F v) {
  const I bits = _mm512_castps_si512(v);
  const I lsb = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const I rounded = _mm512_add_epi32(bits, _mm512_add_epi32(lsb, _mm512_set1_epi32(0x7fff)));
  const __mmask16 is_nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
  return _mm512_mask_or_epi32(rounded, is_nan, bits, _mm512_set1_epi32(0x400000));
}
inline F RoundToBf16(F v) {
  return _mm512_castsi512_ps(
      _mm512_and_si512(RoundedBf16Bits(v), _mm512_set1_epi32(static_cast<int32_t>(0xffff0000u))));
}
inline void Store(uint16_t* p, F v) {
  const __m256i packed = _mm512_cvtepi32_epi16(_mm512_srli_epi32(RoundedBf16Bits(v), 16));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), packed);
}

// Lanes i and i + 8 first, then ((0+1)+(2+3)) + ((4+5)+(6+7)).
inline __m256 SumHalves(F v) {
  return _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
}
inline __m128 SumTo4(F a, F b, F c, F d) {
  const __m256 ab = _mm256_hadd_ps(SumHalves(a), SumHalves(b));
  const __m256 cd = _mm256_hadd_ps(SumHalves(c), SumHalves(d));
  const __m256 sums = _mm256_hadd_ps(ab, cd);
  return _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps(sums, 1));
}
inline float Sum(F a) { return _mm_cvtss_f32(SumTo4(a, a, a, a)); }
inline float MaxOfLanes(F v) {
  const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}

inline F ScaleByPowerOf2(F x, F n) { return _mm512_scalef_ps(x, n); }

inline F LoadF8TimesTwoToMinus8(const uint8_t* p) {
  const __m256i codes = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  const __m256i magnitude = _mm256_and_si256(codes, _mm256_set1_epi16(0x7f));
  const __m256i sign = _mm256_slli_epi16(_mm256_andnot_si256(_mm256_set1_epi16(0x7f), codes), 8);
  const __m256i nan = _mm256_cmpeq_epi16(magnitude, _mm256_set1_epi16(0x7f));
  const __m256i half = _mm256_or_si256(_mm256_or_si256(_mm256_slli_epi16(magnitude, 7), sign),
                                       _mm256_and_si256(nan, _mm256_set1_epi16(0x7e00)));
  return _mm512_cvtph_ps(half);
}

inline F LoadTwiceF4(const uint8_t* p) {
  const __m128i twice = _mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
  const __m128i packed = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  const __m128i mask = _mm_set1_epi8(0x0f);
  const __m128i codes = _mm_unpacklo_epi8(_mm_and_si128(packed, mask),
                                          _mm_and_si128(_mm_srli_epi16(packed, 4), mask));
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_shuffle_epi8(twice, codes)));
}

#include "backend/cpu/vec/common.inc"

DI_AVX512_END
