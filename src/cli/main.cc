// deepinfer <command> [--flags]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/strings.h"
#include "cli/arguments.h"
#include "cli/commands.h"

namespace deepinfer::cli {
namespace {

struct Command {
  std::string_view name;
  std::string_view summary;
  int32_t (*run)(std::span<const std::string> arguments);
};

constexpr Command kCommands[] = {
    {"generate", "answer prompts", RunGenerate},
    {"inspect", "show what is in a checkpoint and the memory that it needs", RunInspect},
    {"convert", "write a checkpoint: synthesised weights from a config.json", RunConvert},
    {"bench", "measure the machine, the kernels and the whole model", RunBench},
};

void PrintHelp(std::FILE* out) {
  std::fputs(
      "Usage: deepinfer <command> [--flags]\n\n"
      "An inference engine for DeepSeek-V4.1-Flash.  Without --model, commands use the small "
      "built-in model.\n\n",
      out);
  for (const Command& command : kCommands) {
    std::fprintf(out, "  %-10s %s\n", std::string(command.name).c_str(),
                 std::string(command.summary).c_str());
  }
  std::fputs("\n  --version  print the version\n\nSee deepinfer <command> --help.\n", out);
}

std::string_view NearestCommand(std::string_view name) {
  return std::min_element(std::begin(kCommands), std::end(kCommands),
                          [&](const Command& a, const Command& b) {
                            return EditDistance(a.name, name) < EditDistance(b.name, name);
                          })
      ->name;
}

int32_t Run(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    PrintHelp(stderr);
    return kExitUsage;
  }
  const std::string& name = arguments[0];
  if (name == "-h" || name == "--help" || name == "help") {
    PrintHelp(stdout);
    return kExitOk;
  }
  if (name == "--version") {
    std::printf("deepinfer %s\n", DI_VERSION);
    return kExitOk;
  }
  for (const Command& command : kCommands) {
    if (command.name == name) return command.run(std::span(arguments).subspan(1));
  }
  std::fprintf(stderr, "deepinfer: unknown command %s; did you mean %s? See deepinfer --help\n",
               Quoted(name).c_str(), std::string(NearestCommand(name)).c_str());
  return kExitUsage;
}

}  // namespace
}  // namespace deepinfer::cli

int main(int argc, char** argv) {
  try {
    const int32_t code = deepinfer::cli::Run(std::vector<std::string>(argv + 1, argv + argc));
    // A full disk or a closed pipe behind stdout must not look like success.
    if (std::fflush(stdout) != 0) {
      std::fprintf(stderr, "deepinfer: cannot write to the standard output\n");
      return deepinfer::cli::kExitFailure;
    }
    return code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "deepinfer: internal error: %s\n", error.what());
    return deepinfer::cli::kExitFailure;
  }
}
