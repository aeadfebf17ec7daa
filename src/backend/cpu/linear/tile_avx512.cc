// Tile kernels for f32 x on AVX-512: 16 lanes, fused multiply-add.
//
// Contract: tile_kernel.h; the loops: tile_kernel.inc.  On 32 registers a decoding loop keeps up to
// 16 sums and a panel loop 24.  Decoding takes about 10 cycles for 64 weights of fp8 and 7 for 64 of
// fp4 where a register is worked on in two halves.

// g++ 12 takes the deliberately undefined operands inside its own AVX-512 intrinsics for a mistake.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include <immintrin.h>

#include <array>
#include <cstring>
#include <utility>

#include "backend/cpu/linear/f4_table.h"
#include "backend/cpu/linear/tile_kernels_of.h"
#include "backend/cpu/simd.h"
#include "tensor/float8.h"

#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,bmi2,avx512f,avx512bw,avx512dq,avx512vl")

namespace deepinfer::cpu::avx512 {
namespace {

using X = float;
using W = __m512;
using Acc = __m512;
constexpr int32_t kVectors = 4;
constexpr int32_t kAccLanes = 16;
constexpr int32_t kPanelTokens = 6;

constexpr int32_t kFusedTokens = 16;
constexpr int32_t kFusedGroup = 8;

constexpr int32_t RowsAtOnce(int32_t num_tokens) { return num_tokens <= 4 ? 4 : 2; }

DI_INLINE Acc ZeroAcc() { return _mm512_setzero_ps(); }
DI_INLINE Acc LoadAcc(const float* p) { return _mm512_loadu_ps(p); }
DI_INLINE void StoreAcc(float* p, Acc v) { _mm512_storeu_ps(p, v); }
DI_INLINE W LoadW(const X* p) { return _mm512_loadu_ps(p); }
DI_INLINE void StoreW(X* p, W v) { _mm512_storeu_ps(p, v); }
DI_INLINE __m512 LoadX(const X* p) { return _mm512_loadu_ps(p); }
DI_INLINE Acc Dot(Acc acc, W w, __m512 x) { return _mm512_fmadd_ps(w, x, acc); }

#include "backend/cpu/linear/sum4_avx512.inc"

// f8e4m3: as on AVX2; vector j has columns 4 * lane + j of the chunk.
constexpr std::array<uint8_t, kChunk> MakeF8Order() {
  std::array<uint8_t, kChunk> order = {};
  for (int32_t i = 0; i < kChunk; ++i) order[i] = static_cast<uint8_t>(i % 16 * 4 + i / 16);
  return order;
}
constexpr auto kF8Order = MakeF8Order();

constexpr uint8_t kMinOrdinaryScale = 10, kMaxOrdinaryScale = 134;

void ExpandScales(const uint8_t* scale, int64_t num_scales, uint8_t* out) {
  float* expanded = reinterpret_cast<float*>(out);
  for (int64_t i = 0; i < num_scales; ++i) {
    _mm256_storeu_ps(expanded + i * 8, _mm256_set1_ps(UE8M0ToF32(scale[i]) * 0x1p120f));
  }
  if (num_scales % 2 != 0) _mm256_storeu_ps(expanded + num_scales * 8, _mm256_setzero_ps());
}

struct F8 {
  static constexpr int64_t kChunkBytes = 64, kTileScaleBytes = 64, kRowScaleBytes = 0;
  static constexpr int32_t kUnits = 1;
  static constexpr bool kKeepsX = true;
  using Shared = __m512;  // scale of each lane
  using Raw = __m512i;

  static DI_INLINE Shared LoadShared(const uint8_t* tile_scale, int32_t) {
    return _mm512_loadu_ps(tile_scale);
  }
  static DI_INLINE Raw Load(const uint8_t* data, const uint8_t*, int32_t) {
    return _mm512_loadu_si512(data);
  }
  static DI_INLINE W Vector(Raw raw, Shared shared, int32_t j) {
    const __m512i top = _mm512_slli_epi32(raw, static_cast<uint32_t>(24 - j * 8));
    const __m512i bits = _mm512_and_si512(_mm512_srai_epi32(top, 4),
                                          _mm512_set1_epi32(static_cast<int32_t>(0x87f00000u)));
    return _mm512_mul_ps(_mm512_castsi512_ps(bits), shared);
  }
};

// f8e4m3 with any scale: decoded one by one.
struct F8Extreme {
  static constexpr int64_t kChunkBytes = 64, kTileScaleBytes = 0, kRowScaleBytes = 2;
  static constexpr int32_t kUnits = 1;
  static constexpr bool kKeepsX = true;
  using Shared = NothingShared;
  struct Raw {
    float values[kChunk];
  };

  static Shared LoadShared(const uint8_t*, int32_t) { return {}; }
  static Raw Load(const uint8_t* data, const uint8_t* scale, int32_t) {
    Raw raw;
    for (int32_t i = 0; i < kChunk; ++i) {
      const int32_t column = kF8Order[i];
      raw.values[i] = F8E4M3ToF32(data[column]) * UE8M0ToF32(scale[column / 32]);
    }
    return raw;
  }
  static W Vector(const Raw& raw, Shared, int32_t j) {
    return _mm512_loadu_ps(raw.values + j * 16);
  }
};

// f4e2m1: 32 codes to scaled bf16 in one lookup.  Quarter q of the register looks at nibble q of the
// 8 words of a block; word w of it is column 4 * w + q.
constexpr std::array<uint8_t, kChunk> MakeF4Order() {
  std::array<uint8_t, kChunk> order = {};
  for (int32_t i = 0; i < kChunk; ++i) {
    const int32_t block = i / 32, odd_word = i % 32 / 16, quarter = i % 16 / 4, pair = i % 4;
    order[i] = static_cast<uint8_t>(block * 32 + (pair * 2 + odd_word) * 4 + quarter);
  }
  return order;
}
constexpr auto kF4Order = MakeF4Order();

struct F4 {
  static constexpr int64_t kChunkBytes = 32, kTileScaleBytes = 0, kRowScaleBytes = 2;
  static constexpr int32_t kUnits = 2;
  static constexpr bool kKeepsX = true;
  using Shared = NothingShared;
  using Raw = __m512i;

