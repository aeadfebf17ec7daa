#include "status.h"

#include <nanobind/stl/string.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/strings.h"

namespace nb = nanobind;

namespace deepinfer::bindings {
namespace {

constexpr int32_t kNumCodes = static_cast<int32_t>(StatusCode::kInternal) + 1;

// The Python class of each code, by its number; kOk has none.
struct ExceptionTable {
  std::array<nb::object, kNumCodes> classes;

  nb::object& At(StatusCode code) { return classes[static_cast<size_t>(code)]; }
};

nb::object MakeException(ExceptionTable& table, StatusCode code, const std::string& message) {
  nb::object exception = table.At(code)(message);
  exception.attr("code") = std::string(StatusCodeName(code));
  return exception;
}

void Raise(ExceptionTable& table, StatusCode code, const std::string& message) {
  const nb::object exception = MakeException(table, code, message);
  PyErr_SetObject(exception.type().ptr(), exception.ptr());
}

void Translate(const std::exception_ptr& thrown, void* payload) {
  auto& table = *static_cast<ExceptionTable*>(payload);
  try {
    std::rethrow_exception(thrown);
  } catch (const StatusError& error) {
    Raise(table, error.status().code(), error.status().message());
  } catch (const InternalError& error) {
    Raise(table, StatusCode::kInternal, error.what());
  } catch (const DeviceError& error) {
    Raise(table, StatusCode::kUnavailable, error.what());
  }
}

nb::object DefineClass(nb::module_& module, const char* name, const char* doc) {
  const std::string qualified = StrCat("deepinfer.", name);
  nb::object type = nb::steal(
      PyErr_NewExceptionWithDoc(qualified.c_str(), doc, PyExc_RuntimeError, /*dict=*/nullptr));
  if (!type.is_valid()) throw nb::python_error();
  module.attr(name) = type;
  return type;
}

StatusCode ParseCode(std::string_view name) {
  for (int32_t i = 1; i < kNumCodes; ++i) {
    const auto code = static_cast<StatusCode>(i);
    if (StatusCodeName(code) == name) return code;
  }
  throw StatusError(
      InvalidArgument(StrCat("code: expected the name of a failure, got \"", name, "\"")));
}

}  // namespace

void BindStatus(nb::module_& module) {
  // Lives as long as the process, as the translator does: nanobind never unregisters one.
  auto* table = new ExceptionTable();
  table->At(StatusCode::kInvalidArgument) = nb::borrow(PyExc_ValueError);
  table->At(StatusCode::kUnauthenticated) = nb::borrow(PyExc_PermissionError);
  table->At(StatusCode::kNotFound) = nb::borrow(PyExc_LookupError);
  table->At(StatusCode::kUnimplemented) = nb::borrow(PyExc_NotImplementedError);
  table->At(StatusCode::kDeadlineExceeded) = nb::borrow(PyExc_TimeoutError);
  table->At(StatusCode::kResourceExhausted) =
      DefineClass(module, "OverloadedError", "A queue, pool or disk is full; retry later.");
  table->At(StatusCode::kCancelled) = DefineClass(module, "CancelledError", "The caller gave up.");
  table->At(StatusCode::kUnavailable) =
      DefineClass(module, "UnavailableError", "The engine or a peer is down; retry elsewhere.");
  table->At(StatusCode::kDataLoss) =
      DefineClass(module, "DataLossError", "Stored data is corrupt or truncated.");
  table->At(StatusCode::kInternal) =
      DefineClass(module, "InternalError", "A bug of ours that was contained.");
  nb::register_exception_translator(Translate, table);

  module.def(
      "exception_for",
      [table](const std::string& code, const std::string& message) {
        return MakeException(*table, ParseCode(code), message);
      },
      nb::arg("code"), nb::arg("message"),
      "The exception, not raised, that stands for a failure with this code and message.");
}

}  // namespace deepinfer::bindings
