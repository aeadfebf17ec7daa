#include "base/hash.h"

#include <openssl/evp.h>
#include <xxhash.h>

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "base/strings.h"

namespace deepinfer {

struct Sha256::State {
  // The context is made once; what fails in here is memory or a broken library, nothing a caller
  // can mend.
  State() : context(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    DI_CHECK(context != nullptr);
    Start();
  }
  void Start() { DI_CHECK(EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1); }

  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::Update(std::string_view data) {
  DI_CHECK(EVP_DigestUpdate(state_->context.get(), data.data(), data.size()) == 1);
}

Sha256Digest Sha256::Finish() {
  Sha256Digest digest = {};
  DI_CHECK(EVP_DigestFinal_ex(state_->context.get(), digest.data(), nullptr) == 1);
  state_->Start();
  return digest;
}

Sha256Digest Sha256Of(std::string_view data) {
  Sha256 hash;
  hash.Update(data);
  return hash.Finish();
}

uint64_t Xxh3Of(std::string_view data, uint64_t seed) {
  return XXH3_64bits_withSeed(data.data(), data.size(), seed);
}

Xxh3Digest128 Xxh3Of128(std::string_view data) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(data.data(), data.size()));
  Xxh3Digest128 digest;
  std::copy(std::begin(canonical.digest), std::end(canonical.digest), digest.begin());
  return digest;
}

std::string GitBlobSha1Hex(std::string_view content) {
  std::string blob = StrCat("blob ", content.size());
  blob += '\0';
  blob += content;
  std::array<uint8_t, 20> digest = {};
  DI_CHECK(EVP_Digest(blob.data(), blob.size(), digest.data(), nullptr, EVP_sha1(), nullptr) == 1);
  return HexOf(digest);
}

std::string HexOf(const uint8_t* bytes, size_t num_bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(2 * num_bytes);
  for (size_t i = 0; i < num_bytes; ++i) {
    out += kDigits[bytes[i] >> 4];
    out += kDigits[bytes[i] & 0xf];
  }
  return out;
}

}  // namespace deepinfer
