// A filter around Tokenizer for comparisons with other implementations (compare.py).
//
//   tokenizer_tool encode FILE        stdin: texts,          stdout: ids of each
//   tokenizer_tool encode-plain FILE  the same without looking for added tokens
//   tokenizer_tool decode FILE        stdin: lists of ids,   stdout: the text of each
//   tokenizer_tool decode-skip FILE   the same without special tokens
//   tokenizer_tool engram FILE        stdout: one list, the compressed ids
//
// FILE is a tokenizer.json.  A record is a count (u32) and that many bytes of text or ids (i32), little endian.
// encode prints its own speed to stderr.
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "tokenizer/engram_vocabulary.h"
#include "tokenizer/incremental_decoder.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_json.h"

namespace deepinfer::tokenizer {
namespace {

bool ReadCount(uint32_t* count) { return std::fread(count, sizeof(*count), 1, stdin) == 1; }

template <typename T>
bool ReadItems(uint32_t count, T* items) {
  items->resize(count);
  return std::fread(items->data(), sizeof((*items)[0]), count, stdin) == count;
}

template <typename T>
void Write(const T& items) {
  const auto count = static_cast<uint32_t>(items.size());
  std::fwrite(&count, sizeof(count), 1, stdout);
  std::fwrite(items.data(), sizeof(items[0]), items.size(), stdout);
}

Status EncodeAll(const Tokenizer& tokenizer, const EncodeOptions& options) {
  uint32_t count = 0;
  std::string text;
  double seconds = 0;
  double num_bytes = 0;
  while (ReadCount(&count)) {
    if (!ReadItems(count, &text)) return InvalidArgument("a record is cut off");
    const auto start = std::chrono::steady_clock::now();
    DI_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, tokenizer.Encode(text, options));
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    num_bytes += static_cast<double>(text.size());
    Write(ids);
  }
  std::fprintf(stderr, "%.1f MB in %.3f s: %.1f MB/s\n", num_bytes / 1e6, seconds,
               num_bytes / 1e6 / seconds);
  return OkStatus();
}

// Decodes at once and token by token, and fails when the two differ.
Status DecodeAll(const Tokenizer& tokenizer, const DecodeOptions& options) {
  uint32_t count = 0;
  std::vector<int32_t> ids;
  while (ReadCount(&count)) {
    if (!ReadItems(count, &ids)) return InvalidArgument("a record is cut off");
    const std::string text = tokenizer.Decode(ids, options);
    IncrementalDecoder decoder(tokenizer, options);
    std::string streamed;
    for (const int32_t id : ids) streamed += decoder.Push(id);
    streamed += decoder.Finish();
    if (streamed != text) return Internal("the incremental decoder differs");
    Write(text);
  }
  return OkStatus();
}

Status Run(std::string_view command, const std::string& path) {
  DI_ASSIGN_OR_RETURN(const std::string json,
                      ReadFile(PosixFileSystem(), path, kMaxTokenizerJsonBytes));
  DI_ASSIGN_OR_RETURN(const Tokenizer tokenizer, Tokenizer::FromJson(json));
  if (command == "encode") return EncodeAll(tokenizer, {});
  if (command == "encode-plain") return EncodeAll(tokenizer, {.parse_added_tokens = false});
  if (command == "decode") return DecodeAll(tokenizer, {});
  if (command == "decode-skip") return DecodeAll(tokenizer, {.skip_special = true});
  if (command != "engram") return InvalidArgument("unknown command");
  Write(MakeEngramVocabulary(tokenizer).compressed_ids);
  return OkStatus();
}

}  // namespace
}  // namespace deepinfer::tokenizer

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: tokenizer_tool encode|encode-plain|decode|decode-skip|engram FILE\n",
               stderr);
    return 2;
  }
  const deepinfer::Status status = deepinfer::tokenizer::Run(argv[1], argv[2]);
  if (!status.ok()) std::fprintf(stderr, "tokenizer_tool: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
