#include "base/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/strings.h"

namespace deepinfer {
namespace {

std::string Duration(double seconds) {
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  char buffer[48];
  std::snprintf(buffer, sizeof(buffer), "%lld:%02lld:%02lld", static_cast<long long>(whole / 3600),
                static_cast<long long>(whole / 60 % 60), static_cast<long long>(whole % 60));
  return buffer;
}

}  // namespace

ProgressLine::ProgressLine(std::string label)
    : label_(std::move(label)),
      is_terminal_(isatty(STDERR_FILENO) != 0),
      begin_(std::chrono::steady_clock::now()) {}

ProgressLine::~ProgressLine() {
  if (drawn_ && is_terminal_) std::fputc('\n', stderr);
}

void ProgressLine::Update(uint64_t done, uint64_t total, const std::string& note) {
  const SteadyTime now = std::chrono::steady_clock::now();
  if (!has_first_) {
    has_first_ = true;
    first_done_ = done;
    begin_ = now;
    last_draw_ = now;
    if (!is_terminal_ && done < total) return;
  }
  const auto interval = is_terminal_ ? std::chrono::milliseconds(100) : std::chrono::seconds(5);
  const bool is_last = done >= total;
  if (finished_ || (!is_last && now - last_draw_ < interval)) return;
  finished_ = is_last;
  last_draw_ = now;
  const double seconds = std::max(1e-3, std::chrono::duration<double>(now - begin_).count());
  const double speed = static_cast<double>(done - first_done_) / seconds;
  const double percent =
      total == 0 ? 100.0 : 100.0 * static_cast<double>(done) / static_cast<double>(total);
  std::string line =
      StrCat(label_, " ", static_cast<int32_t>(percent), "%  ", HumanBytes(done), " of ",
             HumanBytes(total), "  ", HumanBytes(static_cast<uint64_t>(speed)), "/s");
  if (!is_last && speed > 0) {
    line += StrCat("  ", Duration(static_cast<double>(total - done) / speed), " left");
  }
  if (!note.empty()) line += "  " + note;
  std::fprintf(stderr, is_terminal_ ? "\r%s\033[K" : "%s\n", line.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace deepinfer
