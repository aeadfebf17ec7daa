#include "checkpoint/checkpoint_writer.h"

#include <algorithm>
#include <bit>
#include <cstdio>

#include "base/check.h"
#include "base/json.h"
#include "base/strings.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"

namespace deepinfer::checkpoint {
namespace {

// Data starts at a multiple of this, so every tensor can start where its element type, and mostly where a
// cache line, wants it.
constexpr uint64_t kDataAlignment = 64;

// The largest power of two, up to a cache line, that divides a size.  With the tensors of a shard in
// descending order of it, each one starts at a multiple of its own: alignment without gaps, which some
// readers refuse.
uint64_t GrainOf(uint64_t num_bytes) {
  if (num_bytes == 0) return kDataAlignment;
  return std::min(kDataAlignment, uint64_t{1} << std::countr_zero(num_bytes));
}

std::string LengthPrefix(uint64_t length) {
  std::string out;
  for (int32_t i = 0; i < 8; ++i) out += static_cast<char>(length >> (8 * i) & 0xff);
  return out;
}

std::string ShardName(size_t shard_idx, size_t num_shards) {
  if (num_shards == 1) return std::string(kSingleFile);
  char name[64];
  std::snprintf(name, sizeof(name), "model-%05zu-of-%05zu.safetensors", shard_idx + 1, num_shards);
  return name;
}

json::Value ShapeValue(const std::vector<int64_t>& shape) {
  json::Value out = json::Value::Array();
  for (const int64_t dim : shape) out.Append(dim);
  return out;
}

Status CheckNames(const std::vector<TensorSpec>& specs) {
  std::vector<std::string_view> names;
  names.reserve(specs.size());
  for (const TensorSpec& spec : specs) names.push_back(spec.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return OkStatus();
  return InvalidArgument(StrCat("tensor ", Quoted(*twice), " is to be written twice"));
}

}  // namespace

Result<uint64_t> BytesOf(const TensorSpec& spec) {
  const std::optional<int64_t> bits = BitsOfStoredDtype(spec.dtype);
  if (!bits.has_value()) {
    return InvalidArgument(
        StrCat("tensor ", Quoted(spec.name), ": unknown dtype ", Quoted(spec.dtype)));
  }
  int64_t total = *bits;
  for (const int64_t dim : spec.shape) {
    if (dim < 0 || __builtin_mul_overflow(total, dim, &total)) {
      return InvalidArgument(
          StrCat("tensor ", Quoted(spec.name), ": expected axes >= 0 and fewer than 2^60 bytes"));
    }
  }
  if (total % 8 != 0) {
    return InvalidArgument(
        StrCat("tensor ", Quoted(spec.name), ": expected whole bytes, got ", total, " bits"));
  }
  return static_cast<uint64_t>(total / 8);
}

Result<std::unique_ptr<CheckpointWriter>> CheckpointWriter::Create(
    FileSystem& fs, const std::string& folder, const std::vector<TensorSpec>& specs,
    const WriterOptions& options) {
  DI_RETURN_IF_ERROR(CheckNames(specs));
  DI_RETURN_IF_ERROR(fs.CreateDirectories(folder));
  for (const std::string_view name : {kIndexFile, kSingleFile}) {
    const std::string path = JoinPath(folder, name);
    if (Exists(fs, path)) {
      return InvalidArgument(
          StrCat(path, ": expected a folder without a checkpoint, got this file"));
    }
  }
  std::unique_ptr<CheckpointWriter> writer(new CheckpointWriter(fs, folder));
  DI_RETURN_IF_ERROR(writer->Plan(specs, options));
  DI_RETURN_IF_ERROR(writer->CheckRoom());
  DI_RETURN_IF_ERROR(writer->WriteHeaders(specs));
  return writer;
}

CheckpointWriter::~CheckpointWriter() {
  if (is_finished_) return;
  for (size_t s = 0; s < files_.size(); ++s) {
    files_[s].reset();
    (void)fs_.Remove(
        TemporaryPath(s));  // best effort; the first failure was reported where it happened
  }
}

Status CheckpointWriter::Plan(const std::vector<TensorSpec>& specs, const WriterOptions& options) {
  uint64_t shard_bytes = 0;
  for (size_t i = 0; i < specs.size(); ++i) {
    DI_ASSIGN_OR_RETURN(const uint64_t num_bytes, BytesOf(specs[i]));
    const bool is_full =
        shard_bytes > 0 &&
        num_bytes > options.max_shard_bytes - std::min(shard_bytes, options.max_shard_bytes);
    if (shard_tensors_.empty() || is_full) {
      shard_tensors_.emplace_back();
      shard_bytes = 0;
    }
    shard_tensors_.back().push_back(i);
    shard_bytes += num_bytes;
    if (num_bytes_ + num_bytes < num_bytes_) {
      return InvalidArgument("expected fewer than 2^64 bytes of tensors in all");
    }
    num_bytes_ += num_bytes;
    tensor_names_.push_back(specs[i].name);
    placements_.push_back({shard_tensors_.size() - 1, 0, num_bytes});
  }
  if (specs.empty()) shard_tensors_.emplace_back();
  for (std::vector<size_t>& tensors : shard_tensors_) {
    std::stable_sort(tensors.begin(), tensors.end(), [&](size_t a, size_t b) {
      return GrainOf(placements_[a].num_bytes) > GrainOf(placements_[b].num_bytes);
    });
    shard_names_.push_back(ShardName(shard_names_.size(), shard_tensors_.size()));
  }
  return OkStatus();
}

Status CheckpointWriter::CheckRoom() {
  constexpr uint64_t kHeaderBytesPerTensor = 256;  // generous; names have about 50
  const uint64_t needed = num_bytes_ + placements_.size() * kHeaderBytesPerTensor;
  DI_ASSIGN_OR_RETURN(const uint64_t free_bytes, fs_.FreeBytes(folder_));
  if (needed <= free_bytes) return OkStatus();
  return ResourceExhausted(StrCat(folder_, ": expected ", HumanBytes(needed),
                                  " of free disk space, got ", HumanBytes(free_bytes)));
}

Status CheckpointWriter::WriteHeaders(const std::vector<TensorSpec>& specs) {
  for (size_t s = 0; s < shard_tensors_.size(); ++s) {
    json::ObjectBuilder header;
    header.Add("__metadata__", json::Value::Object({{"format", "pt"}}));
    uint64_t offset = 0;
    for (const size_t i : shard_tensors_[s]) {
      json::Value offsets = json::Value::Array();
      offsets.Append(offset);
      placements_[i].offset = offset;
      offset += placements_[i].num_bytes;
      offsets.Append(offset);
      header.Add(specs[i].name, json::Value::Object({{"dtype", specs[i].dtype},
                                                     {"shape", ShapeValue(specs[i].shape)},
                                                     {"data_offsets", std::move(offsets)}}));
    }
    DI_ASSIGN_OR_RETURN(const json::Value built,
                        std::move(header).Finish(json::DuplicateKeys::kRefuse));
    std::string text = json::Write(built, json::kCompact);
    while ((8 + text.size()) % kDataAlignment != 0) text += ' ';
    if (text.size() > kMaxHeaderBytes) {
      return InvalidArgument(StrCat("expected a header of at most ", kMaxHeaderBytes,
                                    " bytes for each file, got ", text.size(),
                                    "; use more shards"));
    }
    for (const size_t i : shard_tensors_[s]) placements_[i].offset += 8 + text.size();
    DI_ASSIGN_OR_RETURN(std::unique_ptr<File> file,
                        fs_.Open(TemporaryPath(s), OpenMode::kTruncate));
    files_.push_back(std::move(file));
    DI_RETURN_IF_ERROR(files_[s]->WriteAt(0, LengthPrefix(text.size()) + text));
    DI_RETURN_IF_ERROR(files_[s]->Resize(8 + text.size() + offset));
  }
  return OkStatus();
}

std::string CheckpointWriter::TemporaryPath(size_t shard_idx) const {
  return JoinPath(folder_, shard_names_[shard_idx]) + ".tmp";
}

Status CheckpointWriter::Write(size_t tensor_idx, uint64_t offset, std::string_view bytes) {
  DI_CHECK(tensor_idx < placements_.size() && !is_finished_, "tensor_idx=", tensor_idx);
  const Placement& placement = placements_[tensor_idx];
  DI_CHECK(offset <= placement.num_bytes && bytes.size() <= placement.num_bytes - offset,
           "tensor=", tensor_names_[tensor_idx], " offset=", offset, " bytes=", bytes.size());
  DI_RETURN_IF_ERROR(files_[placement.shard_idx]->WriteAt(placement.offset + offset, bytes));
  num_written_bytes_ += bytes.size();
  return OkStatus();
}

Status CheckpointWriter::Finish() {
  DI_CHECK(num_written_bytes_ == num_bytes_ && !is_finished_, "written=", num_written_bytes_.load(),
           " expected=", num_bytes_);
  for (const std::unique_ptr<File>& file : files_) DI_RETURN_IF_ERROR(file->Sync());
  for (size_t s = 0; s < files_.size(); ++s) {
    DI_RETURN_IF_ERROR(fs_.Rename(TemporaryPath(s), JoinPath(folder_, shard_names_[s])));
  }
  if (shard_names_.size() > 1) {
    json::ObjectBuilder weight_map;
    for (size_t i = 0; i < placements_.size(); ++i) {
      weight_map.Add(tensor_names_[i], shard_names_[placements_[i].shard_idx]);
    }
    DI_ASSIGN_OR_RETURN(json::Value map,
                        std::move(weight_map).Finish(json::DuplicateKeys::kRefuse));
    json::Value root =
        json::Value::Object({{"metadata", json::Value::Object({{"total_size", num_bytes_}})}});
    root.Set("weight_map", std::move(map));
    DI_RETURN_IF_ERROR(WriteFileAtomically(fs_, JoinPath(folder_, kIndexFile),
                                           json::Write(root, {.indent = 2}) + "\n"));
  }
  is_finished_ = true;
  return OkStatus();
}

}  // namespace deepinfer::checkpoint
