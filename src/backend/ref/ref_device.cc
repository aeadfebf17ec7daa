#include "backend/ref/ref_device.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "backend/ref/kernels.h"
#include "base/strings.h"

namespace deepinfer::ref {
namespace {

constexpr size_t kAlignment = 64;

void FreeBlock(void*, void* block) { std::free(block); }

class RefStream final : public backend::Stream {
 public:
  explicit RefStream(backend::Device& device) : device_(device) {}

  backend::Device& device() const override { return device_; }
  const backend::OpTable& ops() const override { return RefOps(); }
  void CopyToDevice(void* dst, const void* src, size_t num_bytes) override {
    if (num_bytes > 0) std::memcpy(dst, src, num_bytes);
  }
  void CopyToHost(void* dst, const void* src, size_t num_bytes) override {
    if (num_bytes > 0) std::memcpy(dst, src, num_bytes);
  }
  void CopyOnDevice(void* dst, const void* src, size_t num_bytes) override {
    if (num_bytes > 0) std::memmove(dst, src, num_bytes);
  }
  void FillZero(void* dst, size_t num_bytes) override {
    if (num_bytes > 0) std::memset(dst, 0, num_bytes);
  }
  void Synchronize() override {}

 private:
  backend::Device& device_;
};

class RefDevice final : public backend::Device {
 public:
  backend::DeviceProperties properties() const override {
    backend::DeviceProperties p;
    p.name = "ref";
    p.total_memory_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
    p.num_compute_units = 1;
    return p;
  }

  Result<Buffer> Allocate(size_t num_bytes) override {
    const bool fits = num_bytes <= static_cast<size_t>(properties().total_memory_bytes);
    void* block = fits ? std::calloc(num_bytes + kAlignment, 1) : nullptr;
    if (block == nullptr) {
      return ResourceExhausted(StrCat("ref: expected room for ", HumanBytes(num_bytes)));
    }
    const uintptr_t address = reinterpret_cast<uintptr_t>(block);
    void* data = static_cast<char*>(block) + (kAlignment - address % kAlignment);
    return Buffer(data, num_bytes, FreeBlock, block);
  }

  Result<backend::ImportedWeight> ImportWeight(const TensorView& host) override {
    backend::ImportedWeight weight;
    weight.view = host;
    return weight;
  }

  std::unique_ptr<backend::Stream> CreateStream() override {
    return std::make_unique<RefStream>(*this);
  }
};

backend::OpTable MakeTable() {
  backend::OpTable table;
#define DI_SET_KERNEL(Name, slot) table.slot = Name;
  DI_OP_LIST(DI_SET_KERNEL)
#undef DI_SET_KERNEL
  return table;
}

}  // namespace

std::unique_ptr<backend::Device> CreateRefDevice() { return std::make_unique<RefDevice>(); }

const backend::OpTable& RefOps() {
  static const backend::OpTable table = MakeTable();
  return table;
}

}  // namespace deepinfer::ref
