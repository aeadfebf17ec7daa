// Encode and Decode of the tiny model's tokenizer against arbitrary bytes, taken as text and as ids.
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "base/utf8.h"
#include "fuzz_check.h"
#include "tokenizer/incremental_decoder.h"
#include "tokenizer/tokenizer.h"

namespace {

using deepinfer::tokenizer::IncrementalDecoder;
using deepinfer::tokenizer::Tokenizer;

const Tokenizer& Tiny() {
  static const Tokenizer tokenizer =
      Tokenizer::Load(deepinfer::PosixFileSystem(), DI_SOURCE_DIR "/models/DeepSeek-V4.1-Tiny")
          .value();
  return tokenizer;
}

// What the text is after repair comes back; and encoding that again gives the same ids.
void CheckText(std::string_view text) {
  std::string repaired;
  deepinfer::AppendUtf8Lossy(repaired, text);
  for (const bool parses : {true, false}) {
    const auto ids = Tiny().Encode(text, {.parse_added_tokens = parses});
    FUZZ_CHECK(ids.ok());
    FUZZ_CHECK(Tiny().Decode(*ids) == repaired);
    FUZZ_CHECK(*Tiny().Encode(repaired, {.parse_added_tokens = parses}) == *ids);
  }
}

// Decoding at once and piece by piece agree, and no piece is half a character.
void CheckIds(const std::vector<int32_t>& ids) {
  for (const bool skips : {true, false}) {
    IncrementalDecoder decoder(Tiny(), {.skip_special = skips});
    std::string streamed;
    for (const int32_t id : ids) {
      const std::string piece = decoder.Push(id);
      FUZZ_CHECK(deepinfer::IsValidUtf8(piece));
      FUZZ_CHECK(decoder.num_pending_bytes() <= 3);
      streamed += piece;
    }
    streamed += decoder.Finish();
    FUZZ_CHECK(streamed == Tiny().Decode(ids, {.skip_special = skips}));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  CheckText(std::string_view(reinterpret_cast<const char*>(data), size));
  std::vector<int32_t> ids;
  for (size_t i = 0; i + 1 < size; i += 2) {
    // Two bytes an id, most of them in the vocabulary of 4096; the highest ones stand for any number.
    const int32_t id = data[i] << 8 | data[i + 1];
    ids.push_back(id < 0xff00 ? id % 4200 : (id - 0xff80) * (1 << 24));
  }
  CheckIds(ids);
  return 0;
}
