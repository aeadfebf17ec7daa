#include "base/file_system.h"

#include "base/strings.h"

namespace deepinfer {

Status File::ReadExactly(uint64_t offset, std::span<char> out) {
  DI_ASSIGN_OR_RETURN(const size_t got, ReadAt(offset, out));
  if (got == out.size()) return OkStatus();
  return DataLoss(StrCat("expected ", out.size(), " bytes at offset ", offset,
                         ", got the end of the file after ", got));
}

bool Exists(FileSystem& fs, const std::string& path) { return fs.Stat(path).ok(); }

Result<bool> CheckExists(FileSystem& fs, const std::string& path) {
  const Status status = fs.Stat(path).status();
  if (status.ok()) return true;
  if (status.code() == StatusCode::kNotFound) return false;
  return status;
}

bool IsDirectory(FileSystem& fs, const std::string& path) {
  const Result<FileInfo> info = fs.Stat(path);
  return info.ok() && info->type == FileType::kDirectory;
}

Result<std::string> ReadFile(FileSystem& fs, const std::string& path, uint64_t max_bytes) {
  DI_ASSIGN_OR_RETURN(const std::unique_ptr<File> file, fs.Open(path, OpenMode::kRead));
  const Result<uint64_t> size = file->Size();
  if (!size.ok()) return size.status();
  if (*size > max_bytes) {
    return InvalidArgument(
        StrCat(path, ": expected at most ", max_bytes, " bytes, got a file of ", *size));
  }
  std::string out(*size, '\0');
  const Status read = file->ReadExactly(0, out);
  if (!read.ok()) return read.code() == StatusCode::kDataLoss ? read.WithContext(path) : read;
  return out;
}

Status WriteFileAtomically(FileSystem& fs, const std::string& path, std::string_view data) {
  const std::string temporary = path + ".tmp";
  const auto write = [&]() -> Status {
    DI_ASSIGN_OR_RETURN(const std::unique_ptr<File> file, fs.Open(temporary, OpenMode::kTruncate));
    DI_RETURN_IF_ERROR(file->WriteAt(0, data));
    return file->Sync();
  };
  Status status = write();
  if (status.ok()) status = fs.Rename(temporary, path);
  if (!status.ok()) (void)fs.Remove(temporary);  // the first failure is the one to report
  return status;
}

std::string JoinPath(std::string_view folder, std::string_view name) {
  if (folder.empty() || name.starts_with('/')) return std::string(name);
  return folder.ends_with('/') ? StrCat(folder, name) : StrCat(folder, "/", name);
}

std::string ParentPath(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return slash == 0 ? "/" : std::string(path.substr(0, slash));
}

std::string BaseName(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

}  // namespace deepinfer
