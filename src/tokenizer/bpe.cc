#include "tokenizer/bpe.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "base/check.h"
#include "base/strings.h"
#include "tokenizer/hash.h"

namespace deepinfer::tokenizer {
namespace {

constexpr uint32_t kNoMerge = 0xFFFFFFFFu;

// Symbols and heap entries kept for the next word: enough for any ordinary one.
constexpr size_t kKeptCapacity = size_t{1} << 16;

bool OccursInUtf8(int32_t byte) { return byte != 0xC0 && byte != 0xC1 && byte < 0xF5; }

uint64_t HeapEntry(uint32_t rank, int32_t position) {
  return static_cast<uint64_t>(rank) << 32 | static_cast<uint32_t>(position);
}

}  // namespace

void BpeScratch::Trim() {
  if (symbols_.capacity() > kKeptCapacity) std::vector<Symbol>().swap(symbols_);
  if (heap_.capacity() > kKeptCapacity) std::vector<uint64_t>().swap(heap_);
}

Result<BpeModel> BpeModel::Create(const Vocabulary& vocabulary, const std::vector<Merge>& merges) {
  BpeModel model;
  for (int32_t byte = 0; byte < 256; ++byte) {
    const char text = static_cast<char>(byte);
    const auto id = vocabulary.FindByteLevel(std::string_view(&text, 1));
    if (!id.has_value() && OccursInUtf8(byte)) {
      return InvalidArgument(StrCat("model.vocab: expected a token for each byte, found none for byte ", byte));
    }
    model.id_of_byte_[static_cast<size_t>(byte)] = id.value_or(-1);
  }
  model.slots_.resize(std::bit_ceil(merges.size() * 2 + 2));
  const size_t mask = model.slots_.size() - 1;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const Merge& m = merges[rank];
    DI_CHECK(vocabulary.Has(m.left) && vocabulary.Has(m.right) && vocabulary.Has(m.merged), "rank=", rank);
    size_t i = HashOfPair(m.left, m.right) & mask;
    while (model.slots_[i].left >= 0 &&
           (model.slots_[i].left != m.left || model.slots_[i].right != m.right)) {
      i = (i + 1) & mask;
    }
    model.slots_[i] = {m.left, m.right, static_cast<uint32_t>(rank), m.merged};
  }
  return model;
}

size_t BpeModel::HashOfPair(int32_t left, int32_t right) {
  const uint64_t pair = static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  return static_cast<size_t>((pair * 0x9E3779B97F4A7C15u) >> 32);
}

const BpeModel::Slot* BpeModel::FindMerge(int32_t left, int32_t right) const {
  const size_t mask = slots_.size() - 1;
  for (size_t i = HashOfPair(left, right) & mask;; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.left == left && slot.right == right) return &slot;
    if (slot.left < 0) return nullptr;
  }
}

void BpeModel::Encode(std::string_view word, BpeScratch& scratch, std::vector<int32_t>& ids) const {
  if (word.size() <= static_cast<size_t>(kMaxScanned)) {
    EncodeByScan(word, ids);
  } else {
    EncodeByHeap(word, scratch, ids);
  }
}

void BpeModel::EncodeByScan(std::string_view word, std::vector<int32_t>& ids) const {
  int32_t id[kMaxScanned];
  int32_t merged[kMaxScanned];
  uint32_t rank[kMaxScanned];  // of symbols i and i + 1
  int32_t n = 0;
  for (const char c : word) {
    const int32_t symbol = id_of_byte_[static_cast<uint8_t>(c)];
    if (symbol >= 0) id[n++] = symbol;
  }
  const auto set_pair = [&](int32_t i) {
    const Slot* slot = FindMerge(id[i], id[i + 1]);
    rank[i] = slot != nullptr ? slot->rank : kNoMerge;
    merged[i] = slot != nullptr ? slot->merged : 0;
  };
  for (int32_t i = 0; i + 1 < n; ++i) set_pair(i);
  while (n > 1) {
    int32_t best = 0;
    for (int32_t i = 1; i + 1 < n; ++i) {
      if (rank[i] < rank[best]) best = i;
    }
    if (rank[best] == kNoMerge) break;
    id[best] = merged[best];
    --n;
    for (int32_t i = best + 1; i < n; ++i) {
      id[i] = id[i + 1];
      rank[i - 1] = rank[i];
      merged[i - 1] = merged[i];
    }
    if (best > 0) set_pair(best - 1);
    if (best + 1 < n) set_pair(best);
  }
  ids.insert(ids.end(), id, id + n);
}

void BpeModel::SetPair(std::vector<BpeScratch::Symbol>& symbols, int32_t at) const {
  BpeScratch::Symbol& symbol = symbols[static_cast<size_t>(at)];
  const Slot* slot =
      symbol.next >= 0 ? FindMerge(symbol.id, symbols[static_cast<size_t>(symbol.next)].id) : nullptr;
  symbol.rank = slot != nullptr ? slot->rank : kNoMerge;
  symbol.merged = slot != nullptr ? slot->merged : 0;
}

void BpeModel::EncodeByHeap(std::string_view word, BpeScratch& scratch,
                            std::vector<int32_t>& ids) const {
  std::vector<BpeScratch::Symbol>& symbols = scratch.symbols_;
  std::vector<uint64_t>& heap = scratch.heap_;
  symbols.clear();
  heap.clear();
  symbols.reserve(word.size());
  for (const char c : word) {
    const int32_t id = id_of_byte_[static_cast<uint8_t>(c)];
    if (id < 0) continue;
    const auto at = static_cast<int32_t>(symbols.size());
    symbols.push_back({.id = id, .prev = at - 1, .next = at + 1});
  }
  if (symbols.empty()) return;
  symbols.back().next = -1;
  const auto num_symbols = static_cast<int32_t>(symbols.size());
  for (int32_t at = 0; at < num_symbols; ++at) {
    SetPair(symbols, at);
    const uint32_t rank = symbols[static_cast<size_t>(at)].rank;
    if (rank != kNoMerge) heap.push_back(HeapEntry(rank, at));
  }
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  const auto push = [&](int32_t at) {
    SetPair(symbols, at);
    const uint32_t rank = symbols[static_cast<size_t>(at)].rank;
    if (rank == kNoMerge) return;
    heap.push_back(HeapEntry(rank, at));
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const uint64_t entry = heap.back();
    heap.pop_back();
    const auto at = static_cast<int32_t>(entry & 0xFFFFFFFFu);
    BpeScratch::Symbol& symbol = symbols[static_cast<size_t>(at)];
    // Entries are not taken out when a pair changes; a rank names its pair, so a stale entry differs.  A
    // symbol that was merged into its left neighbour has kNoMerge.
    if (symbol.rank != static_cast<uint32_t>(entry >> 32)) continue;
    BpeScratch::Symbol& right = symbols[static_cast<size_t>(symbol.next)];
    symbol.id = symbol.merged;
    symbol.next = right.next;
    right.rank = kNoMerge;
    right.id = -1;
    if (symbol.next >= 0) symbols[static_cast<size_t>(symbol.next)].prev = at;
    push(at);
    if (symbol.prev >= 0) push(symbol.prev);
  }
  for (int32_t at = 0; at >= 0; at = symbols[static_cast<size_t>(at)].next) {
    ids.push_back(symbols[static_cast<size_t>(at)].id);
  }
}

}  // namespace deepinfer::tokenizer
