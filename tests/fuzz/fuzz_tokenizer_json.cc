// Tokenizer::FromJson against arbitrary bytes: it loads or refuses, and what it loads encodes and decodes.
//
// A whole file is too large to mutate, since a tokenizer needs a token for each byte.  So the input is an object
// whose members replace those of a small good file: "vocab" and "merges" are added to its model's, any other key
// is set at the top.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"
#include "fuzz_check.h"
#include "tokenizer/byte_level.h"
#include "tokenizer/engram_vocabulary.h"
#include "tokenizer/tokenizer.h"

namespace {

namespace json = deepinfer::json;
using deepinfer::tokenizer::Tokenizer;

json::Value GoodFile() {
  json::Value file = json::Parse(R"({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space":
    false}, "decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": {}, "merges": []}})")
                         .value();
  json::Value& vocab = *file.Find("model")->Find("vocab");
  for (int32_t byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    std::string spelling;
    deepinfer::tokenizer::AppendByteLevelSpelling(std::string_view(&c, 1), spelling);
    vocab.Set(std::move(spelling), byte);
  }
  return file;
}

std::string WithChanges(const json::Value& changes) {
  static const json::Value good = GoodFile();
  json::Value file = good;
  for (const json::Member& change : changes.members()) {
    json::Value& model = *file.Find("model");
    if (change.key == "vocab" && change.value.is_object()) {
      for (const json::Member& token : change.value.members()) {
        model.Find("vocab")->Set(token.key, token.value);
      }
    } else if (change.key == "merges") {
      model.Set("merges", change.value);
    } else if (change.key != "model") {
      file.Set(change.key, change.value);
    }
  }
  return json::Write(file);
}

void CheckLoaded(const Tokenizer& tokenizer) {
  for (const std::string_view text : {"Hello  world\n<a>ab é中1234", "\xff<a> <b>\t<a>ab\xe4"}) {
    for (const bool parses : {true, false}) {
      const auto ids = tokenizer.Encode(text, {.add_bos = true, .parse_added_tokens = parses});
      if (!ids.ok()) continue;  // a pattern gave up
      for (const int32_t id : *ids) FUZZ_CHECK(id >= 0 && id < tokenizer.size());
      FUZZ_CHECK(deepinfer::IsValidUtf8(tokenizer.Decode(*ids, {.skip_special = true})));
    }
  }
  if (tokenizer.size() < 4096) {
    const auto engram = deepinfer::tokenizer::MakeEngramVocabulary(tokenizer);
    FUZZ_CHECK(engram.compressed_ids.size() == static_cast<size_t>(tokenizer.size()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)Tokenizer::FromJson(text, text);
  (void)Tokenizer::FromJson(WithChanges(json::Value::Object()), text);
  const auto changes = json::Parse(text);
  if (!changes.ok() || !changes->is_object()) return 0;
  const auto tokenizer = Tokenizer::FromJson(WithChanges(*changes));
  if (tokenizer.ok()) CheckLoaded(*tokenizer);
  return 0;
}
