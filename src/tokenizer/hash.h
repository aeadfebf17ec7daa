// The hash of short byte strings and id pairs behind the library's flat tables.  Not stable between versions
// and not meant to withstand chosen keys: the tables are bounded by the file they come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace deepinfer::tokenizer {

// The high and low halves of a 64 x 64 bit product, folded.
inline uint64_t MixHash(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Up to 24 bytes packed into three words such that equal packing and equal length mean equal bytes.  Reads
// nothing outside `text`.  Requires text.size() <= 24.
struct PackedBytes {
  uint64_t words[3] = {0, 0, 0};

  PackedBytes() = default;
  explicit PackedBytes(std::string_view text) {
    const char* p = text.data();
    const size_t n = text.size();
    if (n > 16) {
      std::memcpy(&words[0], p, 8);
      std::memcpy(&words[1], p + 8, 8);
      std::memcpy(&words[2], p + n - 8, 8);
    } else if (n > 8) {
      std::memcpy(&words[0], p, 8);
      std::memcpy(&words[1], p + n - 8, 8);
    } else if (n >= 4) {
      uint32_t low, high;
      std::memcpy(&low, p, 4);
      std::memcpy(&high, p + n - 4, 4);
      words[0] = low | static_cast<uint64_t>(high) << 32;
    } else if (n > 0) {
      words[0] = static_cast<uint8_t>(p[0]) | static_cast<uint64_t>(static_cast<uint8_t>(p[n / 2])) << 8 |
                 static_cast<uint64_t>(static_cast<uint8_t>(p[n - 1])) << 16;
    }
  }

  uint64_t Hash(size_t length) const {
    return MixHash(MixHash(words[0] ^ 0x9E3779B97F4A7C15u, words[1] ^ 0xD6E8FEB86659FD93u ^ length),
                   words[2] ^ 0xA0761D6478BD642Fu);
  }

  bool operator==(const PackedBytes& other) const {
    return ((words[0] ^ other.words[0]) | (words[1] ^ other.words[1]) | (words[2] ^ other.words[2])) == 0;
  }
};

inline uint64_t HashBytes(std::string_view text) {
  uint64_t hash = text.size() ^ 0x2545F4914F6CDD1Du;
  while (text.size() > 24) {
    hash = MixHash(hash ^ PackedBytes(text.substr(0, 24)).Hash(24), 0xE7037ED1A0B428DBu);
    text.remove_prefix(24);
  }
  return MixHash(hash, PackedBytes(text).Hash(text.size()) ^ 0x8EBC6AF09C88C6E3u);
}

}  // namespace deepinfer::tokenizer
