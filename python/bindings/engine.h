// deepinfer/engine.h and deepinfer/llm.h for Python: the native halves of LLM and its streams.
#pragma once

#include <nanobind/nanobind.h>

namespace deepinfer::bindings {

void BindEngine(nanobind::module_& module);

}  // namespace deepinfer::bindings
