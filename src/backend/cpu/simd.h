// Wrappers of the vector intrinsics that kernels of more than one family use, each under a name
// that says what it does.
//
// Kernels are compiled with function targets, not with compiler flags, so that one binary holds all
// of them: write DI_TARGET_AVX2 and friends in front of every function that uses such intrinsics,
// helpers included (a helper is inlined only into functions of the same or a wider target).  Wrap
// lambdas by plain functions: g++ does not hand a function's target on to a lambda in it.
#pragma once

#include <immintrin.h>

#include <cstdint>

#define DI_TARGET_AVX2 __attribute__((target("avx2,fma,f16c,bmi2")))
#define DI_TARGET_AVX512 \
  __attribute__((target("avx2,fma,f16c,bmi2,avx512f,avx512bw,avx512dq,avx512vl")))
#define DI_TARGET_AVX512BF16 \
  __attribute__((target(     \
      "avx2,fma,f16c,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,avx512bf16")))
#define DI_TARGET_AMX                                                                       \
  __attribute__((                                                                           \
      target("avx2,fma,f16c,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni," \
             "avx512bf16,amx-tile,"                                                         \
             "amx-bf16,amx-int8")))
#define DI_INLINE inline __attribute__((always_inline))
// Loops over registers must be unrolled whole, or the registers become memory.
#ifndef DI_UNROLL
#define DI_UNROLL _Pragma("GCC unroll 32")
#endif

namespace deepinfer::cpu {

// Asks for the cache line at `p`, which need not be mapped, to come to the L2 cache.  Not to the L1:
// its few outstanding misses are what limits a core that streams, and the hardware brings lines from
// the L2 in time (measured: a third faster).
DI_INLINE void Prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T1); }

// Stops the compiler from turning one load that is used several times back into several loads.
template <typename Vector>
DI_INLINE void KeepInRegister(Vector& v) {
  __asm__("" : "+v"(v));
}

// Makes the compiler forget what it knows about memory behind `p`, and so load it again.
template <typename T>
DI_INLINE void Forget(T*& p) {
  __asm__("" : "+r"(p));
}

// Sum of the 8 lanes, always in the order ((0+4)+(2+6)) + ((1+5)+(3+7)).
DI_TARGET_AVX2 DI_INLINE float SumLanes(__m256 v) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

// Sum of the 16 lanes: lanes i and i + 8 first, then as above.
DI_TARGET_AVX512 DI_INLINE float SumLanes(__m512 v) {
  const __m256 hi = _mm512_extractf32x8_ps(v, 1);
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v), hi);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

// 8 bf16 numbers in memory as f32.
DI_TARGET_AVX2 DI_INLINE __m256 LoadBf16x8(const uint16_t* p) {
  const __m128i raw = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(raw), 16));
}

// 16 bf16 numbers in memory as f32.
DI_TARGET_AVX512 DI_INLINE __m512 LoadBf16x16(const uint16_t* p) {
  const __m256i raw = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(raw), 16));
}

// f32 to bf16, to nearest even; a NaN stays a NaN.
DI_TARGET_AVX2 DI_INLINE void StoreBf16x8(uint16_t* p, __m256 v) {
  const __m256i bits = _mm256_castps_si256(v);
  const __m256i lsb = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i bias = _mm256_add_epi32(lsb, _mm256_set1_epi32(0x7fff));
  __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, bias), 16);
  const __m256i quiet = _mm256_or_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(0x40));
  const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
  rounded = _mm256_blendv_epi8(rounded, quiet, is_nan);
  const __m128i packed =
      _mm_packus_epi32(_mm256_castsi256_si128(rounded), _mm256_extracti128_si256(rounded, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), packed);
}

}  // namespace deepinfer::cpu
