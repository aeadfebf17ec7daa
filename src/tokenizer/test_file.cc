#include "tokenizer/test_file.h"

#include <algorithm>
#include <ctime>
#include <limits>
#include <utility>

#include "base/file_system.h"
#include "tokenizer/byte_level.h"
#include "tokenizer/tokenizer_json.h"

namespace deepinfer::tokenizer {

TestFile::TestFile() : root_(json::Value::Object()) {
  const json::Value byte_level = json::Value::Object(
      {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}});
  root_.Set("added_tokens", json::Value::Array());
  root_.Set("normalizer", nullptr);
  root_.Set("pre_tokenizer", byte_level);
  root_.Set("post_processor", nullptr);
  root_.Set("decoder", json::Value::Object({{"type", "ByteLevel"}}));
  json::Value vocab = json::Value::Object();
  for (int32_t byte = 0; byte < 256; ++byte) {
    vocab.Set(Spelled(std::string(1, static_cast<char>(byte))), byte);
  }
  json::Value& model = root_.Set("model", json::Value::Object());
  model.Set("type", "BPE");
  model.Set("vocab", std::move(vocab));
  model.Set("merges", json::Value::Array());
}

int32_t TestFile::AddToken(std::string_view bytes) {
  model().Find("vocab")->Set(Spelled(bytes), next_id_);
  return next_id_++;
}

int32_t TestFile::AddMerge(std::string_view left, std::string_view right) {
  model().Find("merges")->Append(std::vector<json::Value>{Spelled(left), Spelled(right)});
  const std::string merged = std::string(left) + std::string(right);
  const json::Value* id = model().Find("vocab")->Find(Spelled(merged));
  return id != nullptr ? id->AsInt32().value() : AddToken(merged);
}

int32_t TestFile::AddAdded(AddedToken token) {
  if (token.id < 0) token.id = next_id_++;
  root_.Find("added_tokens")
      ->Append(json::Value::Object({{"id", token.id},
                                    {"content", token.content},
                                    {"single_word", token.single_word},
                                    {"lstrip", token.lstrip},
                                    {"rstrip", token.rstrip},
                                    {"normalized", token.normalized},
                                    {"special", token.special}}));
  return token.id;
}

std::string Spelled(std::string_view bytes) {
  std::string out;
  AppendByteLevelSpelling(bytes, out);
  return out;
}

double CpuSeconds(int32_t num_runs, const std::function<void()>& f) {
  double least = std::numeric_limits<double>::infinity();
  for (int32_t i = 0; i < num_runs; ++i) {
    const std::clock_t start = std::clock();
    f();
    least = std::min(least, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return least;
}

std::string ReadSource(std::string_view path) {
  return ReadFile(PosixFileSystem(), JoinPath(DI_SOURCE_DIR, path), kMaxTokenizerJsonBytes).value();
}

}  // namespace deepinfer::tokenizer
