// Writes checkpoints: safetensors shards and their index, tensor by tensor, in any order, from any thread.
//
//   DI_ASSIGN_OR_RETURN(auto writer, CheckpointWriter::Create(fs, folder, specs, {}));
//   DI_RETURN_IF_ERROR(writer->Write(tensor_idx, byte_offset, bytes));   // until every byte is written
//   DI_RETURN_IF_ERROR(writer->Finish());
//
// The list of tensors is known from the start, so all headers are written first and no tensor is ever held
// in memory.  Shards grow under names that end in `.tmp`, and get their own names, and the index, only in
// Finish: a folder without an index is not a checkpoint, so nobody can open half of one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "deepinfer/status.h"

namespace deepinfer::checkpoint {

// One tensor to be written, in the spelling of the file.
struct TensorSpec {
  std::string name;
  std::string dtype;           // a spelling that BitsOfStoredDtype knows
  std::vector<int64_t> shape;  // each >= 0; whole bytes
};

// The bytes of a tensor.  kInvalidArgument for an unknown dtype, a negative axis or an overflow.
Result<uint64_t> BytesOf(const TensorSpec& spec);

struct WriterOptions {
  uint64_t max_shard_bytes = uint64_t{5} << 30;  // of data; a larger tensor gets a shard of its own
};

// Ownership: owns the open files; borrows the file system.  Dropped without Finish, it removes its
//   temporary files.
// Threading: Write is thread-safe; Create and Finish are not.
class CheckpointWriter {
 public:
  // Plans shards in the order of `specs`, checks that the disk has room for all of it, and writes the headers
  // into `folder`, which is made when absent.  Refused: a repeated name, a folder that holds an index or a
  // model.safetensors already (kInvalidArgument), a disk without room (kResourceExhausted).
  static Result<std::unique_ptr<CheckpointWriter>> Create(FileSystem& fs, const std::string& folder,
                                                          const std::vector<TensorSpec>& specs,
                                                          const WriterOptions& options);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Writes `bytes` at `offset` within tensor `tensor_idx` of the specs.  Each byte is to be written once;
  // the range must lie inside the tensor (checked).
  Status Write(size_t tensor_idx, uint64_t offset, std::string_view bytes);

  // Syncs and names the shards and writes the index (one shard: `model.safetensors`, no index).  Every byte
  // must have been written (checked by count).
  Status Finish();

  uint64_t num_bytes() const { return num_bytes_; }  // of all tensors
  // Final names of the shards, in order.
  const std::vector<std::string>& shard_names() const { return shard_names_; }

 private:
  struct Placement {
    size_t shard_idx = 0;
    uint64_t offset = 0;  // in the file
    uint64_t num_bytes = 0;
  };

  CheckpointWriter(FileSystem& fs, std::string folder) : fs_(fs), folder_(std::move(folder)) {}
  Status Plan(const std::vector<TensorSpec>& specs, const WriterOptions& options);
  Status CheckRoom();
  Status WriteHeaders(const std::vector<TensorSpec>& specs);
  std::string TemporaryPath(size_t shard_idx) const;

  FileSystem& fs_;
  const std::string folder_;
  std::vector<std::string> tensor_names_;
  std::vector<Placement> placements_;               // by tensor
  std::vector<std::vector<size_t>> shard_tensors_;  // tensors of each shard, in file order
  std::vector<std::string> shard_names_;
  std::vector<std::unique_ptr<File>> files_;  // by shard
  uint64_t num_bytes_ = 0;
  std::atomic<uint64_t> num_written_bytes_ = 0;
  bool is_finished_ = false;
};

}  // namespace deepinfer::checkpoint
