#include "tokenizer/incremental_decoder.h"

#include <utility>

#include "base/utf8.h"

namespace deepinfer::tokenizer {

std::string IncrementalDecoder::Push(std::span<const int32_t> ids) {
  std::string bytes = std::move(pending_);
  pending_.clear();
  for (const int32_t id : ids) {
    if (options_.skip_special && tokenizer_->IsSpecial(id)) continue;
    bytes.append(tokenizer_->TokenBytes(id));
  }
  const size_t num_complete = bytes.size() - IncompleteUtf8Suffix(bytes);
  std::string text;
  AppendUtf8Lossy(text, std::string_view(bytes).substr(0, num_complete));
  pending_ = bytes.substr(num_complete);
  return text;
}

std::string IncrementalDecoder::Finish() {
  std::string text;
  AppendUtf8Lossy(text, pending_);
  pending_.clear();
  return text;
}

}  // namespace deepinfer::tokenizer
