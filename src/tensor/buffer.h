// Owned memory of a device, released by whoever allocated it.
//
// Ownership: movable, single owner; views into it must not outlive it.
// Threading: thread-compatible.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace deepinfer {

class Buffer {
 public:
  using Deleter = void (*)(void* data, void* context);

  Buffer() = default;
  // Takes over `data` of `num_bytes`; `deleter(data, context)` runs once at the end.
  Buffer(void* data, size_t num_bytes, Deleter deleter, void* context)
      : data_(data), num_bytes_(num_bytes), deleter_(deleter), context_(context) {}
  Buffer(Buffer&& other) noexcept { Swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer(std::move(other)).Swap(*this);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if (data_ != nullptr) deleter_(data_, context_);
  }

  void* data() const { return data_; }
  size_t num_bytes() const { return num_bytes_; }

 private:
  void Swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(num_bytes_, other.num_bytes_);
    std::swap(deleter_, other.deleter_);
    std::swap(context_, other.context_);
  }

  void* data_ = nullptr;
  size_t num_bytes_ = 0;
  Deleter deleter_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace deepinfer
