// How a failed Status becomes a Python exception.
//
// A binding returns values and throws StatusError for an expected failure; the translator that
// BindStatus registers turns it into the Python class of the code:
//
//   kInvalidArgument ValueError          kUnavailable       deepinfer.UnavailableError
//   kUnauthenticated PermissionError     kDeadlineExceeded  TimeoutError
//   kNotFound        LookupError         kDataLoss          deepinfer.DataLossError
//   kUnimplemented   NotImplementedError kInternal          deepinfer.InternalError
//   kCancelled       deepinfer.CancelledError
//   kResourceExhausted                   deepinfer.OverloadedError
//
// The message of the exception is the Status's message; `exception.code` is the code's stable name.
// A broken invariant of ours (InternalError of base/check.h) becomes deepinfer.InternalError, a
// lost device deepinfer.UnavailableError.
//
// Threading: ValueOrThrow and ThrowIfError may run without the GIL; BindStatus needs it.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <utility>

#include "deepinfer/status.h"

namespace deepinfer::bindings {

// Carries a Status from a binding to the translator.  Thrown nowhere else.
class StatusError : public std::exception {
 public:
  // `status` is not ok.
  explicit StatusError(Status status) : status_(std::move(status)) {}

  const Status& status() const { return status_; }
  const char* what() const noexcept override { return status_.message().c_str(); }

 private:
  Status status_;
};

inline void ThrowIfError(Status status) {
  if (!status.ok()) throw StatusError(std::move(status));
}

template <typename T>
T ValueOrThrow(Result<T> result) {
  if (!result.ok()) throw StatusError(result.status());
  return std::move(result).value();
}

// Defines the exception classes and `exception_for(code, message)` in `module`, and registers the
// translator.  Called once, from the module's initialiser.
void BindStatus(nanobind::module_& module);

}  // namespace deepinfer::bindings
