// Tile kernels for bf16 x on AVX-512 BF16: 32 products an instruction, two a lane.
//
// Contract: tile_kernel.h; the loops: tile_kernel.inc.  Decoding takes about 7 cycles for 64 weights
// of fp8 and 4 for 64 of fp4 where a register is worked on in two halves.

// g++ 12 takes the deliberately undefined operands inside its own AVX-512 intrinsics for a mistake.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include <immintrin.h>

#include <array>
#include <cstring>
#include <utility>

#include "backend/cpu/linear/f4_table.h"
#include "backend/cpu/linear/tile_kernels_of.h"
#include "backend/cpu/simd.h"
#include "tensor/bf16.h"
#include "tensor/float8.h"

#pragma GCC push_options
#pragma GCC target( \
    "avx2,fma,f16c,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,avx512bf16")

namespace deepinfer::cpu::avx512bf16 {
namespace {

using X = uint16_t;
using W = __m512i;
using Acc = __m512;
constexpr int32_t kVectors = 2;
constexpr int32_t kAccLanes = 16;
constexpr int32_t kPanelTokens = 6;

constexpr int32_t kFusedTokens = 16;
constexpr int32_t kFusedGroup = 8;
constexpr int32_t kRowsSharingX = 4;

constexpr int32_t RowsAtOnce(int32_t num_tokens) { return num_tokens <= 4 ? 4 : 2; }

DI_INLINE Acc ZeroAcc() { return _mm512_setzero_ps(); }
DI_INLINE Acc LoadAcc(const float* p) { return _mm512_loadu_ps(p); }
DI_INLINE void StoreAcc(float* p, Acc v) { _mm512_storeu_ps(p, v); }
DI_INLINE W LoadW(const X* p) { return _mm512_loadu_si512(p); }
DI_INLINE void StoreW(X* p, W v) { _mm512_storeu_si512(p, v); }
DI_INLINE __m512i LoadX(const X* p) { return _mm512_loadu_si512(p); }
DI_INLINE Acc Dot(Acc acc, W w, __m512i x) {
  return _mm512_dpbf16_ps(acc, reinterpret_cast<__m512bh>(w), reinterpret_cast<__m512bh>(x));
}

#include "backend/cpu/linear/bf16_formats.inc"
#include "backend/cpu/linear/sum4_avx512.inc"
#include "backend/cpu/linear/tile_kernel.inc"

}  // namespace

const TileKernels kBf16TileKernels = {
    .f8 = {DType::kBF16, kF8Order.data(), &RunTileF8, &Stage<kF8StageIndex>},
    .f4 = {DType::kBF16, kF4Order.data(), &RunTile<F4>, &Stage<kF4StageIndex>},
    .bf16 = {DType::kBF16, nullptr, &RunTile<Bf16>},
    .f32 = {},
};

}  // namespace deepinfer::cpu::avx512bf16

#pragma GCC pop_options
