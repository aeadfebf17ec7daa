// Philox4x32-10: random words as a pure function of (key, counter); no state to share, save or race
// on. [Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", section 3.3]
//
// Sampling keys it by seed and token position, so a draw depends on nothing else: not on the batch,
// the device or the order of threads.
//
// Threading: values; thread-compatible.
#pragma once

#include <array>
#include <cstdint>

namespace deepinfer {

using PhiloxBlock = std::array<uint32_t, 4>;

// Ten rounds on one counter.
constexpr PhiloxBlock Philox4x32(PhiloxBlock counter, std::array<uint32_t, 2> key) {
  constexpr uint64_t kMultiplier0 = 0xd2511f53;
  constexpr uint64_t kMultiplier1 = 0xcd9e8d57;
  constexpr uint32_t kWeyl0 = 0x9e3779b9;  // golden ratio
  constexpr uint32_t kWeyl1 = 0xbb67ae85;  // sqrt(3) - 1
  for (int32_t round = 0; round < 10; ++round) {
    const uint64_t product0 = kMultiplier0 * counter[0];
    const uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

// The endless stream of words of one (seed, subsequence) in the cuRAND convention with offset 0:
// word 4i + j is word j of the block with counter (i, subsequence) and key = seed, low halves
// first.
class PhiloxStream {
 public:
  constexpr PhiloxStream(uint64_t seed, uint64_t subsequence)
      : seed_(seed), subsequence_(subsequence) {}

  constexpr uint32_t NextWord() {
    if (word_idx_ == 4) {
      block_ = Block(block_idx_++);
      word_idx_ = 0;
    }
    return block_[word_idx_++];
  }

  constexpr uint64_t NextUint64() {
    const uint64_t low = NextWord();
    return low | uint64_t{NextWord()} << 32;
  }

  // Uniform in (0, 1): the centre of one of 2^32 cells, never 0 or 1.
  constexpr double NextUniform() { return (NextWord() + 0.5) * 0x1p-32; }

  // The block of words 4 * block_idx and on; independent of the stream's position.
  constexpr PhiloxBlock Block(uint64_t block_idx) const {
    return Philox4x32(
        {static_cast<uint32_t>(block_idx), static_cast<uint32_t>(block_idx >> 32),
         static_cast<uint32_t>(subsequence_), static_cast<uint32_t>(subsequence_ >> 32)},
        {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)});
  }

 private:
  uint64_t seed_;
  uint64_t subsequence_;
  uint64_t block_idx_ = 0;
  PhiloxBlock block_ = {};
  uint32_t word_idx_ = 4;
};

// What a draw at a token position is for; part of its key.
enum class DrawPurpose : uint8_t { kSample = 0, kResample = 1, kAcceptTest = 2 };

// The words for one decision: the token at absolute position `position`, of a request with `seed`.
constexpr PhiloxStream TokenStream(uint64_t seed, uint64_t position, DrawPurpose purpose) {
  return PhiloxStream(seed, 3 * position + static_cast<uint64_t>(purpose));
}

}  // namespace deepinfer
