// Tile kernels for f32 x on AVX2: 8 lanes, fused multiply-add.
//
// Contract: tile_kernel.h; the loops: tile_kernel.inc.  On 16 registers a decoding loop keeps up to 8
// sums and a panel loop 12.  A core reads about 4.5 packed bytes a cycle from memory when all cores
// do; decoding takes about 5 cycles for 32 weights of fp8 and 9 for 64 of fp4.
#include <immintrin.h>

#include <array>
#include <cstring>
#include <utility>

#include "backend/cpu/linear/f4_table.h"
#include "backend/cpu/linear/tile_kernels_of.h"
#include "backend/cpu/simd.h"
#include "tensor/float8.h"

#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,bmi2")

namespace deepinfer::cpu::avx2 {
namespace {

using X = float;
using W = __m256;
using Acc = __m256;
constexpr int32_t kVectors = 8;
constexpr int32_t kAccLanes = 8;
constexpr int32_t kPanelTokens = 3;

constexpr int32_t kFusedTokens = 8;
constexpr int32_t kFusedGroup = 4;

constexpr int32_t RowsAtOnce(int32_t num_tokens) { return num_tokens <= 2 ? 4 : 2; }

DI_INLINE Acc ZeroAcc() { return _mm256_setzero_ps(); }
DI_INLINE Acc LoadAcc(const float* p) { return _mm256_loadu_ps(p); }
DI_INLINE void StoreAcc(float* p, Acc v) { _mm256_storeu_ps(p, v); }
DI_INLINE W LoadW(const X* p) { return _mm256_loadu_ps(p); }
DI_INLINE void StoreW(X* p, W v) { _mm256_storeu_ps(p, v); }
DI_INLINE __m256 LoadX(const X* p) { return _mm256_loadu_ps(p); }
DI_INLINE Acc Dot(Acc acc, W w, __m256 x) { return _mm256_fmadd_ps(w, x, acc); }

// ((0+2)+(1+3)) + ((4+6)+(5+7)) of each.
DI_INLINE __m128 Sum4(Acc a, Acc b, Acc c, Acc d) {
  const __m256 ab = _mm256_add_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
  const __m256 cd = _mm256_add_ps(_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
  const __m256 sums = _mm256_add_ps(
      _mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(ab), _mm256_castps_pd(cd))),
      _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(ab), _mm256_castps_pd(cd))));
  return _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps(sums, 1));
}

