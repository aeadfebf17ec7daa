// A checkpoint: a folder of safetensors files, and the tensors in it by their canonical names.
//
//   DI_ASSIGN_OR_RETURN(const Checkpoint checkpoint, Checkpoint::Open(PosixFileSystem(), folder));
//   DI_ASSIGN_OR_RETURN(w.wq_a, checkpoint.Get("layers.0.attn.wq_a.weight", DType::kF8E4M3, {1280, 5120}));
//
// The folder holds `model.safetensors.index.json` and the shards that it names, or a single
// `model.safetensors`.  Tensors are windows into the mapped files: opening reads headers only, and memory
// follows what is touched, so a checkpoint may be far larger than memory.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "checkpoint/safetensors.h"
#include "deepinfer/status.h"
#include "tensor/dtype.h"
#include "tensor/tensor_view.h"

namespace deepinfer::checkpoint {

inline constexpr std::string_view kIndexFile = "model.safetensors.index.json";
inline constexpr std::string_view kSingleFile = "model.safetensors";

// The canonical spelling of a tensor name: without a leading `model.`, `lm_head.weight` as `head.weight`, and
// `X.weight_scale_inv` as `X.scale`.
std::string CanonicalName(std::string_view name);

// One line of an index.
struct IndexEntry {
  std::string tensor;  // as in the file
  uint32_t shard_idx = 0;
};
struct Index {
  std::vector<std::string> shards;  // plain file names, sorted
  std::vector<IndexEntry> entries;  // in the file's order
};

// Parses and checks the text of a model.safetensors.index.json.  Shards must be plain file names: an index
// cannot reach out of its folder.
Result<Index> ParseIndex(std::string_view text);

// An open checkpoint.
//
// Ownership: owns the mapped files; views from Get die with it.  Movable.
// Threading: thread-safe for const calls.
// Invariant: each canonical name stands for exactly one tensor.
class Checkpoint {
 public:
  // Where one tensor lies.
  struct Entry {
    std::string name;  // canonical
    uint32_t shard_idx = 0;
    uint32_t tensor_idx = 0;  // in shards()[shard_idx].tensors()
  };

  // Opens every shard and checks every header.  Refused, with one sentence that names file and tensor:
  //   kNotFound         folder, index or shard is missing
  //   kDataLoss         a shard is damaged or cut, or lacks a tensor that the index puts there
  //   kInvalidArgument  the index is not one; a tensor exists twice, in two shards or in two spellings
  // Tensors that the index does not list are left out.
  static Result<Checkpoint> Open(FileSystem& fs, const std::string& folder);
  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;
  ~Checkpoint();

  const std::string& folder() const { return folder_; }
  const std::vector<SafetensorsFile>& shards() const { return shards_; }
  // Sorted by name.
  const std::vector<Entry>& entries() const { return entries_; }
  // Bytes of all tensors.
  uint64_t num_bytes() const { return num_bytes_; }

  // What the file says about a tensor (with the file's own spelling of name and dtype), or null.
  const TensorInfo* Find(std::string_view name) const;
  bool Contains(std::string_view name) const { return Find(name) != nullptr; }
  // The file that holds a tensor, for messages; requires Contains(name).
  const std::string& FileOf(std::string_view name) const;

  // The tensor `name` as `dtype` and `shape`, which must be what the file holds:
  //
  //   kF32 F32   kBF16 BF16   kF8E4M3 F8_E4M3   kI32 I32   kI64 I64   kU8 U8
  //   kUE8M0   F8_E8M0 or U8
  //   kF4E2M1  I8 or U8, two codes a byte; `shape` counts codes, the file's last axis half as many bytes
  //
  // kNotFound when there is no such tensor, kInvalidArgument when dtype or shape differ.
  // The view is into the mapped file.  Only a tensor of F32, BF16, I32 or I64 that the file puts at an
  // address that its element type does not allow (odd header padding) is copied, once.
  Result<TensorView> Get(std::string_view name, DType dtype, std::span<const int64_t> shape) const;
  Result<TensorView> Get(std::string_view name, DType dtype,
                         std::initializer_list<int64_t> shape) const {
    return Get(name, dtype, std::span<const int64_t>(shape.begin(), shape.size()));
  }

  // Tells the kernel how the tensor's pages will be used.  Requires Contains(name).
  void Advise(std::string_view name, MappedFile::Access access) const;

 private:
  // Aligned copies of misaligned tensors; its address stays when the checkpoint moves.
  struct Copies;

  Checkpoint();
  Status AddEntries(const Index* index);
  Status CheckSpellings();
  const Entry* FindEntry(std::string_view name) const;
  const TensorInfo& InfoOf(const Entry& entry) const {
    return shards_[entry.shard_idx].tensors()[entry.tensor_idx];
  }
  Status Mismatch(const Entry& entry, std::string_view what) const;

  std::string folder_;
  std::vector<SafetensorsFile> shards_;
  std::vector<Entry> entries_;
  uint64_t num_bytes_ = 0;
  std::unique_ptr<Copies> copies_;
};

}  // namespace deepinfer::checkpoint
