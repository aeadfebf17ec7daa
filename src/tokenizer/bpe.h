// Byte-pair encoding of one word: from bytes to token ids by the merges of a tokenizer.json.
//
// The word starts as one symbol a byte.  While any two neighbours have a merge, the pair with the lowest
// rank (its place in the merges list) is joined, the leftmost first among equals.  That is the definition,
// and the result is exactly the one of the reference; only the order of work differs.
//
// Cost: O(n log n) for a word of n bytes whatever the bytes.  Words of up to kMaxScanned symbols scan for
// the lowest rank, which is faster there; longer ones keep a heap over a linked list.
//
// Ownership: the model owns its tables; it does not keep the Vocabulary.
// Threading: thread-compatible; each thread needs its own BpeScratch.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "deepinfer/status.h"
#include "tokenizer/vocabulary.h"

namespace deepinfer::tokenizer {

// One row of the merges list: the ids of the two parts and of what they become.  The rank is the row's
// index; of two rows with the same pair the later one holds.
struct Merge {
  int32_t left = 0;
  int32_t right = 0;
  int32_t merged = 0;
};

// Working memory of BpeModel::Encode, reused from word to word so that encoding allocates nothing in the
// steady state.  Opaque.
class BpeScratch {
 public:
  // Gives back what an unusually long word needed.
  void Trim();

 private:
  friend class BpeModel;
  struct Symbol {
    int32_t id = 0;
    int32_t prev = -1;
    int32_t next = -1;
    uint32_t rank = 0;   // of the pair with `next`; kNoMerge when there is none
    int32_t merged = 0;  // what that pair becomes
  };
  std::vector<Symbol> symbols_;
  std::vector<uint64_t> heap_;  // rank << 32 | position, smallest first
};

class BpeModel {
 public:
  // Words of more symbols than this use the heap.  Either way gives the same ids; at about this length both
  // cost the same (tokenizer_bench.cc, BM_OneWord).
  static constexpr int32_t kMaxScanned = 32;

  // Refused when a byte that occurs in UTF-8 text (all but C0, C1 and F5..FF) has no token, since its text
  // would be lost.  `merges` holds ids of `vocabulary` only.
  static Result<BpeModel> Create(const Vocabulary& vocabulary, const std::vector<Merge>& merges);

  // Appends the ids of `word`.  Requires fewer than 2^31 bytes.  Bytes without a token (never in UTF-8)
  // are left out.
  void Encode(std::string_view word, BpeScratch& scratch, std::vector<int32_t>& ids) const;

 private:
  struct Slot {
    int32_t left = -1;
    int32_t right = -1;
    uint32_t rank = 0;
    int32_t merged = 0;
  };

  static size_t HashOfPair(int32_t left, int32_t right);
  const Slot* FindMerge(int32_t left, int32_t right) const;
  void EncodeByScan(std::string_view word, std::vector<int32_t>& ids) const;
  void EncodeByHeap(std::string_view word, BpeScratch& scratch, std::vector<int32_t>& ids) const;
  void SetPair(std::vector<BpeScratch::Symbol>& symbols, int32_t at) const;

  std::array<int32_t, 256> id_of_byte_{};  // -1: none
  std::vector<Slot> slots_;                // open addressing, a power of two, at most half full
};

}  // namespace deepinfer::tokenizer
