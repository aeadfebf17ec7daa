// Status and Result<T>: how an expected failure travels.
//
// A Status is what a user, a file, a peer or a limit said no with.  It is not for bugs of ours: those
// are DI_CHECK (base/check.h).  The message says what was expected, what came and where; it has no
// capital, no final dot and no apology.
//
// Threading: values; distinct objects may be used from distinct threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace deepinfer {

// One code for each thing that a caller can do about a failure.  HTTP statuses and Python exceptions
// are derived from it in base/status.cc.
enum class StatusCode : int32_t {
  kOk = 0,
  kInvalidArgument,    // the request is wrong; do not retry
  kUnauthenticated,    // no or wrong key
  kNotFound,           // a file, model, request or endpoint does not exist
  kResourceExhausted,  // a queue, pool or disk is full; retry later
  kCancelled,          // the caller gave up
  kUnimplemented,      // a feature that this build does not have, named in the message
  kUnavailable,        // the engine or peer is down; retry elsewhere
  kDeadlineExceeded,   // a bounded wait ran out; the message names what was waited for
  kDataLoss,           // stored data is corrupt or truncated
  kInternal,           // a bug of ours that was contained
};

// The code's stable spelling, e.g. "invalid_argument".
std::string_view StatusCodeName(StatusCode code);

// The HTTP status of the code, e.g. 400; 200 for kOk.
int32_t HttpStatusOf(StatusCode code);

// Success, or a code and a message.
class [[nodiscard]] Status {
 public:
  Status() = default;  // success
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // "invalid_argument: max_tokens: expected 1..8, got 9", or "ok".
  std::string ToString() const;

  // The same failure seen from further out: "`where`: message".  Success stays success.
  Status WithContext(std::string_view where) const;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status OkStatus() { return Status(); }
inline Status InvalidArgument(std::string m) {
  return Status(StatusCode::kInvalidArgument, std::move(m));
}
inline Status NotFound(std::string m) { return Status(StatusCode::kNotFound, std::move(m)); }
inline Status ResourceExhausted(std::string m) {
  return Status(StatusCode::kResourceExhausted, std::move(m));
}
inline Status Cancelled(std::string m) { return Status(StatusCode::kCancelled, std::move(m)); }
inline Status Unimplemented(std::string m) {
  return Status(StatusCode::kUnimplemented, std::move(m));
}
inline Status Unauthenticated(std::string m) {
  return Status(StatusCode::kUnauthenticated, std::move(m));
}
inline Status Unavailable(std::string m) { return Status(StatusCode::kUnavailable, std::move(m)); }
inline Status DeadlineExceeded(std::string m) {
  return Status(StatusCode::kDeadlineExceeded, std::move(m));
}
inline Status DataLoss(std::string m) { return Status(StatusCode::kDataLoss, std::move(m)); }
inline Status Internal(std::string m) { return Status(StatusCode::kInternal, std::move(m)); }

namespace internal {
// Ends the process: a Result without a value was read, or an ok Status was used as an error.
[[noreturn]] void DieOnBadResultAccess(const Status& status);
}  // namespace internal

// A value, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}                 // NOLINT: implicit on purpose
  Result(Status status) : status_(std::move(status)) {          // NOLINT: implicit on purpose
    if (status_.ok()) internal::DieOnBadResultAccess(status_);  // an error needs a code
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  // Requires ok().
  const T& value() const& {
    if (!ok()) internal::DieOnBadResultAccess(status_);
    return *value_;
  }
  T& value() & {
    if (!ok()) internal::DieOnBadResultAccess(status_);
    return *value_;
  }
  // By value, so that `for (x : *List())` does not outlive the temporary.
  T value() && {
    if (!ok()) internal::DieOnBadResultAccess(status_);
    return std::move(*value_);
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace deepinfer

#define DI_CONCAT_INNER(a, b) a##b
#define DI_CONCAT(a, b) DI_CONCAT_INNER(a, b)

// Returns the Status of `expr` from the enclosing function unless it is ok.
#define DI_RETURN_IF_ERROR(expr)                        \
  do {                                                  \
    ::deepinfer::Status di_status = (expr);             \
    if (!di_status.ok()) [[unlikely]] return di_status; \
  } while (false)

// DI_ASSIGN_OR_RETURN(const int64_t n, ParseCount(text));
#define DI_ASSIGN_OR_RETURN(lhs, expr) \
  DI_ASSIGN_OR_RETURN_IMPL(DI_CONCAT(di_result_, __LINE__), lhs, expr)
#define DI_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr)        \
  auto tmp = (expr);                                    \
  if (!tmp.ok()) [[unlikely]] return tmp.status();      \
  lhs = std::move(tmp).value()
