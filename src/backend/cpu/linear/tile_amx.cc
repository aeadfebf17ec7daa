// Tile kernels for bf16 x on AMX: 16 weight rows times 16 rows of x times 32 columns an instruction.
//
// Contract: tile_kernel.h.  The weights are the first operand and x the second one, so that a single
// row of x fills the tiles as well as sixteen do: the sums of a tile are [weight row][row of x], and
// a narrower second operand leaves the bits of the other columns alone.  Weights are decoded as on
// AVX-512 BF16, into a buffer that the tile loads read.
//
// Every sum has one accumulator for the whole length; the products of 32 columns are added to it in
// the order that the instruction defines.  A step takes 16 cycles a tile, four tiles run beside each
// other, so a tile of 32 weight rows and 32 rows of x keeps the unit busy.

// g++ 12 takes the deliberately undefined operands inside its own AVX-512 intrinsics for a mistake.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include <immintrin.h>

#include <array>
#include <cstring>

#include "backend/cpu/linear/f4_table.h"
#include "backend/cpu/linear/tile_kernels_of.h"
#include "backend/cpu/simd.h"
#include "tensor/bf16.h"
#include "tensor/float8.h"

#pragma GCC push_options
#pragma GCC target( \
    "avx2,fma,f16c,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vnni,avx512bf16,amx-tile,amx-bf16")

