// A FileSystem that fails when told to; for tests of what happens when a disk does not do as it
// should.
//
//   FaultyFileSystem fs(PosixFileSystem());
//   fs.FailNth(FileOp::kRead, 3, DataLoss("read error"));   // the third read from now on
//   fs.SetRoomBytes(1 << 20);                               // then "disk full", after writing what
//   fits
//
// Ownership: borrows the file system underneath, which must outlive it; outlives the files it
// opened. Threading: thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/file_system.h"

namespace deepinfer {

enum class FileOp : uint8_t {
  kOpen,
  kRead,
  kWrite,
  kResize,
  kSync,
  kMap,
  kStat,
  kList,
  kRename,
  kRemove,
  kCreateDirectories,
  kSymlink,
  kFreeBytes,
  kLock,
};
inline constexpr size_t kNumFileOps = 14;

class FaultyFileSystem : public FileSystem {
 public:
  explicit FaultyFileSystem(FileSystem& base) : base_(base) {}

  // The `n`-th call of `op` from now on (1 = the next) fails with `failure`, once.
  void FailNth(FileOp op, int64_t n, Status failure);
  // Every call of `op` fails until FailNth or Heal.
  void FailAll(FileOp op, Status failure);
  // The `n`-th read from now on stops half way, as if the file ended there, once.
  void ShortenNthRead(int64_t n);
  // Writes and growth beyond this many further bytes fail with kResourceExhausted; FreeBytes says
  // so too.
  void SetRoomBytes(uint64_t num_bytes);
  // Called before each operation, outside locks; for slow disks and for events at a known point.
  void SetHook(std::function<void(FileOp, const std::string& path)> hook);
  // Everything works again.
  void Heal();

  // Calls of `op` so far.
  int64_t num_calls(FileOp op) const;

  Result<std::unique_ptr<File>> Open(const std::string& path, OpenMode mode) override;
  Result<MappedFile> Map(const std::string& path) override;
  Result<FileInfo> Stat(const std::string& path) override;
  Result<FileInfo> StatLink(const std::string& path) override;
  Result<std::vector<std::string>> List(const std::string& path) override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& path) override;
  Status CreateDirectories(const std::string& path) override;
  Status CreateSymlink(const std::string& target, const std::string& link) override;
  Result<std::string> ReadSymlink(const std::string& path) override;
  Result<uint64_t> FreeBytes(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path,
                                         std::chrono::milliseconds timeout) override;

 private:
  friend class FaultyFile;
  struct Plan {
    int64_t num_calls = 0;
    int64_t fail_at = 0;  // a value of num_calls; 0 = never
    bool fails_always = false;
    Status failure;
  };

  // Counts the call and says whether it fails.
  Status Enter(FileOp op, const std::string& path);
  bool IsShortened();
  // Takes up to `num_bytes` of the room left; what was granted.
  uint64_t TakeRoom(uint64_t num_bytes);

  FileSystem& base_;
  mutable std::mutex mutex_;
  std::array<Plan, kNumFileOps> plans_;
  int64_t shorten_read_at_ = 0;
  uint64_t room_bytes_ = std::numeric_limits<uint64_t>::max();
  std::function<void(FileOp, const std::string&)> hook_;
};

}  // namespace deepinfer
