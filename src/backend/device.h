// A device: memory and streams.  With stream.h and op_table.h this is the whole seam to hardware;
// nothing above backend/ knows which device it talks to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "deepinfer/status.h"
#include "tensor/buffer.h"
#include "tensor/tensor_view.h"

namespace deepinfer::backend {

class Stream;

struct DeviceProperties {
  std::string name;  // "cpu:avx512bf16"
  int64_t total_memory_bytes = 0;
  int32_t num_compute_units = 0;  // cores used
  bool has_bf16_units = false;    // bf16 modes run on hardware products rather than emulation
};

// A weight as the device wants it.  On a device that reads host memory in place `storage` is empty
// and `view` is the host view itself, so nothing is copied and pages are touched only when used.
struct ImportedWeight {
  TensorView view;
  Buffer storage;
};

// Threading: thread-safe.  Must outlive its streams and buffers.
class Device {
 public:
  virtual ~Device() = default;

  virtual DeviceProperties properties() const = 0;

  // Zeroed memory, aligned to 64 bytes.  kResourceExhausted names the size when the device has no
  // room.
  virtual Result<Buffer> Allocate(size_t num_bytes) = 0;

  // Makes a tensor in host memory usable by kernels.  The host memory must outlive the result.
  virtual Result<ImportedWeight> ImportWeight(const TensorView& host) = 0;

  virtual std::unique_ptr<Stream> CreateStream() = 0;
};

}  // namespace deepinfer::backend
