// Progress of long work on stderr: a moving line on a terminal, a plain line every few seconds elsewhere.
//
// Threading: thread-compatible; one thread draws.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace deepinfer {

class ProgressLine {
 public:
  // `label` goes in front, e.g. "downloading".
  explicit ProgressLine(std::string label);
  ~ProgressLine();  // ends the moving line

  // `done` of `total` bytes; `note` follows, e.g. "3/48 files".  Draws at most ten times a second (a plain line every five seconds),
  // always when done == total.
  void Update(uint64_t done, uint64_t total, const std::string& note);

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;

  std::string label_;
  bool is_terminal_;
  bool drawn_ = false;
  bool finished_ = false;
  SteadyTime begin_;
  SteadyTime last_draw_{};
  uint64_t first_done_ = 0;  // what was there before: does not count for the speed
  bool has_first_ = false;
};

}  // namespace deepinfer
