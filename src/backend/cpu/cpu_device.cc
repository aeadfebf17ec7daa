#include "backend/cpu/cpu_device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "backend/cpu/cpu_stream.h"
#include "backend/cpu/select.h"
#include "backend/cpu/team.h"
#include "base/strings.h"

namespace deepinfer::cpu {
namespace {

constexpr int32_t kMaxThreads = 1024;
constexpr size_t kAlignment = 64;

// Where a buffer's bytes come from pages of their own, so that zeroing is the kernel's job and
// untouched pages cost nothing.
constexpr size_t kMapThreshold = size_t{1} << 20;

void FreeMapped(void* data, void* context) { munmap(data, reinterpret_cast<size_t>(context)); }
void FreeHeap(void* data, void*) { std::free(data); }

class CpuDevice final : public backend::Device {
 public:
  CpuDevice(int32_t num_threads, Isa isa) : team_(num_threads), isa_(isa) {
    SelectLinear(isa, ops_);
    SelectMoe(isa, ops_);
    SelectStreams(isa, ops_);
    SelectAttention(isa, ops_);
    SelectCompress(isa, ops_);
    SelectIndexer(isa, ops_);
    SelectEngram(isa, ops_);
  }

  backend::DeviceProperties properties() const override {
    backend::DeviceProperties p;
    p.name = StrCat("cpu:", IsaName(isa_));
    p.total_memory_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
    p.num_compute_units = team_.num_threads();
    p.has_bf16_units = isa_ == Isa::kAvx512Bf16 || isa_ == Isa::kAmx;
    return p;
  }

  Result<Buffer> Allocate(size_t num_bytes) override {
    if (num_bytes >= kMapThreshold) {
      void* data =
          mmap(nullptr, num_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (data != MAP_FAILED) {
        return Buffer(data, num_bytes, FreeMapped, reinterpret_cast<void*>(num_bytes));
      }
    } else {
      const size_t rounded = (num_bytes + kAlignment) / kAlignment * kAlignment;  // never 0
      void* data = std::aligned_alloc(kAlignment, rounded);
      if (data != nullptr) {
        std::memset(data, 0, rounded);
        return Buffer(data, num_bytes, FreeHeap, nullptr);
      }
    }
    return ResourceExhausted(StrCat("cpu: expected room for ", HumanBytes(num_bytes)));
  }

  Result<backend::ImportedWeight> ImportWeight(const TensorView& host) override {
    backend::ImportedWeight weight;
    weight.view = host;
    return weight;
  }

  std::unique_ptr<backend::Stream> CreateStream() override {
    return std::make_unique<CpuStream>(*this, ops_, team_, isa_);
  }

 private:
  Team team_;
  const Isa isa_;
  backend::OpTable ops_;
};

}  // namespace

void CpuStream::CopyToDevice(void* device_dst, const void* host_src, size_t num_bytes) {
  if (num_bytes > 0) std::memcpy(device_dst, host_src, num_bytes);
}
void CpuStream::CopyToHost(void* host_dst, const void* device_src, size_t num_bytes) {
  if (num_bytes > 0) std::memcpy(host_dst, device_src, num_bytes);
}
void CpuStream::CopyOnDevice(void* dst, const void* src, size_t num_bytes) {
  if (num_bytes > 0) std::memmove(dst, src, num_bytes);
}
void CpuStream::FillZero(void* device_dst, size_t num_bytes) {
  if (num_bytes > 0) std::memset(device_dst, 0, num_bytes);
}

Result<Isa> ParseIsa(std::string_view name) {
  for (const Isa isa : {Isa::kAuto, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16, Isa::kAmx}) {
    if (name == IsaName(isa)) return isa;
  }
  return InvalidArgument(StrCat(
      "instruction set: expected auto, avx2, avx512, avx512bf16 or amx, got ", Quoted(name)));
}

Result<std::unique_ptr<backend::Device>> CreateCpuDevice(const CpuOptions& options) {
  if (options.num_threads < 0 || options.num_threads > kMaxThreads) {
    return InvalidArgument(
        StrCat("num_threads: expected 0..", kMaxThreads, ", got ", options.num_threads));
  }
  if (WidestIsa() == Isa::kAuto) {
    return Unimplemented("cpu: expected a processor with AVX2, FMA and F16C, this one lacks them");
  }
  if (!HasIsa(options.isa)) {
    return Unimplemented(StrCat("cpu: expected instruction set ", IsaName(options.isa),
                                ", this machine has ", IsaName(WidestIsa()), " at most"));
  }
  const Isa isa = options.isa == Isa::kAuto ? WidestIsa() : options.isa;
  const int32_t num_threads = options.num_threads == 0 ? NumUsableCores() : options.num_threads;
  std::unique_ptr<backend::Device> device = std::make_unique<CpuDevice>(num_threads, isa);
  return device;
}

}  // namespace deepinfer::cpu
