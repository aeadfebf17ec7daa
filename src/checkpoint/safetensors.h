// One safetensors file: its header checked, its data mapped, nothing copied.
//
// Layout: u64 little-endian header length, a JSON header {name: {dtype, shape, data_offsets: [begin, end)}},
// then the data; offsets count from the end of the header; row-major, little-endian.
//
// Every refusal names the file, and the tensor where there is one.  Damage (cut files, ranges outside the
// file or over each other, sizes that do not fit the shape) is kDataLoss; nothing is ever read as zeros.
// Accepted, because valid writers produce it: any order of tensors, any header padding with blanks, gaps
// between tensors, empty tensors, scalars, and dtypes that this engine does not know, as long as nobody
// asks for their elements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "base/mapped_file.h"
#include "deepinfer/status.h"

namespace deepinfer::checkpoint {

// What the header says about one tensor, and where its bytes lie.
struct TensorInfo {
  std::string name;            // as in the file
  std::string dtype;           // as in the file: "F32", "BF16", "F8_E4M3", "F8_E8M0", "I8", ...
  std::vector<int64_t> shape;  // as in the file; empty for a scalar; each >= 0
  uint64_t offset = 0;         // of the first byte, from the start of the data
  uint64_t num_bytes = 0;

  // `bf16[7, 5120]`, with the file's spelling of the dtype.
  std::string ToString() const;
};

// Limits that no honest file reaches; beyond them a file is refused before anything is allocated for it.
inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;
inline constexpr size_t kMaxDims = 16;

// Bits of one element of a safetensors dtype, or nothing for a spelling that we do not know.
std::optional<int64_t> BitsOfStoredDtype(std::string_view dtype);

// Parses and checks the JSON header of a file with `data_bytes` bytes of data.  The tensors come back in the
// header's order.  Messages name the tensor; the caller puts the file in front.
Result<std::vector<TensorInfo>> ParseSafetensorsHeader(std::string_view header,
                                                       uint64_t data_bytes);

// An open file.
//
// Ownership: owns the mapping; pointers into it die with it.  Movable.
// Threading: thread-compatible.
class SafetensorsFile {
 public:
  // Maps the file and checks its whole header.  Reads no data.
  static Result<SafetensorsFile> Open(FileSystem& fs, const std::string& path);

  const std::string& path() const { return path_; }
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  // The JSON header's bytes, for digests.
  std::string_view header() const { return {map_.data() + 8, header_bytes_}; }
  uint64_t file_bytes() const { return map_.num_bytes(); }

  // The bytes of a tensor of this file.
  std::string_view DataOf(const TensorInfo& tensor) const;
  // Tells the kernel how the tensor's pages will be used.
  void Advise(const TensorInfo& tensor, MappedFile::Access access) const;

 private:
  SafetensorsFile() = default;

  std::string path_;
  MappedFile map_;
  size_t header_bytes_ = 0;
  std::vector<TensorInfo> tensors_;
};

}  // namespace deepinfer::checkpoint