DI_INLINE __m256i LoadBytes(const uint8_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

// f8e4m3: the code's bits moved into an f32 give 2^-120 times the number, subnormal codes included;
// the scale takes the factor back.  Vector j of each half chunk has columns 4 * lane + j.
constexpr std::array<uint8_t, kChunk> MakeF8Order() {
  std::array<uint8_t, kChunk> order = {};
  for (int32_t i = 0; i < kChunk; ++i) {
    const int32_t half = i / 32, j = i % 32 / 8, lane = i % 8;
    order[i] = static_cast<uint8_t>(half * 32 + lane * 4 + j);
  }
  return order;
}
constexpr auto kF8Order = MakeF8Order();

// Scales for which neither code nor scale leaves the range of f32 on the way.
constexpr uint8_t kMinOrdinaryScale = 10, kMaxOrdinaryScale = 134;

void ExpandScales(const uint8_t* scale, int64_t num_scales, uint8_t* out) {
  float* expanded = reinterpret_cast<float*>(out);
  for (int64_t i = 0; i < num_scales; ++i) expanded[i] = UE8M0ToF32(scale[i]) * 0x1p120f;
  if (num_scales % 2 != 0) expanded[num_scales] = 0;
}

struct F8 {
  static constexpr int64_t kChunkBytes = 64, kTileScaleBytes = 8, kRowScaleBytes = 0;
  static constexpr int32_t kUnits = 2;
  static constexpr bool kKeepsX = true;
  using Shared = __m256;  // the scale of a half chunk
  using Raw = __m256i;

  static DI_INLINE Shared LoadShared(const uint8_t* tile_scale, int32_t unit) {
    return _mm256_broadcast_ss(reinterpret_cast<const float*>(tile_scale) + unit);
  }
  static DI_INLINE Raw Load(const uint8_t* data, const uint8_t*, int32_t unit) {
    return LoadBytes(data + unit * 32);
  }
  static DI_INLINE W Vector(Raw raw, Shared shared, int32_t j) {
    const __m256i top = _mm256_slli_epi32(raw, 24 - j * 8);
    const __m256i bits = _mm256_and_si256(_mm256_srai_epi32(top, 4),
                                          _mm256_set1_epi32(static_cast<int32_t>(0x87f00000u)));
    return _mm256_mul_ps(_mm256_castsi256_ps(bits), shared);
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
  static W Vector(const Raw& raw, Shared, int32_t j) { return _mm256_loadu_ps(raw.values + j * 8); }
};

// f4e2m1: upper and lower byte of the scaled bf16 by table lookup, put together by unpacking.  Each
// 16-byte half of a chunk holds one block of 32 columns.
constexpr std::array<uint8_t, kChunk> MakeF4Order() {
  std::array<uint8_t, kChunk> order = {};
  for (int32_t i = 0; i < kChunk; ++i) {
    const int32_t j = i / 8, lane = i % 8;
    const int32_t nibble = j / 4, unpacked_high = j % 4 / 2, odd_word = j % 2;
    const int32_t byte = 8 * unpacked_high + 2 * (lane % 4) + odd_word;
    order[i] = static_cast<uint8_t>(lane / 4 * 32 + byte * 2 + nibble);
  }
  return order;
}
constexpr auto kF4Order = MakeF4Order();

struct F4 {
  static constexpr int64_t kChunkBytes = 32, kTileScaleBytes = 0, kRowScaleBytes = 2;
  static constexpr int32_t kUnits = 2;  // low nibbles, high nibbles
  static constexpr bool kKeepsX = false;
  using Shared = NothingShared;
  struct Raw {
    __m256i words[2];
  };

  static DI_INLINE Shared LoadShared(const uint8_t*, int32_t) { return {}; }
  static DI_INLINE Raw Load(const uint8_t* data, const uint8_t* scale, int32_t unit) {
    const F4ByteTable& t0 = kF4ByteTables[scale[0]];
    const F4ByteTable& t1 = kF4ByteTables[scale[1]];
    const __m256i packed = LoadBytes(data);
    const __m256i codes =
        _mm256_and_si256(unit == 0 ? packed : _mm256_srli_epi16(packed, 4), _mm256_set1_epi8(0x0f));
    const __m256i high = _mm256_shuffle_epi8(Pair(t0.high.data(), t1.high.data()), codes);
    const __m256i low = _mm256_shuffle_epi8(Pair(t0.low.data(), t1.low.data()), codes);
    return {{_mm256_unpacklo_epi8(low, high), _mm256_unpackhi_epi8(low, high)}};
  }
  static DI_INLINE W Vector(const Raw& raw, Shared, int32_t j) {
    const __m256i words = raw.words[j / 2];
    const __m256i bits =
        j % 2 == 0 ? _mm256_slli_epi32(words, 16)
                   : _mm256_and_si256(words, _mm256_set1_epi32(static_cast<int32_t>(0xffff0000u)));
    return _mm256_castsi256_ps(bits);
  }
  static DI_INLINE __m256i Pair(const uint8_t* a, const uint8_t* b) {
    const __m128i low = _mm_load_si128(reinterpret_cast<const __m128i*>(a));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low),
                                   _mm_load_si128(reinterpret_cast<const __m128i*>(b)), 1);
  }
};

// Columns 4q + c of 16 at `x0` to lane q of out[c], those at `x1` to lane 4 + q.
DI_INLINE void Transpose(const float* x0, const float* x1, __m256 (&out)[4]) {
  __m256 row[4];
  DI_UNROLL
  for (int32_t q = 0; q < 4; ++q) {
    row[q] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(x0 + q * 4)),
                                  _mm_loadu_ps(x1 + q * 4), 1);
  }
  const __m256 low01 = _mm256_unpacklo_ps(row[0], row[1]);
  const __m256 high01 = _mm256_unpackhi_ps(row[0], row[1]);
  const __m256 low23 = _mm256_unpacklo_ps(row[2], row[3]);
  const __m256 high23 = _mm256_unpackhi_ps(row[2], row[3]);
  out[0] = _mm256_shuffle_ps(low01, low23, 0x44);
  out[1] = _mm256_shuffle_ps(low01, low23, 0xee);
  out[2] = _mm256_shuffle_ps(high01, high23, 0x44);
  out[3] = _mm256_shuffle_ps(high01, high23, 0xee);
}

