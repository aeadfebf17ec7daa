// The flags of one command: declared once, parsed, and shown by --help.  Over CLI11, which appears in arguments.cc alone.
//
// Threading: thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/config.h"

namespace deepinfer::cli {

// Exit codes of every command.
inline constexpr int32_t kExitOk = 0;
inline constexpr int32_t kExitFailure = 1;
inline constexpr int32_t kExitUsage = 2;

// Targets are borrowed and must outlive Parse.  Flags are kebab-case with their dashes: "--max-tokens".
class Arguments {
 public:
  // `usage` follows the command in the help, e.g. "[PROMPT...]"; `summary` is one sentence.
  Arguments(std::string_view command, std::string_view usage, std::string_view summary);
  ~Arguments();

  void Flag(std::string_view flag, std::string& value, std::string_view help);
  void Flag(std::string_view flag, std::vector<std::string>& values, std::string_view help);
  void Flag(std::string_view flag, int64_t& value, std::string_view help);
  void Flag(std::string_view flag, std::optional<int64_t>& value, std::string_view help);
  void Flag(std::string_view flag, std::optional<double>& value, std::string_view help);
  void Flag(std::string_view flag, std::optional<uint64_t>& value, std::string_view help);
  void Switch(std::string_view flag, bool& value, std::string_view help);
  void Positionals(std::string_view name, std::vector<std::string>& values, std::string_view help);

  // All options of the engine but those in `hidden` (field names).  They are listed by --help-engine, so that --help fits a screen.
  void EngineOptions(EngineConfig& config, std::span<const std::string_view> hidden = {});

  // Nothing when the command should run; else the exit code: help was shown, or the usage was wrong and said so on stderr.
  std::optional<int32_t> Parse(std::span<const std::string> arguments);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Writes "deepinfer <command>: <message>" to stderr and returns `exit_code`.
int32_t Fail(std::string_view command, const std::string& message,
             int32_t exit_code = kExitFailure);

}  // namespace deepinfer::cli
