// The commands of the deepinfer program, one file each.  A new command is a file, a declaration here and a row in main.cc.
//
// Each takes the arguments behind its name and returns the exit code: 0 done, 1 failed (said on stderr), 2 wrong usage.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace deepinfer::cli {

int32_t RunBench(std::span<const std::string> arguments);
int32_t RunConvert(std::span<const std::string> arguments);
int32_t RunGenerate(std::span<const std::string> arguments);
int32_t RunInspect(std::span<const std::string> arguments);

}  // namespace deepinfer::cli
