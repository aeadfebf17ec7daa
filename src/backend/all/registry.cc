#include "backend/all/registry.h"

#include <algorithm>
#include <utility>

#include "backend/cpu/cpu_device.h"
#include "backend/ref/ref_device.h"
#include "base/strings.h"

namespace deepinfer::backend {
namespace {

// Backends that have a place in the tree and no code yet.
constexpr std::pair<std::string_view, std::string_view> kPlanned[] = {
    {"cuda", "src/backend/cuda"}, {"ascend", "src/backend/ascend"}};

Result<std::unique_ptr<Device>> CreateCpu(const DeviceOptions& options) {
  DI_ASSIGN_OR_RETURN(const cpu::Isa isa,
                      cpu::ParseIsa(options.isa.empty() ? "auto" : options.isa));
  return cpu::CreateCpuDevice({.num_threads = options.num_threads, .isa = isa});
}

Result<std::unique_ptr<Device>> CreateRef(const DeviceOptions& options) {
  if (options.num_threads < 0 || options.num_threads > 1) {
    return InvalidArgument(StrCat("ref: num_threads: expected 0 or 1, got ", options.num_threads));
  }
  if (!options.isa.empty() && options.isa != "auto") {
    return InvalidArgument(StrCat("ref: expected no instruction set, got ", Quoted(options.isa)));
  }
  return ref::CreateRefDevice();
}

using Create = Result<std::unique_ptr<Device>> (*)(const DeviceOptions&);
constexpr std::pair<std::string_view, Create> kBuilt[] = {{"ref", CreateRef}, {"cpu", CreateCpu}};

}  // namespace

std::vector<std::string_view> BuiltBackends() {
  std::vector<std::string_view> names;
  for (const auto& [name, create] : kBuilt) names.push_back(name);
  return names;
}

Result<std::unique_ptr<Device>> CreateDevice(const DeviceOptions& options) {
  for (const auto& [name, create] : kBuilt) {
    if (options.name == name) return create(options);
  }
  for (const auto& [name, folder] : kPlanned) {
    if (options.name == name) {
      return Unimplemented(StrCat("backend ", name, ": not in this build; it belongs in ", folder));
    }
  }
  std::vector<std::string> names;
  for (const std::string_view name : BuiltBackends()) names.emplace_back(name);
  return InvalidArgument(
      StrCat("backend: expected one of ", StrJoin(names, ", "), ", got ", Quoted(options.name)));
}

std::vector<std::string> UsableIsas(std::string_view backend) {
  if (backend != "cpu") return {""};
  std::vector<std::string> names;
  for (const cpu::Isa isa :
       {cpu::Isa::kAvx2, cpu::Isa::kAvx512, cpu::Isa::kAvx512Bf16, cpu::Isa::kAmx}) {
    if (cpu::HasIsa(isa)) names.emplace_back(cpu::IsaName(isa));
  }
  return names;
}

}  // namespace deepinfer::backend
