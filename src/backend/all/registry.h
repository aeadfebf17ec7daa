// The backends in this build, by name.  The only place that knows them.
//
// Threading: thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/device.h"
#include "deepinfer/status.h"

namespace deepinfer::backend {

struct DeviceOptions {
  std::string name = "cpu";  // a name of BuiltBackends()
  int32_t num_threads = 0;   // cpu: 0 = every core that the process may use; ref runs on one
  std::string isa;           // cpu: a narrower instruction set; empty or "auto" = the widest
};

// Names that CreateDevice accepts in this build, e.g. "ref", "cpu".
std::vector<std::string_view> BuiltBackends();

// Makes a device.  A backend that is planned but not built is kUnimplemented and names the folder
// where it belongs; an unknown name is kInvalidArgument and lists the built ones; options that do
// not fit the backend are refused by name.
Result<std::unique_ptr<Device>> CreateDevice(const DeviceOptions& options);

// Names of the instruction sets of a backend that this machine can run, narrowest first; one empty
// name for a backend without such a choice.
std::vector<std::string> UsableIsas(std::string_view backend);

}  // namespace deepinfer::backend
