// deepinfer/output.h for Python: RequestOutput, TokenDelta, RequestError.
#pragma once

#include <nanobind/nanobind.h>

namespace deepinfer::bindings {

void BindOutput(nanobind::module_& module);

}  // namespace deepinfer::bindings
