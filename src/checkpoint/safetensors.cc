#include "checkpoint/safetensors.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/json.h"
#include "base/strings.h"

namespace deepinfer::checkpoint {
namespace {

constexpr size_t kLengthBytes = 8;

struct DtypeRow {
  std::string_view name;
  int64_t bits;
};

constexpr DtypeRow kDtypes[] = {
    {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"BOOL", 8},    {"U8", 8},
    {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"U16", 16},
    {"I16", 16}, {"F16", 16},    {"BF16", 16},   {"U32", 32},    {"I32", 32},
    {"F32", 32}, {"C64", 64},    {"U64", 64},    {"I64", 64},    {"F64", 64},
};

uint64_t LoadLittleEndian64(const char* bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    value |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  }
  return value;
}

// Bytes of `shape` at `bits` an element, or nothing when they do not fit 63 bits or end inside a byte.
std::optional<uint64_t> BytesOf(const std::vector<int64_t>& shape, int64_t bits) {
  int64_t total_bits = bits;
  bool is_empty = false;
  for (const int64_t dim : shape) {
    // An empty tensor may have huge other axes; they must still not wrap.
    if (dim == 0) {
      is_empty = true;
    } else if (__builtin_mul_overflow(total_bits, dim, &total_bits)) {
      return std::nullopt;
    }
  }
  if (is_empty) return 0;
  if (total_bits % 8 != 0) return std::nullopt;
  return static_cast<uint64_t>(total_bits / 8);
}

Status Damaged(const TensorInfo& tensor, std::string_view what) {
  return DataLoss(StrCat("tensor ", Quoted(tensor.name), ": ", what));
}

Result<std::vector<int64_t>> ReadShape(const json::Cursor& entry) {
  DI_ASSIGN_OR_RETURN(std::vector<int64_t> shape, entry.Read<std::vector<int64_t>>("shape"));
  if (shape.size() > kMaxDims) {
    return InvalidArgument(
        StrCat("shape: expected at most ", kMaxDims, " axes, got ", shape.size()));
  }
  for (const int64_t dim : shape) {
    if (dim < 0) return InvalidArgument(StrCat("shape: expected no negative axis, got ", dim));
  }
  return shape;
}

// One member of the header, but for the checks that need the file.
Status ReadEntry(const json::Value& value, TensorInfo& tensor, uint64_t& end) {
  const json::Cursor entry(value);
  DI_ASSIGN_OR_RETURN(tensor.dtype, entry.Read<std::string>("dtype"));
  DI_ASSIGN_OR_RETURN(tensor.shape, ReadShape(entry));
  DI_ASSIGN_OR_RETURN(const json::Cursor offsets, entry.Get("data_offsets"));
  DI_ASSIGN_OR_RETURN(const std::vector<json::Cursor> bounds, offsets.Items());
  if (bounds.size() != 2) return offsets.Expected("two offsets");
  DI_ASSIGN_OR_RETURN(tensor.offset, bounds[0].As<uint64_t>());
  DI_ASSIGN_OR_RETURN(end, bounds[1].As<uint64_t>());
  return OkStatus();
}

Result<TensorInfo> ReadTensor(const json::Member& member, uint64_t data_bytes) {
  TensorInfo tensor;
  tensor.name = member.key;
  uint64_t end = 0;
  const Status read = ReadEntry(member.value, tensor, end);
  if (!read.ok()) return Damaged(tensor, read.message());
  if (tensor.offset > end) {
    return Damaged(tensor, StrCat("expected data_offsets in ascending order, got ", tensor.offset,
                                  " and ", end));
  }
  if (end > data_bytes) {
    return Damaged(tensor, StrCat("its data ends at byte ", end, ", but the file holds only ",
                                  data_bytes, " bytes of data (truncated?)"));
  }
  tensor.num_bytes = end - tensor.offset;
  const std::optional<int64_t> bits = BitsOfStoredDtype(tensor.dtype);
  if (!bits.has_value()) return tensor;  // nobody can ask for its elements
  const std::optional<uint64_t> expected = BytesOf(tensor.shape, *bits);
  if (!expected.has_value()) {
    return Damaged(tensor,
                   StrCat("expected a shape of whole bytes below 2^60, got ", tensor.ToString()));
  }
  if (*expected != tensor.num_bytes) {
    return Damaged(tensor, StrCat("expected ", *expected, " bytes for ", tensor.ToString(),
                                  ", got ", tensor.num_bytes));
  }
  return tensor;
}

Status CheckOverlaps(const std::vector<TensorInfo>& tensors) {
  std::vector<const TensorInfo*> order;
  order.reserve(tensors.size());
  for (const TensorInfo& tensor : tensors) {
    if (tensor.num_bytes > 0) order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(),
            [](const TensorInfo* a, const TensorInfo* b) { return a->offset < b->offset; });
  for (size_t i = 1; i < order.size(); ++i) {
    const TensorInfo& before = *order[i - 1];
    if (before.offset + before.num_bytes > order[i]->offset) {
      return Damaged(*order[i], StrCat("its bytes overlap those of tensor ", Quoted(before.name)));
    }
  }
  return OkStatus();
}

}  // namespace

