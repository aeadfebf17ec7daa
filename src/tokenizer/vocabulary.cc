#include "tokenizer/vocabulary.h"

#include <bit>

#include "base/strings.h"
#include "tokenizer/byte_level.h"
#include "tokenizer/hash.h"

namespace deepinfer::tokenizer {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 30;

uint64_t HashOfKey(std::string_view bytes, bool is_literal) {
  return HashBytes(bytes) ^ (is_literal ? 0x5851F42D4C957F2Du : 0u);
}

}  // namespace

void Vocabulary::Reserve(size_t num_tokens, size_t num_bytes) {
  if (num_tokens > static_cast<size_t>(kMaxTokens) || num_bytes > kMaxBytes) return;
  tokens_.reserve(num_tokens);
  bytes_.reserve(num_bytes);
  const size_t num_slots = std::bit_ceil(num_tokens * 2 + 2);
  if (num_slots > slots_.size()) Rehash(num_slots);
}

Status Vocabulary::Add(int32_t id, std::string_view spelling) {
  if (id < 0 || id >= kMaxTokens) {
    return InvalidArgument(
        StrCat("token ", Quoted(spelling), ": expected an id in 0..", kMaxTokens - 1, ", got ", id));
  }
  if (spelling.empty()) return InvalidArgument(StrCat("token ", id, ": its spelling is empty"));
  if (spelling.size() > kMaxBytes - bytes_.size()) {
    return InvalidArgument(StrCat("token ", id, ": the vocabulary exceeds ", HumanBytes(kMaxBytes)));
  }
  if (Has(id)) {
    return InvalidArgument(
        StrCat("id ", id, " is used twice, for ", Quoted(Spelling(id)), " and ", Quoted(spelling)));
  }
  const size_t offset = bytes_.size();
  const bool is_literal = !AppendByteLevelBytes(spelling, bytes_);
  if (is_literal) bytes_.append(spelling);
  const std::string_view bytes = std::string_view(bytes_).substr(offset);
  if (const auto other = FindBytes(bytes, is_literal)) {
    bytes_.resize(offset);
    return InvalidArgument(
        StrCat("token ", Quoted(spelling), " occurs twice, as id ", *other, " and ", id));
  }
  if (id >= size()) tokens_.resize(static_cast<size_t>(id) + 1);
  Token& token = tokens_[static_cast<size_t>(id)];
  token.offset = static_cast<uint32_t>(offset);
  token.length = static_cast<uint32_t>(bytes.size()) & 0x7FFFFFFFu;
  token.is_literal = is_literal ? 1 : 0;
  if ((num_used_ + 1) * 2 > slots_.size()) Rehash(std::bit_ceil(slots_.size() * 2 + 16));
  Insert(HashOfKey(bytes, is_literal), id);
  ++num_used_;
  return OkStatus();
}

std::string Vocabulary::Spelling(int32_t id) const {
  std::string out;
  if (!Has(id)) return out;
  if (tokens_[static_cast<size_t>(id)].is_literal != 0) return std::string(Bytes(id));
  AppendByteLevelSpelling(Bytes(id), out);
  return out;
}

std::optional<int32_t> Vocabulary::Find(std::string_view spelling) const {
  std::string bytes;
  if (AppendByteLevelBytes(spelling, bytes)) return FindBytes(bytes, false);
  return FindBytes(spelling, true);
}

std::optional<int32_t> Vocabulary::FindBytes(std::string_view bytes, bool is_literal) const {
  if (slots_.empty()) return std::nullopt;
  const uint64_t hash = HashOfKey(bytes, is_literal);
  const auto tag = static_cast<uint32_t>(hash >> 32);
  const size_t mask = slots_.size() - 1;
  for (size_t i = hash & mask; slots_[i].id >= 0; i = (i + 1) & mask) {
    if (slots_[i].tag != tag) continue;
    const Token& token = tokens_[static_cast<size_t>(slots_[i].id)];
    if ((token.is_literal != 0) == is_literal && Bytes(slots_[i].id) == bytes) return slots_[i].id;
  }
  return std::nullopt;
}

uint64_t Vocabulary::HashOf(const Token& token) const {
  return HashOfKey(std::string_view(bytes_).substr(token.offset, token.length),
                   token.is_literal != 0);
}

void Vocabulary::Insert(uint64_t hash, int32_t id) {
  const size_t mask = slots_.size() - 1;
  size_t i = hash & mask;
  while (slots_[i].id >= 0) i = (i + 1) & mask;
  slots_[i] = {static_cast<uint32_t>(hash >> 32), id};
}

void Vocabulary::Rehash(size_t num_slots) {
  slots_.assign(num_slots, Slot());
  for (int32_t id = 0; id < size(); ++id) {
    if (Has(id)) Insert(HashOf(tokens_[static_cast<size_t>(id)]), id);
  }
}

}  // namespace deepinfer::tokenizer
