// deepinfer/request.h for Python: SamplingParams.
#pragma once

#include <nanobind/nanobind.h>

namespace deepinfer::bindings {

void BindRequest(nanobind::module_& module);

}  // namespace deepinfer::bindings
