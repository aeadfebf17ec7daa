#include "engine/stop_strings.h"

#include <algorithm>
#include <utility>

namespace deepinfer::engine {

StopStrings::Released StopStrings::Push(std::string_view piece, bool may_stop) {
  if (stop_.empty()) return {.text = std::string(piece)};
  const size_t num_old = held_.size();
  held_ += piece;
  if (may_stop) {
    // The first byte behind a complete stop string, and the first byte of the longest such one.
    size_t best_end = std::string::npos;
    size_t best_begin = 0;
    for (const std::string& stop : stop_) {
      // It cannot lie in the old part alone: that would have been found, or was not allowed to count.
      const size_t from = num_old + 1 > stop.size() ? num_old + 1 - stop.size() : 0;
      const size_t begin = held_.find(stop, from);
      if (begin == std::string::npos) continue;
      const size_t end = begin + stop.size();
      if (end < best_end || (end == best_end && begin < best_begin)) {
        best_end = end;
        best_begin = begin;
      }
    }
    if (best_end != std::string::npos) {
      held_.resize(best_begin);
      return {.text = std::exchange(held_, {}), .is_stopped = true};
    }
  }
  Released released{.text = held_.substr(0, held_.size() - NumHeld())};
  held_.erase(0, released.text.size());
  return released;
}

std::string StopStrings::Finish() { return std::exchange(held_, {}); }

// Length of the longest end of held_ that begins a stop string without being one.
size_t StopStrings::NumHeld() const {
  size_t longest = 0;
  for (const std::string& stop : stop_) {
    const size_t limit = std::min(stop.size() - 1, held_.size());
    for (size_t size = limit; size > longest; --size) {
      if (held_.compare(held_.size() - size, size, stop, 0, size) == 0) {
        longest = size;
        break;
      }
    }
  }
  return longest;
}

}  // namespace deepinfer::engine
