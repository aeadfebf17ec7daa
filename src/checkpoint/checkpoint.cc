#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/strings.h"

namespace deepinfer::checkpoint {
namespace {

constexpr uint64_t kMaxIndexBytes = 100'000'000;
constexpr size_t kCopyAlignment = 64;  // a cache line: good for every element type

// Whether a tensor stored as `stored` can be read as `dtype`.
bool Matches(std::string_view stored, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return stored == "F32";
    case DType::kBF16:
      return stored == "BF16";
    case DType::kF8E4M3:
      return stored == "F8_E4M3";
    case DType::kF4E2M1:
      return stored == "I8" || stored == "U8";
    case DType::kUE8M0:
      return stored == "F8_E8M0" || stored == "U8";
    case DType::kI32:
      return stored == "I32";
    case DType::kI64:
      return stored == "I64";
    case DType::kU8:
      return stored == "U8";
  }
  return false;
}

std::string ShapeText(DType dtype, std::span<const int64_t> shape) {
  std::string out = StrCat(DTypeName(dtype), "[");
  for (size_t i = 0; i < shape.size(); ++i) out += StrCat(i > 0 ? ", " : "", shape[i]);
  return out + "]";
}

// Requires at most TensorView::kMaxDims axes.
TensorView MakeView(char* data, DType dtype, std::span<const int64_t> s) {
  switch (s.size()) {
    case 0:
      return TensorView(data, dtype, {});
    case 1:
      return TensorView(data, dtype, {s[0]});
    case 2:
      return TensorView(data, dtype, {s[0], s[1]});
    case 3:
      return TensorView(data, dtype, {s[0], s[1], s[2]});
    case 4:
      return TensorView(data, dtype, {s[0], s[1], s[2], s[3]});
    default:
      return TensorView(data, dtype, {s[0], s[1], s[2], s[3], s[4]});
  }
}

struct AlignedDelete {
  void operator()(char* data) const { ::operator delete(data, std::align_val_t(kCopyAlignment)); }
};
using AlignedBytes = std::unique_ptr<char, AlignedDelete>;

AlignedBytes CopyAligned(std::string_view bytes) {
  AlignedBytes copy(
      static_cast<char*>(::operator new(bytes.size(), std::align_val_t(kCopyAlignment))));
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  return copy;
}

// Opens the files at the same time: headers are long to parse and, on a cold disk, long to wait for.  The
// failure reported is the first in the order of `names`.
Result<std::vector<SafetensorsFile>> OpenShards(FileSystem& fs, const std::string& folder,
                                                const std::vector<std::string>& names) {
  std::vector<std::optional<Result<SafetensorsFile>>> opened(names.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < names.size(); i = next++) {
      opened[i] = SafetensorsFile::Open(fs, JoinPath(folder, names[i]));
    }
  };
  constexpr size_t kMaxThreads = 8;
  const size_t num_threads = std::min<size_t>(
      {kMaxThreads, names.size(), std::max(std::thread::hardware_concurrency(), 1u)});
  std::vector<std::thread> threads;
  for (size_t i = 1; i < num_threads; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  std::vector<SafetensorsFile> shards;
  shards.reserve(names.size());
  for (std::optional<Result<SafetensorsFile>>& file : opened) {
    DI_ASSIGN_OR_RETURN(SafetensorsFile shard, *std::move(file));
    shards.push_back(std::move(shard));
  }
  return shards;
}

}  // namespace

struct Checkpoint::Copies {
  std::mutex mutex;
  std::map<const TensorInfo*, AlignedBytes> by_tensor;  // guarded by mutex
};

Checkpoint::Checkpoint() : copies_(std::make_unique<Copies>()) {}
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;
Checkpoint::~Checkpoint() = default;

Result<Checkpoint> Checkpoint::Open(FileSystem& fs, const std::string& folder) {
  if (!IsDirectory(fs, folder)) {
    return NotFound(StrCat(folder, ": expected a checkpoint folder, got no folder"));
  }
  Checkpoint checkpoint;
  checkpoint.folder_ = folder;
  const std::string index_path = JoinPath(folder, kIndexFile);
  const std::string single_path = JoinPath(folder, kSingleFile);
  if (!Exists(fs, index_path)) {
    if (!Exists(fs, single_path)) {
      return NotFound(
          StrCat(folder, ": expected ", kIndexFile, " or ", kSingleFile, ", got neither"));
    }
    DI_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::Open(fs, single_path));
    checkpoint.shards_.push_back(std::move(file));
    DI_RETURN_IF_ERROR(checkpoint.AddEntries(nullptr));
    return checkpoint;
  }
  DI_ASSIGN_OR_RETURN(const std::string text, ReadFile(fs, index_path, kMaxIndexBytes));
  const Result<Index> index = ParseIndex(text);
  if (!index.ok()) return index.status().WithContext(index_path);
  DI_ASSIGN_OR_RETURN(checkpoint.shards_, OpenShards(fs, folder, index->shards));
  DI_RETURN_IF_ERROR(checkpoint.AddEntries(&*index));
  return checkpoint;
}

