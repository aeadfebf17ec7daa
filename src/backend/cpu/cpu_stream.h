// The CPU's stream: work runs at once, on the caller's thread and its device's team.
//
// Kernels reach the team with CpuStream::From(stream).team().  Because every op has run when its
// call returns, Synchronize does nothing. Threading: device thread only; one stream of a device at
// a time, since they share the team.
#pragma once

#include "backend/cpu/arena.h"
#include "backend/cpu/isa.h"
#include "backend/cpu/team.h"
#include "backend/stream.h"

namespace deepinfer::cpu {

class CpuStream final : public backend::Stream {
 public:
  // All three must outlive the stream.
  CpuStream(backend::Device& device, const backend::OpTable& ops, Team& team, Isa isa)
      : device_(device), ops_(ops), team_(team), isa_(isa) {}

  // The stream that a kernel of this backend was called with.
  static CpuStream& From(backend::Stream& stream) { return static_cast<CpuStream&>(stream); }

  backend::Device& device() const override { return device_; }
  const backend::OpTable& ops() const override { return ops_; }
  void CopyToDevice(void* device_dst, const void* host_src, size_t num_bytes) override;
  void CopyToHost(void* host_dst, const void* device_src, size_t num_bytes) override;
  void CopyOnDevice(void* dst, const void* src, size_t num_bytes) override;
  void FillZero(void* device_dst, size_t num_bytes) override;
  void Synchronize() override {}

  Team& team() const { return team_; }
  Isa isa() const { return isa_; }

  // The arena of intermediate arrays, empty: every op that needs it starts with this call, once.
  Arena& NewOpArena() {
    arena_.Reset();
    return arena_;
  }

 private:
  backend::Device& device_;
  const backend::OpTable& ops_;
  Team& team_;
  const Isa isa_;
  Arena arena_;
};

}  // namespace deepinfer::cpu
