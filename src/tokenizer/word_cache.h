// A bounded cache from words to token ids, for one thread.
//
// Most words of a text have been seen before, and looking one up costs a tenth of merging it.  The cache is
// direct-mapped with one cache line an entry: a word of more than 24 bytes or 8 ids is not kept, and a new
// word takes the place of the old one in its line.  So its size is fixed and an entry never goes stale.
//
// Threading: not thread-safe; each thread needs its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>

#include "tokenizer/hash.h"

namespace deepinfer::tokenizer {

class WordCache {
 public:
  static constexpr size_t kMaxWordBytes = 24;
  static constexpr size_t kMaxIds = 8;

  // One word and its ids.
  struct alignas(64) Entry {
    PackedBytes key;
    uint8_t length = 0;  // 0: empty
    uint8_t num_ids = 0;
    int32_t ids[kMaxIds] = {};
  };
  static_assert(sizeof(Entry) == 64);

  WordCache() : entries_(new Entry[kNumEntries]) {}

  // Where `word` is or may be put; null when it is too long to be kept.
  struct Place {
    Entry* entry = nullptr;
    PackedBytes key;
    size_t length = 0;
    bool is_hit = false;
  };
  Place Find(std::string_view word) {
    if (word.size() > kMaxWordBytes || word.empty()) return {};
    Place place{nullptr, PackedBytes(word), word.size(), false};
    Entry& entry = entries_[place.key.Hash(word.size()) >> (64 - kLogEntries)];
    place.entry = &entry;
    place.is_hit = entry.length == word.size() && entry.key == place.key;
    return place;
  }

  // The ids at a hit.
  static std::span<const int32_t> Ids(const Place& place) {
    return {place.entry->ids, place.entry->num_ids};
  }

  // Keeps the ids of the word that `place` was found for, when they fit.
  static void Put(const Place& place, std::span<const int32_t> ids) {
    if (place.entry == nullptr || ids.size() > kMaxIds) return;
    place.entry->key = place.key;
    place.entry->length = static_cast<uint8_t>(place.length);
    place.entry->num_ids = static_cast<uint8_t>(ids.size());
    std::copy(ids.begin(), ids.end(), place.entry->ids);
  }

 private:
  // 1 MiB.  Twice that gains nothing on English prose and falls out of the second-level cache.
  static constexpr int32_t kLogEntries = 14;
  static constexpr size_t kNumEntries = size_t{1} << kLogEntries;

  std::unique_ptr<Entry[]> entries_;
};

}  // namespace deepinfer::tokenizer
