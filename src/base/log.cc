#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>
#include <mutex>

namespace deepinfer {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

struct LogState {
  LogState() : logger("deepinfer", std::make_shared<spdlog::sinks::stderr_sink_mt>()) {
    logger.set_level(spdlog::level::trace);  // our own level decides
    logger.set_pattern("time=%Y-%m-%dT%H:%M:%S.%eZ %v", spdlog::pattern_time_type::utc);
    logger.flush_on(spdlog::level::trace);
  }

  std::atomic<LogLevel> level = LogLevel::kWarning;
  std::mutex mutex;
  std::function<void(LogLevel, std::string_view)> sink;  // guarded by mutex
  spdlog::logger logger;
};

// Never destroyed: threads may log while the process ends.
LogState& State() {
  static LogState* state = new LogState;
  return *state;
}

bool NeedsQuotes(std::string_view value) {
  if (value.empty()) return true;
  for (const char c : value) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte <= 0x20 || byte == 0x7f || c == '"' || c == '\\') return true;
  }
  return false;
}

// Like Quoted, but leaves text that is not ASCII readable.
std::string QuoteValue(std::string_view value) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : value) {
    const auto byte = static_cast<uint8_t>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 0xf];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace

std::string_view LogLevelName(LogLevel level) {
  constexpr std::string_view kNames[] = {"debug", "info", "warning", "error", "off"};
  return kNames[static_cast<size_t>(level)];
}

Result<LogLevel> ParseLogLevel(std::string_view name) {
  for (const LogLevel level :
       {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError, LogLevel::kOff}) {
    if (name == LogLevelName(level)) return level;
  }
  return InvalidArgument(StrCat("expected debug, info, warning, error or off, got ", Quoted(name)));
}

void SetLogLevel(LogLevel level) { State().level = level; }
LogLevel CurrentLogLevel() { return State().level; }

void SetLogSink(std::function<void(LogLevel, std::string_view)> sink) {
  const std::lock_guard lock(State().mutex);
  State().sink = std::move(sink);
}

void Log(LogLevel level, std::string_view event, LogFields fields) {
  LogState& state = State();
  if (level < state.level || level == LogLevel::kOff) return;
  const std::string line = FormatLogLine(level, event, fields);
  const std::lock_guard lock(state.mutex);
  if (state.sink) {
    state.sink(level, line);
  } else {
    state.logger.log(ToSpdlog(level), spdlog::string_view_t(line.data(), line.size()));
  }
}

std::string FormatLogLine(LogLevel level, std::string_view event, LogFields fields) {
  std::string line = StrCat("level=", LogLevelName(level), " event=", event);
  for (const LogField& field : fields) {
    line += StrCat(" ", field.key, "=",
                   NeedsQuotes(field.value) ? QuoteValue(field.value) : field.value);
  }
  return line;
}

}  // namespace deepinfer
