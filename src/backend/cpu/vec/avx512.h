// Vectors of 16 floats: the AVX-512 face of the vocabulary of vec/avx2.h.
#pragma once

#include <immintrin.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "backend/cpu/vec/set_nans.h"

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

#include "backend/cpu/vec/avx512_face.inc"

// See vec/avx2.h.
inline I AddByteProducts(I sums, I unsigned_bytes, I signed_bytes) {
  return _mm512_add_epi16(sums, _mm512_maddubs_epi16(unsigned_bytes, signed_bytes));
}
inline I ByteProductSums(I sums) { return _mm512_madd_epi16(sums, _mm512_set1_epi16(1)); }

DI_AVX512_END
