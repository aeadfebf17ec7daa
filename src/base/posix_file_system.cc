#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <thread>

#include "base/file_system.h"
#include "base/strings.h"

namespace deepinfer {
namespace {

StatusCode CodeOf(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return StatusCode::kNotFound;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EFBIG:
      return StatusCode::kResourceExhausted;
    case EACCES:
    case EPERM:
    case EROFS:
    case EISDIR:
    case EEXIST:
    case ELOOP:
    case ENAMETOOLONG:
    case ENOTEMPTY:
    case EINVAL:
      return StatusCode::kInvalidArgument;
    case EIO:
      return StatusCode::kDataLoss;
    default:
      return StatusCode::kUnavailable;
  }
}

Status Failure(std::string_view path, std::string_view what, int error) {
  return Status(CodeOf(error),
                StrCat(path, ": cannot ", what, ": ", std::generic_category().message(error)));
}

// A descriptor that is closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) (void)close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

Result<Descriptor> OpenDescriptor(const std::string& path, int flags) {
  while (true) {
    const int fd = open(path.c_str(), flags | O_CLOEXEC, 0666);
    if (fd >= 0) return Descriptor(fd);
    if (errno != EINTR) return Failure(path, "open", errno);
  }
}

FileInfo InfoOf(const struct stat& s) {
  FileInfo info;
  info.type = S_ISREG(s.st_mode)   ? FileType::kFile
              : S_ISDIR(s.st_mode) ? FileType::kDirectory
              : S_ISLNK(s.st_mode) ? FileType::kSymlink
                                   : FileType::kOther;
  info.num_bytes = static_cast<uint64_t>(s.st_size);
  info.modified_ns = int64_t{s.st_mtim.tv_sec} * 1'000'000'000 + s.st_mtim.tv_nsec;
  return info;
}

// One read or write system call moves at most 2 GiB - 4 KiB.
constexpr size_t kMaxTransfer = size_t{1} << 30;

class PosixFile : public File {
 public:
  PosixFile(std::string path, Descriptor fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  Result<size_t> ReadAt(uint64_t offset, std::span<char> out) override {
    size_t done = 0;
    while (done < out.size()) {
      const ssize_t n =
          pread(fd_.get(), out.data() + done, std::min(out.size() - done, kMaxTransfer),
                static_cast<off_t>(offset + done));
      if (n == 0) break;
      if (n > 0) {
        done += static_cast<size_t>(n);
      } else if (errno != EINTR) {
        return Failure(path_, "read", errno);
      }
    }
    return done;
  }

  Status WriteAt(uint64_t offset, std::string_view data) override {
    size_t done = 0;
    while (done < data.size()) {
      const ssize_t n =
          pwrite(fd_.get(), data.data() + done, std::min(data.size() - done, kMaxTransfer),
                 static_cast<off_t>(offset + done));
      if (n >= 0) {
        done += static_cast<size_t>(n);
      } else if (errno != EINTR) {
        return Failure(path_, "write", errno);
      }
    }
    return OkStatus();
  }

  Result<uint64_t> Size() override {
    struct stat s = {};
    if (fstat(fd_.get(), &s) != 0) return Failure(path_, "stat", errno);
    return static_cast<uint64_t>(s.st_size);
  }

  Status Resize(uint64_t num_bytes) override {
    if (ftruncate(fd_.get(), static_cast<off_t>(num_bytes)) != 0)
      return Failure(path_, "resize", errno);
    return OkStatus();
  }

  Status Sync() override {
    if (fsync(fd_.get()) != 0) return Failure(path_, "sync", errno);
    return OkStatus();
  }

 private:
  const std::string path_;
  const Descriptor fd_;
};

class PosixFileLock : public FileLock {
 public:
  explicit PosixFileLock(Descriptor fd) : fd_(std::move(fd)) {}

 private:
  const Descriptor fd_;  // closing it lets go of the lock
};

class Posix : public FileSystem {
 public:
  Result<std::unique_ptr<File>> Open(const std::string& path, OpenMode mode) override {
    int flags = O_RDONLY;
    switch (mode) {
      case OpenMode::kRead:
        break;
      case OpenMode::kReadWrite:
        flags = O_RDWR | O_CREAT;
        break;
      case OpenMode::kTruncate:
        flags = O_RDWR | O_CREAT | O_TRUNC;
        break;
      case OpenMode::kCreateNew:
        flags = O_RDWR | O_CREAT | O_EXCL;
        break;
    }
    DI_ASSIGN_OR_RETURN(Descriptor fd, OpenRegular(path, flags));
    return std::unique_ptr<File>(std::make_unique<PosixFile>(path, std::move(fd)));
  }