namespace deepinfer::cpu::amx {
namespace {

using X = uint16_t;
using W = __m512i;

#include "backend/cpu/linear/bf16_formats.inc"

constexpr int64_t kStepCols = 32;  // columns of one tile product
constexpr int64_t kStepsPerChunk = kChunk / kStepCols;
constexpr int64_t kTileElements = 16 * kStepCols;  // of a weight tile: 16 rows of 64 bytes
constexpr int32_t kHalfRows = kTileRows / 2;
// Weights that are decoded at a time when x has at most two groups: 32 rows * 512 columns stay in
// the L1 cache.
constexpr int64_t kBlockChunks = 8;
// Columns that are asked for ahead of the decoder, in chunks of each row.
constexpr int64_t kPrefetchChunks = 8;

// The memory operand of ldtilecfg.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// g++'s tile loads do not tell the compiler that they read memory: without this it may move or drop
// the stores to `p` in front of them.
DI_INLINE void FinishStores(const void* p) { __asm__ volatile("" ::"r"(p) : "memory"); }

// Registers: 0 and 1 sums of the first half of the weight rows with groups 0 and 1 of x, 2 and 3 of
// the second half; 4 and 5 weights of the halves; 6 and 7 x of the groups.
void Configure(int32_t width0, int32_t width1) {
  TileConfig config;
  const auto set = [&](int32_t tile, int32_t row_bytes) {
    config.rows[tile] = 16;
    config.row_bytes[tile] = static_cast<uint16_t>(row_bytes);
  };
  for (const int32_t tile : {0, 2, 6}) set(tile, width0 * 4);
  for (const int32_t tile : {1, 3, 7}) set(tile, (width1 > 0 ? width1 : 1) * 4);
  for (const int32_t tile : {4, 5}) set(tile, 64);
  FinishStores(&config);
  _tile_loadconfig(&config);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

// Adds the products of `num_steps` steps.  `weights` is [step][half][row][32]; x of a group is
// [step][pair of columns][row of x][2].
void AddProducts(const X* weights, int64_t num_steps, const X* x0, int32_t width0, const X* x1,
                 int32_t width1) {
  FinishStores(weights);
  for (int64_t step = 0; step < num_steps; ++step) {
    _tile_loadd(4, weights, 64);
    _tile_loadd(5, weights + kTileElements, 64);
    _tile_loadd(6, x0, width0 * 4);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(2, 5, 6);
    if (width1 > 0) {
      _tile_loadd(7, x1, width1 * 4);
      _tile_dpbf16ps(1, 4, 7);
      _tile_dpbf16ps(3, 5, 7);
    }
    weights += 2 * kTileElements;
    x0 += kStepCols * width0;
    x1 += kStepCols * width1;
  }
}

// y[t, half * 16 + r] = sums[r, t] for the group of `width` rows of x.
void WriteHalf(const float* sums, int32_t width, float* y) {
  for (int32_t t = 0; t < width; ++t) {
    for (int32_t r = 0; r < kHalfRows; ++r) y[t * kTileRows + r] = sums[r * width + t];
  }
}

void WriteSums(int32_t width0, int32_t width1, float* y) {
  alignas(64) float sums[16 * kPackTokens];
  _tile_stored(0, sums, width0 * 4);
  WriteHalf(sums, width0, y);
  _tile_stored(2, sums, width0 * 4);
  WriteHalf(sums, width0, y + kHalfRows);
  if (width1 == 0) return;
  y += kPackTokens * kTileRows;
  _tile_stored(1, sums, width1 * 4);
  WriteHalf(sums, width1, y);
  _tile_stored(3, sums, width1 * 4);
  WriteHalf(sums, width1, y + kHalfRows);
}

// Scales of a tile's rows, from the first chunk on.
struct ScaleSource {
  const uint8_t* scale;       // of the first row
  int64_t row_bytes;          // 0 when the rows share scales
  const uint8_t* tile_scale;  // expanded
};

// Decodes one chunk of one row; its steps are 2 * kTileElements apart.
template <class Format>
DI_INLINE void StoreChunk(const uint8_t* data, const uint8_t* scale, const uint8_t* tile_scale,
                          X* out) {
  DI_UNROLL
  for (int32_t unit = 0; unit < Format::kUnits; ++unit) {
    const typename Format::Shared shared = Format::LoadShared(tile_scale, unit);
    const typename Format::Raw raw = Format::Load(data, scale, unit);
    DI_UNROLL
    for (int32_t j = 0; j < kStepsPerChunk / Format::kUnits; ++j) {
      _mm512_storeu_si512(out, Format::Vector(raw, shared, j));
      out += 2 * kTileElements;
    }
  }
}

// Decodes the chunks [begin, end) of all rows to [step][half][row][32].  An incomplete last chunk
// goes by way of a zero-padded copy.
template <class Format>
void Decode(const TileArgs& args, const ScaleSource& source, int64_t begin, int64_t end, X* out) {
  const int64_t num_whole = args.num_cols / kChunk;
  const int64_t row_bytes = args.num_cols * Format::kChunkBytes / kChunk;
  for (int32_t row = 0; row < args.num_rows; ++row) {
    const uint8_t* row_data = args.weight + row * row_bytes;
    const uint8_t* row_scale = source.scale + row * source.row_bytes;
    X* out_row = out + (row / kHalfRows * 16 + row % kHalfRows) * kStepCols;
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const uint8_t* data = row_data + chunk * Format::kChunkBytes;
      const uint8_t* scale = row_scale + chunk * Format::kRowScaleBytes;
      uint8_t padded[Format::kChunkBytes];
      uint8_t padded_scale[2] = {};
      if (chunk == num_whole) {
        std::memset(padded, 0, sizeof(padded));
        std::memcpy(padded, data, static_cast<size_t>(row_data + row_bytes - data));
        data = padded;
        if (source.row_bytes > 0) {
          std::memcpy(padded_scale, scale,
                      static_cast<size_t>(row_scale + source.row_bytes - scale));
          scale = padded_scale;
        }
      } else {
        DI_UNROLL
        for (int64_t b = 0; b < Format::kChunkBytes; b += 64) {
          Prefetch(data + kPrefetchChunks * Format::kChunkBytes + b);
        }
      }
      StoreChunk<Format>(data, scale, source.tile_scale + chunk * Format::kTileScaleBytes, out_row);
      out_row += kStepsPerChunk * 2 * kTileElements;
    }
  }
}

// With two groups of x at most the sums stay in the tiles while the weights are decoded block by
// block; with more the whole tile is decoded first and every pair of groups runs over it.
template <class Format>
void RunDecoded(const TileArgs& args, const ScaleSource& source, X* weights) {
  const int64_t num_chunks = StagedCols(args.num_cols) / kChunk;
  const X* x = static_cast<const X*>(args.x_packed);
  const int32_t num_groups = (args.num_tokens + kPackTokens - 1) / kPackTokens;
  const int64_t group_elements = kPackTokens * StagedCols(args.num_cols);
  const int64_t block = num_groups <= 2 ? kBlockChunks : num_chunks;
  if (args.num_rows < kTileRows) {
    std::memset(weights, 0,
                static_cast<size_t>(block * kStepsPerChunk * 2 * kTileElements) * sizeof(X));
  }
  if (num_groups > 2) Decode<Format>(args, source, 0, num_chunks, weights);
  for (int32_t group = 0; group < num_groups; group += 2) {
    const int32_t remaining = args.num_tokens - group * kPackTokens;
    const int32_t width0 = remaining < kPackTokens ? remaining : kPackTokens;
    const int32_t width1 = remaining - width0 < kPackTokens ? remaining - width0 : kPackTokens;
    const X* x0 = x + group * group_elements;
    const X* x1 = x0 + group_elements;
    Configure(width0, width1);
    for (int64_t begin = 0; begin < num_chunks; begin += block) {
      const int64_t end = begin + block < num_chunks ? begin + block : num_chunks;
      if (num_groups <= 2) Decode<Format>(args, source, begin, end, weights);
      AddProducts(weights, (end - begin) * kStepsPerChunk, x0 + begin * kChunk * width0, width0,
                  x1 + begin * kChunk * width1, width1);
    }
    WriteSums(width0, width1, args.y + group * kPackTokens * kTileRows);
  }
  _tile_release();
}

constexpr int64_t RoundUp64(int64_t n) { return (n + 63) / 64 * 64; }

size_t WeightBytes(const TileArgs& args) {
  const int64_t num_chunks = StagedCols(args.num_cols) / kChunk;
  const int64_t chunks = args.num_tokens <= 2 * kPackTokens ? kBlockChunks : num_chunks;
  return static_cast<size_t>(chunks * kStepsPerChunk * 2 * kTileElements) * sizeof(X);
}

// f4e2m1 and bf16: scales, where there are any, are used as stored.
template <class Format>
void RunTile(const TileArgs& args, Scratch& scratch) {
  const int64_t scale_row_bytes = args.num_cols * Format::kRowScaleBytes / kChunk;
  RunDecoded<Format>(args, {args.scale, scale_row_bytes, nullptr},
                     static_cast<X*>(scratch.Get(WeightBytes(args))));
}

// f8e4m3: the scales of the tile's band are expanded once for all its rows.
void RunTileF8(const TileArgs& args, Scratch& scratch) {
  const int64_t num_scales = (args.num_cols + 31) / 32;
  const int64_t num_chunks = StagedCols(args.num_cols) / kChunk;
  const int64_t scale_bytes = RoundUp64(num_chunks * F8::kTileScaleBytes);
  uint8_t* scale =
      static_cast<uint8_t*>(scratch.Get(static_cast<size_t>(scale_bytes) + WeightBytes(args)));
  X* weights = reinterpret_cast<X*>(scale + scale_bytes);
  bool is_ordinary = true;
  for (int64_t i = 0; i < num_scales; ++i) {
    is_ordinary &= args.scale[i] >= kMinOrdinaryScale && args.scale[i] <= kMaxOrdinaryScale;
  }
  if (is_ordinary) {
    ExpandScales(args.scale, num_scales, scale);
    RunDecoded<F8>(args, {nullptr, 0, scale}, weights);
  } else {
    // Two scales a chunk, as stored; a last half chunk has a second one that meets zeros only.
    std::memset(scale, 127, static_cast<size_t>(num_chunks * 2));
    std::memcpy(scale, args.scale, static_cast<size_t>(num_scales));
    RunDecoded<F8Extreme>(args, {scale, 0, nullptr}, weights);
  }
}

// [pair of columns][row of x][2].
void Pack(const void* const* rows, int32_t num_rows, int64_t num_cols, void* packed) {
  const int64_t num_pairs = StagedCols(num_cols) / 2;
  if (num_rows == 1) {
    std::memcpy(packed, rows[0], static_cast<size_t>(num_pairs) * 4);
    return;
  }
  auto* out = static_cast<uint32_t*>(packed);
  for (int32_t t = 0; t < num_rows; ++t) {
    const auto* row = static_cast<const uint32_t*>(rows[t]);
    for (int64_t pair = 0; pair < num_pairs; ++pair) out[pair * num_rows + t] = row[pair];
  }
}

}  // namespace

const TileKernels kBf16TileKernels = {
    .f8 = {DType::kBF16, kF8Order.data(), &RunTileF8, &Stage<kF8StageIndex>, &Pack},
    .f4 = {DType::kBF16, kF4Order.data(), &RunTile<F4>, &Stage<kF4StageIndex>, &Pack},
    .bf16 = {DType::kBF16, nullptr, &RunTile<Bf16>, nullptr, &Pack},
    .f32 = {},
};

}  // namespace deepinfer::cpu::amx

#pragma GCC pop_options
