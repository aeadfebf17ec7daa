#include "cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/strings.h"
#include "deepinfer/status.h"

namespace deepinfer::cli {
namespace {

struct Row {
  std::string flag;
  std::string help;
};

void PrintRows(const std::vector<Row>& rows) {
  size_t width = 0;
  for (const Row& row : rows) width = std::max(width, row.flag.size());
  for (const Row& row : rows) {
    std::printf("  %-*s  %s\n", static_cast<int>(width), row.flag.c_str(), row.help.c_str());
  }
}

}  // namespace

struct Arguments::State {
  std::string command, usage, summary;
  CLI::App app;
  std::vector<Row> rows, engine_rows;
  bool help = false;
  bool help_engine = false;
  // Values of the engine's options as text; applied in the order of the table.
  struct EngineValue {
    std::string name;
    std::string text;
    bool is_switch = false;
    bool is_set = false;
    CLI::Option* option = nullptr;
  };
  std::vector<std::unique_ptr<EngineValue>> engine_values;
  EngineConfig* engine_config = nullptr;

  void PrintHelp() const {
    std::printf("Usage: deepinfer %s %s\n\n%s\n\n", command.c_str(), usage.c_str(),
                summary.c_str());
    PrintRows(rows);
    if (engine_config != nullptr) {
      std::printf("  --help-engine lists %d more flags, the options of the engine\n",
                  static_cast<int>(engine_rows.size()));
    }
  }

  Status ApplyEngineValues() {
    for (const auto& value : engine_values) {
      if (value->option->count() == 0) continue;
      const std::string text = value->is_switch ? (value->is_set ? "true" : "false") : value->text;
      const Status status = SetEngineOption(*engine_config, value->name, text);
      if (!status.ok()) return status;
    }
    return OkStatus();
  }
};

Arguments::Arguments(std::string_view command, std::string_view usage, std::string_view summary)
    : state_(std::make_unique<State>()) {
  state_->command = command;
  state_->usage = usage;
  state_->summary = summary;
  state_->app.set_help_flag();
  state_->app.allow_extras(false);
  state_->app.add_flag("-h,--help", state_->help);
  state_->rows.push_back({"-h, --help", "this text"});
}

Arguments::~Arguments() = default;

#define DI_ADD_OPTION(Type)                                                             \
  void Arguments::Flag(std::string_view flag, Type& value, std::string_view help) {     \
    state_->app.add_option(std::string(flag), value);                                   \
    state_->rows.push_back({StrCat(flag, " ", kPlaceholder<Type>), std::string(help)}); \
  }

template <typename T>
constexpr std::string_view kPlaceholder = "N";
template <>
constexpr std::string_view kPlaceholder<std::string> = "TEXT";
template <>
constexpr std::string_view kPlaceholder<std::optional<double>> = "X";

DI_ADD_OPTION(std::string)
DI_ADD_OPTION(int64_t)
DI_ADD_OPTION(std::optional<int64_t>)
DI_ADD_OPTION(std::optional<double>)
DI_ADD_OPTION(std::optional<uint64_t>)
#undef DI_ADD_OPTION

void Arguments::Flag(std::string_view flag, std::vector<std::string>& values,
                     std::string_view help) {
  state_->app.add_option(std::string(flag), values)->expected(1)->take_all();
  state_->rows.push_back({StrCat(flag, " TEXT"), StrCat(help, " (repeatable)")});
}

void Arguments::Switch(std::string_view flag, bool& value, std::string_view help) {
  state_->app.add_flag(std::string(flag), value);
  state_->rows.push_back({std::string(flag), std::string(help)});
}

void Arguments::Positionals(std::string_view name, std::vector<std::string>& values,
                            std::string_view help) {
  state_->app.add_option(std::string(name), values);
  state_->rows.insert(state_->rows.begin(), {std::string(name), std::string(help)});
}

void Arguments::EngineOptions(EngineConfig& config, std::span<const std::string_view> hidden) {
  state_->engine_config = &config;
  state_->app.add_flag("--help-engine", state_->help_engine);
  for (const EngineOption& option : DescribeEngineOptions(config)) {
    if (std::find(hidden.begin(), hidden.end(), option.name) != hidden.end()) continue;
    auto value = std::make_unique<State::EngineValue>();
    value->name = option.name;
    value->is_switch = option.is_switch;
    std::string flag = "--" + option.name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    std::string shown = flag;
    if (option.is_switch) {
      const std::string negated = "--no-" + flag.substr(2);
      value->option = state_->app.add_flag(flag + ",!" + negated, value->is_set);
    } else {
      value->option = state_->app.add_option(flag, value->text);
      shown += option.name == "model" ? " MODEL" : " VALUE";
    }
    const std::string help =
        StrCat(option.help, " [", option.value.empty() ? "-" : option.value, "]");
    // The model is what everybody sets.
    (option.name == "model" ? state_->rows : state_->engine_rows).push_back({shown, help});
    state_->engine_values.push_back(std::move(value));
  }
}

std::optional<int32_t> Arguments::Parse(std::span<const std::string> arguments) {
  // CLI11 takes them last first.
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    state_->app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    if (state_->help) {
      state_->PrintHelp();
      return kExitOk;
    }
    return Fail(state_->command,
                StrCat(error.what(), "; see deepinfer ", state_->command, " --help"), kExitUsage);
  }
  if (state_->help) {
    state_->PrintHelp();
    return kExitOk;
  }
  if (state_->help_engine) {
    std::printf("Options of the engine; each has an environment variable (deepinfer config):\n\n");
    PrintRows(state_->engine_rows);
    return kExitOk;
  }
  if (state_->engine_config != nullptr) {
    const Status status = state_->ApplyEngineValues();
    if (!status.ok()) return Fail(state_->command, status.message(), kExitUsage);
  }
  return std::nullopt;
}

int32_t Fail(std::string_view command, const std::string& message, int32_t exit_code) {
  std::fflush(stdout);
  std::fprintf(stderr, "deepinfer %.*s: %s\n", static_cast<int>(command.size()), command.data(),
               message.c_str());
  return exit_code;
}

}  // namespace deepinfer::cli