void StageChunkF8(const float* x, float* out) {
  for (int32_t half = 0; half < 2; ++half) {
    __m256 v[4];
    Transpose(x + half * 32, x + half * 32 + 16, v);
    for (int32_t c = 0; c < 4; ++c) _mm256_storeu_ps(out + half * 32 + c * 8, v[c]);
  }
}

void StageChunkF4(const float* x, float* out) {
  for (int32_t high = 0; high < 2; ++high) {  // unpacked low or high
    __m256 v[4];
    Transpose(x + high * 16, x + 32 + high * 16, v);
    // Column 2 * odd_word + nibble.
    for (int32_t c = 0; c < 4; ++c) {
      _mm256_storeu_ps(out + (c % 2 * 4 + high * 2 + c / 2) * 8, v[c]);
    }
  }
}

template <void (*kStageChunk)(const float*, float*)>
void Stage(const void* x, DType dtype, int64_t num_chunks, void* out) {
  for (int64_t chunk = 0; chunk < num_chunks; ++chunk) {
    float* out_chunk = static_cast<float*>(out) + chunk * kChunk;
    if (dtype == DType::kF32) {
      kStageChunk(static_cast<const float*>(x) + chunk * kChunk, out_chunk);
      continue;
    }
    alignas(32) float wide[kChunk];
    const uint16_t* bits = static_cast<const uint16_t*>(x) + chunk * kChunk;
    for (int32_t i = 0; i < kChunk; i += 8) _mm256_store_ps(wide + i, LoadBf16x8(bits + i));
    kStageChunk(wide, out_chunk);
  }
}

struct Bf16 {
  static constexpr int64_t kChunkBytes = 128, kTileScaleBytes = 0, kRowScaleBytes = 0;
  static constexpr int32_t kUnits = 2;
  static constexpr bool kKeepsX = true;
  using Shared = NothingShared;
  struct Raw {
    const uint8_t* data;
  };

  static DI_INLINE Shared LoadShared(const uint8_t*, int32_t) { return {}; }
  static DI_INLINE Raw Load(const uint8_t* data, const uint8_t*, int32_t unit) {
    return {data + unit * 64};
  }
  static DI_INLINE W Vector(const Raw& raw, Shared, int32_t j) {
    return LoadBf16x8(reinterpret_cast<const uint16_t*>(raw.data + j * 16));
  }
};

struct F32 {
  static constexpr int64_t kChunkBytes = 256, kTileScaleBytes = 0, kRowScaleBytes = 0;
  static constexpr int32_t kUnits = 2;
  static constexpr bool kKeepsX = true;
  using Shared = NothingShared;
  struct Raw {
    const uint8_t* data;
  };

  static DI_INLINE Shared LoadShared(const uint8_t*, int32_t) { return {}; }
  static DI_INLINE Raw Load(const uint8_t* data, const uint8_t*, int32_t unit) {
    return {data + unit * 128};
  }
  static DI_INLINE W Vector(const Raw& raw, Shared, int32_t j) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(raw.data + j * 32));
  }
};

#include "backend/cpu/linear/tile_kernel.inc"

}  // namespace

const TileKernels kF32TileKernels = {
    .f8 = {DType::kF32, kF8Order.data(), &RunTileF8, &Stage<StageChunkF8>},
    .f4 = {DType::kF32, kF4Order.data(), &RunTile<F4>, &Stage<StageChunkF4>},
    .bf16 = {DType::kF32, nullptr, &RunTile<Bf16>},
    .f32 = {DType::kF32, nullptr, &RunTile<F32>},
};

}  // namespace deepinfer::cpu::avx2

#pragma GCC pop_options
