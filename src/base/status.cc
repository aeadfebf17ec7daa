#include "deepinfer/status.h"

#include <cstdio>
#include <cstdlib>

#include "base/strings.h"

namespace deepinfer {
namespace {

struct CodeRow {
  StatusCode code;
  std::string_view name;
  int32_t http;
};

constexpr CodeRow kCodes[] = {
    {StatusCode::kOk, "ok", 200},
    {StatusCode::kInvalidArgument, "invalid_argument", 400},
    {StatusCode::kUnauthenticated, "unauthenticated", 401},
    {StatusCode::kNotFound, "not_found", 404},
    {StatusCode::kResourceExhausted, "resource_exhausted", 429},
    {StatusCode::kCancelled, "cancelled", 499},
    {StatusCode::kUnimplemented, "unimplemented", 501},
    {StatusCode::kUnavailable, "unavailable", 503},
    {StatusCode::kDeadlineExceeded, "deadline_exceeded", 504},
    {StatusCode::kDataLoss, "data_loss", 500},
    {StatusCode::kInternal, "internal", 500},
};

const CodeRow& RowOf(StatusCode code) { return kCodes[static_cast<int32_t>(code)]; }

}  // namespace

std::string_view StatusCodeName(StatusCode code) { return RowOf(code).name; }

int32_t HttpStatusOf(StatusCode code) { return RowOf(code).http; }

std::string Status::ToString() const {
  if (ok()) return "ok";
  return StrCat(StatusCodeName(code_), ": ", message_);
}

Status Status::WithContext(std::string_view where) const {
  if (ok()) return *this;
  return Status(code_, StrCat(where, ": ", message_));
}

namespace internal {

void DieOnBadResultAccess(const Status& status) {
  std::fprintf(stderr, "fatal: value of a failed Result was read: %s\n", status.ToString().c_str());
  std::abort();
}

}  // namespace internal
}  // namespace deepinfer
