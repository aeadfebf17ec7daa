// Checks for our own invariants.  Nothing that came from outside the process may reach a DI_CHECK: that
// is a Status.  A failed check throws InternalError, which is caught in three places only: the engine
// loop, a pool's task wrapper, and the boundary of main and of the bindings.
#pragma once

#include <stdexcept>
#include <string>

#include "base/strings.h"

namespace deepinfer {

// An invariant of ours broke.
class InternalError : public std::logic_error {
  using std::logic_error::logic_error;
};

// The device can't go on.
class DeviceError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

namespace internal {
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              const std::string& values);
[[noreturn]] void FatalFailed(const char* file, int line, const std::string& values);
}  // namespace internal
}  // namespace deepinfer

// DI_CHECK(n <= budget, "n=", n, " budget=", budget);
#define DI_CHECK(condition, ...)                                            \
  do {                                                                      \
    if (!(condition)) [[unlikely]] {                                        \
      ::deepinfer::internal::CheckFailed(__FILE__, __LINE__, #condition,    \
                                         ::deepinfer::StrCat(__VA_ARGS__)); \
    }                                                                       \
  } while (false)

// For destructors and noexcept code: prints and aborts.
#define DI_FATAL(...) \
  ::deepinfer::internal::FatalFailed(__FILE__, __LINE__, ::deepinfer::StrCat(__VA_ARGS__))