Status Checkpoint::AddEntries(const Index* index) {
  // Every tensor of every shard, sorted by the file's spelling.
  std::vector<Entry> found;
  for (uint32_t s = 0; s < shards_.size(); ++s) {
    const auto num_tensors = static_cast<uint32_t>(shards_[s].tensors().size());
    for (uint32_t t = 0; t < num_tensors; ++t) found.push_back({"", s, t});
  }
  std::sort(found.begin(), found.end(), [&](const Entry& a, const Entry& b) {
    const int32_t order = InfoOf(a).name.compare(InfoOf(b).name);
    return order != 0 ? order < 0 : a.shard_idx < b.shard_idx;
  });
  const auto add = [&](const Entry& entry) {
    num_bytes_ += InfoOf(entry).num_bytes;
    entries_.push_back({CanonicalName(InfoOf(entry).name), entry.shard_idx, entry.tensor_idx});
  };
  if (index == nullptr) {
    for (const Entry& entry : found) add(entry);
    return CheckSpellings();
  }
  for (const IndexEntry& wanted : index->entries) {
    const auto first = std::lower_bound(
        found.begin(), found.end(), wanted.tensor,
        [&](const Entry& entry, const std::string& name) { return InfoOf(entry).name < name; });
    auto last = first;
    while (last != found.end() && InfoOf(*last).name == wanted.tensor) ++last;
    const auto here = std::find_if(
        first, last, [&](const Entry& entry) { return entry.shard_idx == wanted.shard_idx; });
    if (here == last) {
      return DataLoss(StrCat(shards_[wanted.shard_idx].path(), ": expected tensor ",
                             Quoted(wanted.tensor), ", which the index puts here, got none"));
    }
    if (last - first > 1) {
      return InvalidArgument(StrCat("tensor ", Quoted(wanted.tensor), " is in both ",
                                    shards_[first->shard_idx].path(), " and ",
                                    shards_[(first + 1)->shard_idx].path()));
    }
    add(*here);
  }
  return CheckSpellings();
}

Status Checkpoint::CheckSpellings() {
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return a.name < b.name; });
  const auto twice =
      std::adjacent_find(entries_.begin(), entries_.end(),
                         [](const Entry& a, const Entry& b) { return a.name == b.name; });
  if (twice == entries_.end()) return OkStatus();
  const Entry& other = *(twice + 1);
  return Mismatch(
      *twice, StrCat("tensor ", Quoted(InfoOf(other).name), " in ", shards_[other.shard_idx].path(),
                     " is another spelling of the same name"));
}

const Checkpoint::Entry* Checkpoint::FindEntry(std::string_view name) const {
  const auto at =
      std::lower_bound(entries_.begin(), entries_.end(), name,
                       [](const Entry& entry, std::string_view n) { return entry.name < n; });
  return at != entries_.end() && at->name == name ? &*at : nullptr;
}

const TensorInfo* Checkpoint::Find(std::string_view name) const {
  const Entry* entry = FindEntry(name);
  return entry == nullptr ? nullptr : &InfoOf(*entry);
}

const std::string& Checkpoint::FileOf(std::string_view name) const {
  const Entry* entry = FindEntry(name);
  DI_CHECK(entry != nullptr, "name=", name);
  return shards_[entry->shard_idx].path();
}

Status Checkpoint::Mismatch(const Entry& entry, std::string_view what) const {
  return InvalidArgument(
      StrCat(shards_[entry.shard_idx].path(), ": tensor ", Quoted(InfoOf(entry).name), ": ", what));
}

Result<TensorView> Checkpoint::Get(std::string_view name, DType dtype,
                                   std::span<const int64_t> shape) const {
  DI_CHECK(shape.size() <= static_cast<size_t>(TensorView::kMaxDims), "dims=", shape.size());
  const Entry* entry = FindEntry(name);
  if (entry == nullptr) {
    return NotFound(StrCat(folder_, ": expected tensor ", Quoted(name), ", got none"));
  }
  const TensorInfo& info = InfoOf(*entry);
  std::vector<int64_t> stored(shape.begin(), shape.end());
  if (dtype == DType::kF4E2M1) {
    DI_CHECK(!stored.empty() && stored.back() % 2 == 0, "shape=", ShapeText(dtype, shape));
    stored.back() /= 2;
  }
  if (!Matches(info.dtype, dtype) || info.shape != stored) {
    return Mismatch(*entry,
                    StrCat("expected ", ShapeText(dtype, shape), ", got ", info.ToString()));
  }
  std::string_view bytes = shards_[entry->shard_idx].DataOf(info);
  const auto element_bytes = static_cast<uintptr_t>(std::max(BitsOf(dtype) / 8, 1));
  if (reinterpret_cast<uintptr_t>(bytes.data()) % element_bytes != 0) {
    const std::lock_guard lock(copies_->mutex);
    AlignedBytes& copy = copies_->by_tensor[&info];
    if (copy == nullptr) copy = CopyAligned(bytes);
    bytes = {copy.get(), bytes.size()};
  }
  // Views are read-write by type; the pages behind this one are mapped read-only.
  return MakeView(const_cast<char*>(bytes.data()), dtype, shape);
}

void Checkpoint::Advise(std::string_view name, MappedFile::Access access) const {
  const Entry* entry = FindEntry(name);
  DI_CHECK(entry != nullptr, "name=", name);
  shards_[entry->shard_idx].Advise(InfoOf(*entry), access);
}

}  // namespace deepinfer::checkpoint
