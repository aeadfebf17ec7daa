// deepinfer._native: the bindings of include/deepinfer, one file per public header, no logic.
#include <nanobind/nanobind.h>

#include "engine.h"
#include "output.h"
#include "request.h"
#include "status.h"

NB_MODULE(_native, module) {
  module.doc() = "The C++ engine behind the deepinfer package.";
  module.attr("__version__") = DI_VERSION;
  deepinfer::bindings::BindStatus(module);
  deepinfer::bindings::BindRequest(module);
  deepinfer::bindings::BindOutput(module);
  deepinfer::bindings::BindEngine(module);
}
