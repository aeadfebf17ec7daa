#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace deepinfer::internal {

void CheckFailed(const char* file, int line, const char* condition, const std::string& values) {
  throw InternalError(
      StrCat(file, ":", line, ": check failed: ", condition, values.empty() ? "" : " ", values));
}

void FatalFailed(const char* file, int line, const std::string& values) {
  std::fprintf(stderr, "%s:%d: fatal: %s\n", file, line, values.c_str());
  std::abort();
}

}  // namespace deepinfer::internal
