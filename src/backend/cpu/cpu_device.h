// The CPU as a device: host memory, one team of threads, kernels for one instruction set.
//
// Weights are used where they lie (ImportWeight copies nothing), so a checkpoint that is mapped
// from a file is read page by page as kernels touch it.
#pragma once

#include <memory>
#include <string_view>

#include "backend/cpu/isa.h"
#include "backend/device.h"
#include "deepinfer/status.h"

namespace deepinfer::cpu {

struct CpuOptions {
  int32_t num_threads = 0;  // 0: every core that the process may use
  Isa isa = Isa::kAuto;     // a narrower set than the machine's may be forced
};

// "auto" and the names of IsaName; anything else is kInvalidArgument.
Result<Isa> ParseIsa(std::string_view name);

// kInvalidArgument for a bad thread count; kUnimplemented, by name, for an instruction set that
// this machine lacks.
Result<std::unique_ptr<backend::Device>> CreateCpuDevice(const CpuOptions& options);

}  // namespace deepinfer::cpu