std::string TensorInfo::ToString() const {
  std::string out = Quoted(dtype, 20);
  out = out.substr(1, out.size() - 2) + "[";
  for (size_t i = 0; i < shape.size(); ++i) out += StrCat(i > 0 ? ", " : "", shape[i]);
  return out + "]";
}

std::optional<int64_t> BitsOfStoredDtype(std::string_view dtype) {
  for (const DtypeRow& row : kDtypes) {
    if (row.name == dtype) return row.bits;
  }
  return std::nullopt;
}

Result<std::vector<TensorInfo>> ParseSafetensorsHeader(std::string_view header,
                                                       uint64_t data_bytes) {
  const Result<json::Value> parsed =
      json::Parse(header, {.max_bytes = kMaxHeaderBytes, .max_depth = 8});
  if (!parsed.ok()) return DataLoss(StrCat("header is damaged: ", parsed.status().message()));
  if (!parsed->is_object()) {
    return DataLoss(StrCat("header: expected an object, got ", parsed->Brief()));
  }
  std::vector<TensorInfo> tensors;
  tensors.reserve(parsed->size());
  for (const json::Member& member : parsed->members()) {
    if (member.key == "__metadata__") continue;
    DI_ASSIGN_OR_RETURN(TensorInfo tensor, ReadTensor(member, data_bytes));
    tensors.push_back(std::move(tensor));
  }
  DI_RETURN_IF_ERROR(CheckOverlaps(tensors));
  return tensors;
}

Result<SafetensorsFile> SafetensorsFile::Open(FileSystem& fs, const std::string& path) {
  SafetensorsFile file;
  file.path_ = path;
  DI_ASSIGN_OR_RETURN(file.map_, fs.Map(path));
  const uint64_t file_bytes = file.map_.num_bytes();
  if (file_bytes < kLengthBytes) {
    return DataLoss(StrCat(path, ": expected a safetensors file, got ", file_bytes, " bytes"));
  }
  const uint64_t header_bytes = LoadLittleEndian64(file.map_.data());
  if (header_bytes > kMaxHeaderBytes) {
    return DataLoss(StrCat(path, ": expected a header of at most ", kMaxHeaderBytes, " bytes, got ",
                           header_bytes, " (not a safetensors file?)"));
  }
  if (header_bytes > file_bytes - kLengthBytes) {
    return DataLoss(StrCat(path, ": its header of ", header_bytes,
                           " bytes is longer than the file of ", file_bytes, " (truncated?)"));
  }
  file.header_bytes_ = header_bytes;
  Result<std::vector<TensorInfo>> tensors =
      ParseSafetensorsHeader(file.header(), file_bytes - kLengthBytes - header_bytes);
  if (!tensors.ok()) return tensors.status().WithContext(path);
  file.tensors_ = std::move(tensors).value();
  return file;
}

std::string_view SafetensorsFile::DataOf(const TensorInfo& tensor) const {
  const size_t start = kLengthBytes + header_bytes_ + tensor.offset;
  DI_CHECK(start + tensor.num_bytes <= map_.num_bytes(), "tensor=", tensor.name);
  return {map_.data() + start, tensor.num_bytes};
}

void SafetensorsFile::Advise(const TensorInfo& tensor, MappedFile::Access access) const {
  map_.Advise(kLengthBytes + header_bytes_ + tensor.offset, tensor.num_bytes, access);
}

}  // namespace deepinfer::checkpoint
