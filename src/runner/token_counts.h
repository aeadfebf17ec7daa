// How often each token id occurs in one sequence, as far as the penalties ask.
//
// Threading: device thread only.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace deepinfer::runner {

class TokenCounts {
 public:
  // An id that occurs in the prompt or the output.
  struct Entry {
    int32_t token_id = 0;
    int32_t num_in_output = 0;
  };

  void AddPrompt(std::span<const int32_t> token_ids) {
    for (const int32_t id : token_ids) Find(id);
  }
  void AddOutput(int32_t token_id) { ++Find(token_id).num_in_output; }

  // In order of first occurrence.
  std::span<const Entry> entries() const { return entries_; }

 private:
  Entry& Find(int32_t token_id) {
    const auto [it, is_new] = index_.try_emplace(token_id, entries_.size());
    if (is_new) entries_.push_back({.token_id = token_id});
    return entries_[it->second];
  }

  std::vector<Entry> entries_;
  std::unordered_map<int32_t, size_t> index_;
};

}  // namespace deepinfer::runner
