// An ordered queue of work on one device.  Every op of backend/ops takes one.
#pragma once

#include <cstddef>

#include "deepinfer/status.h"

namespace deepinfer::backend {

class Device;
struct OpTable;

// Work submitted to one stream runs in order; the call may return before it has run.
// Threading: device thread only.
class Stream {
 public:
  virtual ~Stream() = default;

  virtual Device& device() const = 0;
  virtual const OpTable& ops() const = 0;

  // Copies between host memory and this device.  CopyToDevice has read `host` when it returns; the
  // bytes of CopyToHost are there after Synchronize.
  virtual void CopyToDevice(void* device_dst, const void* host_src, size_t num_bytes) = 0;
  virtual void CopyToHost(void* host_dst, const void* device_src, size_t num_bytes) = 0;
  virtual void CopyOnDevice(void* dst, const void* src, size_t num_bytes) = 0;
  virtual void FillZero(void* device_dst, size_t num_bytes) = 0;

  // Waits until all submitted work has run.
  virtual void Synchronize() = 0;
};

}  // namespace deepinfer::backend
