// Vectors of 16 floats on machines that also multiply bytes and bf16 pairs (VNNI, BF16).
#pragma once

#include "backend/cpu/vec/avx512.h"

#define DI_AVX512VNNI_TARGET                                                       \
  _Pragma("GCC target(\"avx2,fma,f16c,bmi2,avx512f,avx512bw,avx512dq,avx512vl\")") \
      _Pragma("GCC target(\"avx512vbmi,avx512vnni,avx512bf16\")")
#define DI_AVX512VNNI_BEGIN                          \
  DI_AVX512_WARNINGS_OFF _Pragma("GCC push_options") \
      DI_AVX512VNNI_TARGET namespace deepinfer::cpu::avx512vnni {
#define DI_AVX512VNNI_END \
  }                       \
  _Pragma("GCC pop_options") _Pragma("GCC diagnostic pop")

DI_AVX512VNNI_BEGIN

#include "backend/cpu/vec/avx512_face.inc"

// See vec/avx2.h.
inline I AddByteProducts(I sums, I unsigned_bytes, I signed_bytes) {
  return _mm512_dpbusd_epi32(sums, unsigned_bytes, signed_bytes);
}
inline I ByteProductSums(I sums) { return sums; }

// 32 floats that are bf16 numbers, as such; subnormals become 0.
inline void StorePacked(uint16_t* p, F first, F second) {
  _mm512_storeu_si512(p, (__m512i)_mm512_cvtne2ps_pbh(second, first));
}

// Adds the two products of each pair of bf16 neighbours; subnormals count as 0.
inline F AddPairs(F sums, I a, I b) { return _mm512_dpbf16_ps(sums, (__m512bh)a, (__m512bh)b); }

DI_AVX512VNNI_END
