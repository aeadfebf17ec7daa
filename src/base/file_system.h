// The seam to files: everything that touches a disk goes through a FileSystem, so that tests can
// make disks fail (base/faulty_file_system.h).
//
// Failures carry the path and the system's words: `/m/config.json: cannot open: No such file or
// directory`.
//   kNotFound            no such file or folder
//   kResourceExhausted   disk, quota, memory or descriptors are full
//   kInvalidArgument     no permission, read-only, a folder where a file was expected, it exists
//   already kDataLoss            the device failed, or a file ended early kUnavailable anything
//   else
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "deepinfer/status.h"

namespace deepinfer {

enum class OpenMode : uint8_t {
  kRead,       // must exist
  kReadWrite,  // made when absent, content kept
  kTruncate,   // made when absent, emptied otherwise
  kCreateNew,  // must not exist
};

enum class FileType : uint8_t { kFile, kDirectory, kSymlink, kOther };

struct FileInfo {
  FileType type = FileType::kFile;
  uint64_t num_bytes = 0;
  int64_t modified_ns = 0;  // since the Unix epoch
};

// An open file with positional reads and writes.
//
// Ownership: closed by the destructor; writes are durable only after a successful Sync.
// Threading: thread-safe as long as writers touch distinct ranges.
class File {
 public:
  virtual ~File() = default;

  // Reads up to `out.size()` bytes at `offset`; fewer only at the end of the file.
  virtual Result<size_t> ReadAt(uint64_t offset, std::span<char> out) = 0;
  // Writes all of `data` at `offset`, growing the file.  After a failure the range holds anything.
  virtual Status WriteAt(uint64_t offset, std::string_view data) = 0;
  virtual Result<uint64_t> Size() = 0;
  // Cuts, or grows with zeros that take no room on disk.
  virtual Status Resize(uint64_t num_bytes) = 0;
  // Returns once everything written is on the device.
  virtual Status Sync() = 0;

  // Reads exactly `out.size()` bytes; kDataLoss when the file ends before.
  Status ReadExactly(uint64_t offset, std::span<char> out);
};

// Held while it lives; released by the destructor, also when the process dies.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

// Threading: thread-safe.  A FileSystem outlives the files that it opened.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual Result<std::unique_ptr<File>> Open(const std::string& path, OpenMode mode) = 0;
  // The whole file as memory.
  virtual Result<MappedFile> Map(const std::string& path) = 0;
  // Of what a symbolic link points to.
  virtual Result<FileInfo> Stat(const std::string& path) = 0;
  // Of the link itself.
  virtual Result<FileInfo> StatLink(const std::string& path) = 0;
  // Names in a folder without "." and "..", sorted.
  virtual Result<std::vector<std::string>> List(const std::string& path) = 0;
  // Replaces `to` in one step: every reader sees the old or the new file, never half of one.
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  // A file, a link (not what it points to) or an empty folder.
  virtual Status Remove(const std::string& path) = 0;
  // With all parents; existing ones are fine.
  virtual Status CreateDirectories(const std::string& path) = 0;
  // Makes `link` point to the text `target`.
  virtual Status CreateSymlink(const std::string& target, const std::string& link) = 0;
  virtual Result<std::string> ReadSymlink(const std::string& path) = 0;
  // Bytes that this user can still write on the disk of `path` (an existing file or folder).
  virtual Result<uint64_t> FreeBytes(const std::string& path) = 0;
  // An exclusive lock between processes (and between holders in one process) on a lock file, made
  // when absent.  Waits at most `timeout`, then kDeadlineExceeded.
  virtual Result<std::unique_ptr<FileLock>> Lock(const std::string& path,
                                                 std::chrono::milliseconds timeout) = 0;
};

// The real one.  It has no state, so all callers share one object.
FileSystem& PosixFileSystem();

// Whether `path` exists, links followed.  Exists takes a disk that fails for "no"; where that would hide
// the failure or overwrite something, ask CheckExists.
bool Exists(FileSystem& fs, const std::string& path);
Result<bool> CheckExists(FileSystem& fs, const std::string& path);
bool IsDirectory(FileSystem& fs, const std::string& path);

// The content of a file of at most `max_bytes`; kInvalidArgument when it is larger.
Result<std::string> ReadFile(FileSystem& fs, const std::string& path, uint64_t max_bytes);

// Writes a temporary file beside `path`, syncs it and renames it: readers see all or nothing.
Status WriteFileAtomically(FileSystem& fs, const std::string& path, std::string_view data);

// "a" + "b" -> "a/b"; "a/" + "b" -> "a/b"; "" + "b" -> "b"; an absolute second part stands alone.
std::string JoinPath(std::string_view folder, std::string_view name);
// "a/b/c" -> "a/b"; "c" -> "."; "/c" -> "/".
std::string ParentPath(std::string_view path);
// "a/b/c" -> "c"; no trailing slashes.
std::string BaseName(std::string_view path);

}  // namespace deepinfer
