// A file's bytes as read-only memory, brought in by the kernel page by page when they are touched.
//
// Ownership: owns the mapping; views into it must not outlive it.  Movable.  The file may be
// renamed or
//   unlinked meanwhile, but whoever truncates or rewrites it breaks every reader (SIGBUS).
// Threading: thread-compatible; reading the bytes needs no lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "deepinfer/status.h"

namespace deepinfer {

class MappedFile {
 public:
  // What the kernel should expect; a hint that never changes a byte.
  enum class Access : uint8_t {
    kNormal,    // read ahead a little
    kRandom,    // rows here and there: bring in only the pages touched
    kWillNeed,  // start reading now
    kDontNeed,  // drop from memory; the next touch reads the file again
  };

  MappedFile() = default;  // empty
  // Takes over a mapping made by mmap, or (nullptr, 0).  Made by FileSystem::Map.
  MappedFile(void* data, size_t num_bytes) : data_(data), num_bytes_(num_bytes) {}
  MappedFile(MappedFile&& other) noexcept { Swap(other); }
  MappedFile& operator=(MappedFile&& other) noexcept {
    MappedFile(std::move(other)).Swap(*this);
    return *this;
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  // Page-aligned; null for an empty file.
  const char* data() const { return static_cast<const char*>(data_); }
  size_t num_bytes() const { return num_bytes_; }

  // Applies to the pages that hold [offset, offset + num_bytes).  Requires the range to lie inside.
  void Advise(size_t offset, size_t num_bytes, Access access) const;

 private:
  void Swap(MappedFile& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(num_bytes_, other.num_bytes_);
  }

  void* data_ = nullptr;
  size_t num_bytes_ = 0;
};

}  // namespace deepinfer
