// Logging: one line per event, key=value, to stderr.
//
//   LogInfo("checkpoint_opened", {{"tensors", 96085}, {"path", path}});
//   time=2030-01-02T03:04:05.678Z level=info event=checkpoint_opened tensors=96085 path=/m
//
// Values with blanks, quotes or control characters are quoted, so a line is always one line and
// splits on blanks.  No prompt text belongs in here.
//
// The level and the sink are the only process-wide state of this code base that changes: every
// thread of every library logs, and passing a logger to all of them bought nothing.
//
// Threading: thread-safe; lines of several threads do not mix.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/strings.h"
#include "deepinfer/status.h"

namespace deepinfer {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError, kOff };

// "debug", "info", "warning", "error", "off".
std::string_view LogLevelName(LogLevel level);
Result<LogLevel> ParseLogLevel(std::string_view name);

// One key and its value; the value is any piece that StrCat takes.
struct LogField {
  template <typename T>
  LogField(std::string_view k, const T& v) : key(k), value(StrCat(v)) {}  // NOLINT: used in braces

  std::string_view key;
  std::string value;
};
using LogFields = std::initializer_list<LogField>;

// Lines below this level are dropped; kWarning until it is called.
void SetLogLevel(LogLevel level);
LogLevel CurrentLogLevel();

// Where finished lines (without line end) go instead of stderr; null brings stderr back.  For
// tests. Called under a lock: it must not log.
void SetLogSink(std::function<void(LogLevel, std::string_view line)> sink);

void Log(LogLevel level, std::string_view event, LogFields fields = {});
inline void LogDebug(std::string_view event, LogFields fields = {}) {
  Log(LogLevel::kDebug, event, fields);
}
inline void LogInfo(std::string_view event, LogFields fields = {}) {
  Log(LogLevel::kInfo, event, fields);
}
inline void LogWarning(std::string_view event, LogFields fields = {}) {
  Log(LogLevel::kWarning, event, fields);
}
inline void LogError(std::string_view event, LogFields fields = {}) {
  Log(LogLevel::kError, event, fields);
}

// The line without its time: "level=info event=x key=value".
std::string FormatLogLine(LogLevel level, std::string_view event, LogFields fields);

}  // namespace deepinfer
