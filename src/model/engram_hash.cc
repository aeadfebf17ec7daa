#include "model/engram_hash.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "base/check.h"

namespace deepinfer::model {
namespace {

__extension__ using uint128 = unsigned __int128;

uint64_t MulMod(uint64_t a, uint64_t b, uint64_t m) {
  return static_cast<uint64_t>(uint128{a} * b % m);
}

uint64_t PowMod(uint64_t base, uint64_t exponent, uint64_t m) {
  uint64_t result = 1;
  for (base %= m; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = MulMod(result, base, m);
    base = MulMod(base, base, m);
  }
  return result;
}

// Stretches a seed over 256 bits: NumPy's SeedSequence with a pool of four words.
class SeedSequence {
 public:
  explicit SeedSequence(uint64_t seed) {
    const std::array<uint32_t, 4> words = {static_cast<uint32_t>(seed),
                                           static_cast<uint32_t>(seed >> 32), 0, 0};
    for (size_t i = 0; i < pool_.size(); ++i) pool_[i] = HashMix(words[i]);
    for (size_t src = 0; src < pool_.size(); ++src) {
      for (size_t dst = 0; dst < pool_.size(); ++dst) {
        if (src != dst) pool_[dst] = Mix(pool_[dst], HashMix(pool_[src]));
      }
    }
  }

  std::array<uint64_t, 4> Generate() const {
    std::array<uint64_t, 4> out = {};
    uint32_t h = 0x8b51f9dd;
    for (size_t i = 0; i < 8; ++i) {
      uint32_t word = pool_[i % 4] ^ h;
      h *= 0x58f38ded;
      word *= h;
      word ^= word >> 16;
      out[i / 2] |= uint64_t{word} << (32 * (i % 2));
    }
    return out;
  }

 private:
  uint32_t HashMix(uint32_t value) {
    value ^= hash_;
    hash_ *= 0x931e8875;
    value *= hash_;
    return value ^ (value >> 16);
  }
  static uint32_t Mix(uint32_t x, uint32_t y) {
    const uint32_t t = 0xca01f9ddu * x - 0x4973f715u * y;
    return t ^ (t >> 16);
  }

  uint32_t hash_ = 0x43b0d7e5;
  std::array<uint32_t, 4> pool_ = {};
};

// PCG64 with the XSL-RR output.
class Pcg64 {
 public:
  explicit Pcg64(const std::array<uint64_t, 4>& seed)
      : increment_(((uint128{seed[2]} << 64 | seed[3]) << 1) | 1) {
    Step();
    state_ += uint128{seed[0]} << 64 | seed[1];
    Step();
  }

  uint64_t Next() {
    Step();
    const uint64_t folded = static_cast<uint64_t>(state_ >> 64) ^ static_cast<uint64_t>(state_);
    const auto rotation = static_cast<uint32_t>(state_ >> 122);
    return folded >> rotation | folded << ((64 - rotation) & 63);
  }

 private:
  void Step() {
    constexpr uint128 kMultiplier = uint128{0x2360ed051fc65da4} << 64 | 0x4385df649fccf645;
    state_ = state_ * kMultiplier + increment_;
  }

  uint128 state_ = 0;
  uint128 increment_;
};

// Largest table index times multiplier that stays below 2^63.
uint64_t MultiplierBound(int32_t compressed_vocab_size) {
  const uint64_t limit = std::numeric_limits<int64_t>::max();
  return std::max<uint64_t>(1, limit / static_cast<uint64_t>(compressed_vocab_size) / 2);
}

}  // namespace

bool IsPrime(int64_t n) {
  // These witnesses decide every n below 3.3e24.
  constexpr std::array<uint64_t, 12> kWitnesses = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
  if (n < 2) return false;
  const auto m = static_cast<uint64_t>(n);
  for (const uint64_t p : kWitnesses) {
    if (m % p == 0) return m == p;
  }
  uint64_t odd = m - 1;
  int32_t twos = 0;
  for (; odd % 2 == 0; odd /= 2) ++twos;
  for (const uint64_t witness : kWitnesses) {
    uint64_t x = PowMod(witness, odd, m);
    bool composite = x != 1 && x != m - 1;
    for (int32_t i = 1; i < twos && composite; ++i) {
      x = MulMod(x, x, m);
      composite = x != m - 1;
    }
    if (composite) return false;
  }
  return true;
}

std::vector<uint64_t> DrawBounded(uint64_t seed, uint64_t bound, int32_t count) {
  DI_CHECK(bound > uint64_t{1} << 32, "bound=", bound);
  Pcg64 rng(SeedSequence(seed).Generate());
  const uint64_t threshold = (0 - bound) % bound;
  std::vector<uint64_t> out;
  for (int32_t i = 0; i < count; ++i) {
    uint128 product = uint128{rng.Next()} * bound;
    while (static_cast<uint64_t>(product) < threshold) product = uint128{rng.Next()} * bound;
    out.push_back(static_cast<uint64_t>(product >> 64));
  }
  return out;
}

std::vector<EngramHashLayer> MakeEngramHash(const ModelConfig& config) {
  std::vector<EngramHashLayer> layers;
  std::set<int64_t> seen;  // over all layers and n-gram sizes
  for (const int32_t layer_idx : config.engram_layer_ids) {
    EngramHashLayer layer;
    for (int32_t ngram_size = 2; ngram_size <= config.engram_max_ngram_size; ++ngram_size) {
      int64_t candidate = config.engram_vocab_size - 1;
      for (int32_t head = 0; head < config.engram_n_heads; ++head) {
        do {
          ++candidate;
        } while (seen.count(candidate) > 0 || !IsPrime(candidate));
        seen.insert(candidate);
        layer.primes.push_back(candidate);
        layer.offsets.push_back(layer.num_rows);
        layer.num_rows += candidate;
      }
    }
    constexpr uint64_t kSeedOfLayer = 10007;
    for (const uint64_t v : DrawBounded(kSeedOfLayer * static_cast<uint64_t>(layer_idx),
                                        MultiplierBound(config.engram_compressed_vocab_size),
                                        config.engram_max_ngram_size)) {
      layer.multipliers.push_back(static_cast<int64_t>(2 * v + 1));
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace deepinfer::model
