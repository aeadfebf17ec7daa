// Hashes: SHA-256 for identity (block keys, downloads), XXH3 for checksums against accidents.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace deepinfer {

using Sha256Digest = std::array<uint8_t, 32>;
using Xxh3Digest128 = std::array<uint8_t, 16>;  // canonical (big-endian) form

// SHA-256 of bytes that come in pieces.
//
// Ownership: movable, single owner.  Threading: thread-compatible.
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();

  void Update(std::string_view data);
  // The digest of everything so far; the object starts afresh.
  Sha256Digest Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Sha256Digest Sha256Of(std::string_view data);

// Not against forgery: anyone can make two texts of equal value.
uint64_t Xxh3Of(std::string_view data, uint64_t seed = 0);
Xxh3Digest128 Xxh3Of128(std::string_view data);

// SHA-1 of the git blob with this content: "blob <size>\0" + content.  What a model hub calls a
// small file.
std::string GitBlobSha1Hex(std::string_view content);

// Lower-case hexadecimal.
std::string HexOf(const uint8_t* bytes, size_t num_bytes);
template <size_t kSize>
std::string HexOf(const std::array<uint8_t, kSize>& digest) {
  return HexOf(digest.data(), digest.size());
}

}  // namespace deepinfer