  Result<MappedFile> Map(const std::string& path) override {
    DI_ASSIGN_OR_RETURN(const Descriptor fd, OpenRegular(path, O_RDONLY));
    struct stat s = {};
    if (fstat(fd.get(), &s) != 0) return Failure(path, "stat", errno);
    const auto num_bytes = static_cast<size_t>(s.st_size);
    if (num_bytes == 0) return MappedFile();
    void* data = mmap(nullptr, num_bytes, PROT_READ, MAP_SHARED, fd.get(), 0);
    if (data == MAP_FAILED) return Failure(path, "map", errno);
    return MappedFile(data, num_bytes);
  }

  Result<FileInfo> Stat(const std::string& path) override {
    struct stat s = {};
    if (stat(path.c_str(), &s) != 0) return Failure(path, "stat", errno);
    return InfoOf(s);
  }

  Result<FileInfo> StatLink(const std::string& path) override {
    struct stat s = {};
    if (lstat(path.c_str(), &s) != 0) return Failure(path, "stat", errno);
    return InfoOf(s);
  }

  Result<std::vector<std::string>> List(const std::string& path) override {
    DIR* dir = opendir(path.c_str());
    if (dir == nullptr) return Failure(path, "list", errno);
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = readdir(dir)) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
      errno = 0;
    }
    const int error = errno;
    (void)closedir(dir);
    if (error != 0) return Failure(path, "list", error);
    std::sort(names.begin(), names.end());
    return names;
  }

  Status Rename(const std::string& from, const std::string& to) override {
    if (rename(from.c_str(), to.c_str()) != 0) {
      return Failure(from, StrCat("rename to ", to), errno);
    }
    return OkStatus();
  }

  Status Remove(const std::string& path) override {
    if (remove(path.c_str()) != 0) return Failure(path, "remove", errno);
    return OkStatus();
  }

  Status CreateDirectories(const std::string& path) override {
    if (mkdir(path.c_str(), 0777) == 0) return OkStatus();
    const int error = errno;
    if (IsDirectory(*this, path)) return OkStatus();
    if (error != ENOENT || ParentPath(path) == path) return Failure(path, "create folder", error);
    DI_RETURN_IF_ERROR(CreateDirectories(ParentPath(path)));
    if (mkdir(path.c_str(), 0777) != 0 && !IsDirectory(*this, path)) {
      return Failure(path, "create folder", errno);
    }
    return OkStatus();
  }

  Status CreateSymlink(const std::string& target, const std::string& link) override {
    if (symlink(target.c_str(), link.c_str()) != 0) return Failure(link, "create link", errno);
    return OkStatus();
  }

  Result<std::string> ReadSymlink(const std::string& path) override {
    std::string target(4096, '\0');
    const ssize_t n = readlink(path.c_str(), target.data(), target.size());
    if (n < 0) return Failure(path, "read link", errno);
    target.resize(static_cast<size_t>(n));
    return target;
  }

  Result<uint64_t> FreeBytes(const std::string& path) override {
    struct statvfs s = {};
    if (statvfs(path.c_str(), &s) != 0) return Failure(path, "look up free space", errno);
    return uint64_t{s.f_bavail} * uint64_t{s.f_frsize};
  }

  Result<std::unique_ptr<FileLock>> Lock(const std::string& path,
                                         std::chrono::milliseconds timeout) override {
    constexpr auto kPoll = std::chrono::milliseconds(20);  // flock has no timed wait
    DI_ASSIGN_OR_RETURN(Descriptor fd, OpenDescriptor(path, O_RDWR | O_CREAT));
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) return Failure(path, "lock", errno);
      if (std::chrono::steady_clock::now() >= deadline) {
        return DeadlineExceeded(StrCat(path, ": waited ", timeout.count(),
                                       " ms for the lock that another process holds"));
      }
      std::this_thread::sleep_for(kPoll);
    }
    return std::unique_ptr<FileLock>(std::make_unique<PosixFileLock>(std::move(fd)));
  }

 private:
  // Folders open without complaint for reading and fail much later; pipes would block for ever.
  static Result<Descriptor> OpenRegular(const std::string& path, int flags) {
    DI_ASSIGN_OR_RETURN(Descriptor fd, OpenDescriptor(path, flags | O_NONBLOCK));
    struct stat s = {};
    if (fstat(fd.get(), &s) != 0) return Failure(path, "stat", errno);
    if (S_ISDIR(s.st_mode)) return Failure(path, "open", EISDIR);
    if (!S_ISREG(s.st_mode)) {
      return InvalidArgument(
          StrCat(path, ": expected a regular file, got a device, pipe or socket"));
    }
    return fd;
  }
};

}  // namespace

FileSystem& PosixFileSystem() {
  static Posix file_system;
  return file_system;
}

}  // namespace deepinfer