  static DI_INLINE Shared LoadShared(const uint8_t*, int32_t) { return {}; }
  static DI_INLINE Raw Load(const uint8_t* data, const uint8_t* scale, int32_t unit) {
    return Lookup(data + unit * 16, scale[unit]);
  }
  static DI_INLINE W Vector(Raw raw, Shared, int32_t j) {
    const __m512i bits =
        j % 2 == 0 ? _mm512_slli_epi32(raw, 16)
                   : _mm512_and_si512(raw, _mm512_set1_epi32(static_cast<int32_t>(0xffff0000u)));
    return _mm512_castsi512_ps(bits);
  }
  static DI_INLINE __m512i Lookup(const uint8_t* packed, uint8_t scale) {
    const __m512i block =
        _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(packed)));
    const __m512i shift =
        _mm512_set_epi64(0x000c000c000c000c, 0x000c000c000c000c, 0x0008000800080008,
                         0x0008000800080008, 0x0004000400040004, 0x0004000400040004, 0, 0);
    return _mm512_permutexvar_epi16(_mm512_srlv_epi16(block, shift),
                                    _mm512_load_si512(&kF4WordTables[scale]));
  }
};

// Indices of two-register permutations: entry i of `order` modulo 32, and whether it lies above.
struct StageIndex {
  alignas(64) std::array<int32_t, kChunk> index;
  std::array<uint16_t, 4> is_upper;
};
constexpr StageIndex MakeStageIndex(const std::array<uint8_t, kChunk>& order) {
  StageIndex result = {};
  for (int32_t i = 0; i < kChunk; ++i) {
    result.index[i] = order[i] % 32;
    if (order[i] >= 32) {
      result.is_upper[i / 16] = static_cast<uint16_t>(result.is_upper[i / 16] | 1 << i % 16);
    }
  }
  return result;
}
constexpr StageIndex kF8StageIndex = MakeStageIndex(kF8Order);
constexpr StageIndex kF4StageIndex = MakeStageIndex(kF4Order);

template <const StageIndex& kIndex>
void Stage(const void* x, DType dtype, int64_t num_chunks, void* out) {
  for (int64_t chunk = 0; chunk < num_chunks; ++chunk) {
    __m512 in[4];
    DI_UNROLL
    for (int32_t i = 0; i < 4; ++i) {
      const int64_t offset = chunk * kChunk + i * 16;
      in[i] = dtype == DType::kF32 ? _mm512_loadu_ps(static_cast<const float*>(x) + offset)
                                   : LoadBf16x16(static_cast<const uint16_t*>(x) + offset);
    }
    DI_UNROLL
    for (int32_t i = 0; i < 4; ++i) {
      const __m512i index = _mm512_load_si512(kIndex.index.data() + i * 16);
      const __m512 lower = _mm512_permutex2var_ps(in[0], index, in[1]);
      const __m512 upper = _mm512_permutex2var_ps(in[2], index, in[3]);
      _mm512_storeu_ps(static_cast<float*>(out) + chunk * kChunk + i * 16,
                       _mm512_mask_blend_ps(kIndex.is_upper[i], lower, upper));
    }
  }
}

struct Bf16 {
  static constexpr int64_t kChunkBytes = 128, kTileScaleBytes = 0, kRowScaleBytes = 0;
  static constexpr int32_t kUnits = 1;
  static constexpr bool kKeepsX = true;
  using Shared = NothingShared;
  struct Raw {
    const uint8_t* data;
  };

  static DI_INLINE Shared LoadShared(const uint8_t*, int32_t) { return {}; }
  static DI_INLINE Raw Load(const uint8_t* data, const uint8_t*, int32_t) { return {data}; }
  static DI_INLINE W Vector(const Raw& raw, Shared, int32_t j) {
    return LoadBf16x16(reinterpret_cast<const uint16_t*>(raw.data + j * 32));
  }
};

struct F32 {
  static constexpr int64_t kChunkBytes = 256, kTileScaleBytes = 0, kRowScaleBytes = 0;
  static constexpr int32_t kUnits = 1;
  static constexpr bool kKeepsX = true;
  using Shared = NothingShared;
  struct Raw {
    const uint8_t* data;
  };

  static DI_INLINE Shared LoadShared(const uint8_t*, int32_t) { return {}; }
  static DI_INLINE Raw Load(const uint8_t* data, const uint8_t*, int32_t) { return {data}; }
  static DI_INLINE W Vector(const Raw& raw, Shared, int32_t j) {
    return _mm512_loadu_ps(raw.data + j * 64);
  }
};

#include "backend/cpu/linear/tile_kernel.inc"

}  // namespace

const TileKernels kF32TileKernels = {
    .f8 = {DType::kF32, kF8Order.data(), &RunTileF8, &Stage<kF8StageIndex>},
    .f4 = {DType::kF32, kF4Order.data(), &RunTile<F4>, &Stage<kF4StageIndex>},
    .bf16 = {DType::kF32, nullptr, &RunTile<Bf16>},
    .f32 = {DType::kF32, nullptr, &RunTile<F32>},
};

}  // namespace deepinfer::cpu::avx512

#pragma GCC pop_options
