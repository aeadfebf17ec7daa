#include "backend/cpu/machine.h"

// g++ 12 takes the deliberately undefined operands inside its own AVX-512 intrinsics for a mistake.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include <immintrin.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "backend/cpu/simd.h"
#include "base/strings.h"

namespace deepinfer::cpu {
namespace {

// More than latency times units, so that no chain waits: 4 cycles times 2 units of FMA, 6 cycles of
// a bf16 product.
constexpr int32_t kChains = 12;
constexpr int32_t kTries = 6;

// Keeps the compiler from dropping the work behind a value.
template <typename Vector>
DI_INLINE void Keep(Vector& v) {
  __asm__ volatile("" : "+v"(v));
}

DI_TARGET_AVX2 void F32ChainsAvx2(int64_t num_rounds) {
  __m256 acc[kChains];
  for (__m256& a : acc) a = _mm256_setzero_ps();
  __m256 x = _mm256_set1_ps(0.5f);
  KeepInRegister(x);
  for (int64_t round = 0; round < num_rounds; ++round) {
    DI_UNROLL
    for (int32_t i = 0; i < kChains; ++i) acc[i] = _mm256_fmadd_ps(x, x, acc[i]);
  }
  for (__m256& a : acc) Keep(a);
}

DI_TARGET_AVX512 void F32ChainsAvx512(int64_t num_rounds) {
  __m512 acc[kChains];
  for (__m512& a : acc) a = _mm512_setzero_ps();
  __m512 x = _mm512_set1_ps(0.5f);
  KeepInRegister(x);
  for (int64_t round = 0; round < num_rounds; ++round) {
    DI_UNROLL
    for (int32_t i = 0; i < kChains; ++i) acc[i] = _mm512_fmadd_ps(x, x, acc[i]);
  }
  for (__m512& a : acc) Keep(a);
}

DI_TARGET_AVX512BF16 void Bf16ChainsAvx512(int64_t num_rounds) {
  __m512 acc[kChains];
  for (__m512& a : acc) a = _mm512_setzero_ps();
  __m512i x = _mm512_set1_epi16(0x3f00);
  KeepInRegister(x);
  const __m512bh pair = reinterpret_cast<__m512bh>(x);
  for (int64_t round = 0; round < num_rounds; ++round) {
    DI_UNROLL
    for (int32_t i = 0; i < kChains; ++i) acc[i] = _mm512_dpbf16_ps(acc[i], pair, pair);
  }
  for (__m512& a : acc) Keep(a);
}

// Six tiles of sums, two of operands: 16 rows of 64 bytes each.
DI_TARGET_AMX void Bf16ChainsAmx(int64_t num_rounds) {
  alignas(64) uint8_t config[64] = {};
  config[0] = 1;  // palette
  for (int32_t tile = 0; tile < 8; ++tile) {
    config[16 + 2 * tile] = 64;  // bytes of a row
    config[48 + tile] = 16;      // rows
  }
  __asm__ volatile("" ::"r"(config) : "memory");
  _tile_loadconfig(config);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
  for (int64_t round = 0; round < num_rounds; ++round) {
    _tile_dpbf16ps(0, 6, 7);
    _tile_dpbf16ps(1, 6, 7);
    _tile_dpbf16ps(2, 6, 7);
    _tile_dpbf16ps(3, 6, 7);
    _tile_dpbf16ps(4, 6, 7);
    _tile_dpbf16ps(5, 6, 7);
  }
  _tile_release();
}

DI_TARGET_AVX2 void ReadAll(const char* p, size_t num_bytes) {
  __m256i acc[4];
  for (__m256i& a : acc) a = _mm256_setzero_si256();
  for (size_t i = 0; i + 128 <= num_bytes; i += 128) {
    DI_UNROLL
    for (size_t j = 0; j < 4; ++j) {
      acc[j] = _mm256_add_epi64(
          acc[j], _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + i + j * 32)));
    }
  }
  for (__m256i& a : acc) Keep(a);
}

// The best rate of kTries runs of `body(thread_idx)` on every thread at once.
template <typename Body>
double BestRate(Team& team, double units, const Body& body) {
  double best = 0;
  for (int32_t i = 0; i < kTries; ++i) {
    const auto start = std::chrono::steady_clock::now();
    team.ParallelFor(team.num_threads(), [&](int64_t begin, int64_t end, int32_t) {
      for (int64_t part = begin; part < end; ++part) body(part);
    });
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, units / seconds.count());
  }
  return best;
}

size_t BufferBytes() {
  constexpr size_t kMinBytes = size_t{256} << 20;
  const long last_cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return std::max(kMinBytes, last_cache > 0 ? size_t{4} * static_cast<size_t>(last_cache) : 0);
}

}  // namespace

Result<double> MeasureReadBandwidth(Team& team) {
  const size_t num_bytes = BufferBytes();
  void* data = mmap(nullptr, num_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return ResourceExhausted(StrCat("read bandwidth: expected room for ", HumanBytes(num_bytes)));
  }
  const size_t part_bytes = num_bytes / static_cast<size_t>(team.num_threads()) / 4096 * 4096;
  const auto part_at = [&](int64_t part) {
    return static_cast<char*>(data) + static_cast<size_t>(part) * part_bytes;
  };
  // Real pages, touched by the thread that reads them later: untouched ones are all the same zeros.
  team.ParallelFor(team.num_threads(), [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t part = begin; part < end; ++part) std::memset(part_at(part), 1, part_bytes);
  });
  const double total = static_cast<double>(part_bytes) * team.num_threads();
  const double rate =
      BestRate(team, total, [&](int64_t part) { ReadAll(part_at(part), part_bytes); });
  munmap(data, num_bytes);
  return rate;
}

double MeasureF32Flops(Team& team, Isa isa) {
  constexpr int64_t kRounds = 2'000'000;
  const int64_t lanes = isa == Isa::kAvx2 ? 8 : 16;
  const double flops = 2.0 * kChains * static_cast<double>(lanes * kRounds * team.num_threads());
  const auto chains = isa == Isa::kAvx2 ? F32ChainsAvx2 : F32ChainsAvx512;
  return BestRate(team, flops, [&](int64_t) { chains(kRounds); });
}

double MeasureBf16Flops(Team& team, Isa isa) {
  const double threads = team.num_threads();
  if (isa == Isa::kAmx) {
    constexpr int64_t kRounds = 200'000;
    const double flops = 2.0 * 6 * 16 * 16 * 32 * kRounds * threads;
    return BestRate(team, flops, [](int64_t) { Bf16ChainsAmx(kRounds); });
  }
  if (isa == Isa::kAvx512Bf16) {
    constexpr int64_t kRounds = 2'000'000;
    const double flops = 2.0 * kChains * 32 * kRounds * threads;
    return BestRate(team, flops, [](int64_t) { Bf16ChainsAvx512(kRounds); });
  }
  return 0;
}

Result<MachineLimits> MeasureMachine(Team& team, Isa isa) {
  if (isa == Isa::kAuto) isa = WidestIsa();
  MachineLimits limits;
  DI_ASSIGN_OR_RETURN(limits.read_bytes_per_s, MeasureReadBandwidth(team));
  limits.f32_flops_per_s = MeasureF32Flops(team, isa);
  limits.bf16_flops_per_s = MeasureBf16Flops(team, isa);
  return limits;
}

}  // namespace deepinfer::cpu
