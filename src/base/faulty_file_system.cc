#include "base/faulty_file_system.h"

#include <algorithm>

#include "base/strings.h"

namespace deepinfer {

class FaultyFile : public File {
 public:
  FaultyFile(FaultyFileSystem& fs, std::string path, std::unique_ptr<File> base)
      : fs_(fs), path_(std::move(path)), base_(std::move(base)) {}

  Result<size_t> ReadAt(uint64_t offset, std::span<char> out) override {
    DI_RETURN_IF_ERROR(fs_.Enter(FileOp::kRead, path_));
    return base_->ReadAt(offset, fs_.IsShortened() ? out.first(out.size() / 2) : out);
  }

  Status WriteAt(uint64_t offset, std::string_view data) override {
    DI_RETURN_IF_ERROR(fs_.Enter(FileOp::kWrite, path_));
    const uint64_t granted = fs_.TakeRoom(data.size());
    DI_RETURN_IF_ERROR(base_->WriteAt(offset, data.substr(0, granted)));
    return granted == data.size() ? OkStatus() : Full("write");
  }

  Result<uint64_t> Size() override { return base_->Size(); }

  Status Resize(uint64_t num_bytes) override {
    DI_RETURN_IF_ERROR(fs_.Enter(FileOp::kResize, path_));
    return base_->Resize(num_bytes);
  }

  Status Sync() override {
    DI_RETURN_IF_ERROR(fs_.Enter(FileOp::kSync, path_));
    return base_->Sync();
  }

 private:
  Status Full(std::string_view what) const {
    return ResourceExhausted(StrCat(path_, ": cannot ", what, ": No space left on device"));
  }

  FaultyFileSystem& fs_;
  const std::string path_;
  const std::unique_ptr<File> base_;
};

void FaultyFileSystem::FailNth(FileOp op, int64_t n, Status failure) {
  const std::lock_guard lock(mutex_);
  Plan& plan = plans_[static_cast<size_t>(op)];
  plan.fail_at = plan.num_calls + n;
  plan.fails_always = false;
  plan.failure = std::move(failure);
}

void FaultyFileSystem::FailAll(FileOp op, Status failure) {
  const std::lock_guard lock(mutex_);
  Plan& plan = plans_[static_cast<size_t>(op)];
  plan.fails_always = true;
  plan.failure = std::move(failure);
}

void FaultyFileSystem::ShortenNthRead(int64_t n) {
  const std::lock_guard lock(mutex_);
  shorten_read_at_ = plans_[static_cast<size_t>(FileOp::kRead)].num_calls + n;
}

void FaultyFileSystem::SetRoomBytes(uint64_t num_bytes) {
  const std::lock_guard lock(mutex_);
  room_bytes_ = num_bytes;
}

void FaultyFileSystem::SetHook(std::function<void(FileOp, const std::string&)> hook) {
  const std::lock_guard lock(mutex_);
  hook_ = std::move(hook);
}

void FaultyFileSystem::Heal() {
  const std::lock_guard lock(mutex_);
  for (Plan& plan : plans_) plan = {.num_calls = plan.num_calls};
  shorten_read_at_ = 0;
  room_bytes_ = std::numeric_limits<uint64_t>::max();
  hook_ = nullptr;
}

int64_t FaultyFileSystem::num_calls(FileOp op) const {
  const std::lock_guard lock(mutex_);
  return plans_[static_cast<size_t>(op)].num_calls;
}

Status FaultyFileSystem::Enter(FileOp op, const std::string& path) {
  std::function<void(FileOp, const std::string&)> hook;
  Status failure;
  {
    const std::lock_guard lock(mutex_);
    Plan& plan = plans_[static_cast<size_t>(op)];
    ++plan.num_calls;
    if (plan.fails_always || plan.num_calls == plan.fail_at) failure = plan.failure;
    hook = hook_;
  }
  if (hook) hook(op, path);
  return failure;
}

bool FaultyFileSystem::IsShortened() {
  const std::lock_guard lock(mutex_);
  return plans_[static_cast<size_t>(FileOp::kRead)].num_calls == shorten_read_at_;
}

uint64_t FaultyFileSystem::TakeRoom(uint64_t num_bytes) {
  const std::lock_guard lock(mutex_);
  const uint64_t granted = std::min(num_bytes, room_bytes_);
  if (room_bytes_ != std::numeric_limits<uint64_t>::max()) room_bytes_ -= granted;
  return granted;
}

Result<std::unique_ptr<File>> FaultyFileSystem::Open(const std::string& path, OpenMode mode) {
  DI_RETURN_IF_ERROR(Enter(FileOp::kOpen, path));
  DI_ASSIGN_OR_RETURN(std::unique_ptr<File> file, base_.Open(path, mode));
  return std::unique_ptr<File>(std::make_unique<FaultyFile>(*this, path, std::move(file)));
}

Result<MappedFile> FaultyFileSystem::Map(const std::string& path) {
  DI_RETURN_IF_ERROR(Enter(FileOp::kMap, path));
  return base_.Map(path);
}

Result<FileInfo> FaultyFileSystem::Stat(const std::string& path) {
  DI_RETURN_IF_ERROR(Enter(FileOp::kStat, path));
  return base_.Stat(path);
}

Result<FileInfo> FaultyFileSystem::StatLink(const std::string& path) {
  DI_RETURN_IF_ERROR(Enter(FileOp::kStat, path));
  return base_.StatLink(path);
}

Result<std::vector<std::string>> FaultyFileSystem::List(const std::string& path) {
  DI_RETURN_IF_ERROR(Enter(FileOp::kList, path));
  return base_.List(path);
}

Status FaultyFileSystem::Rename(const std::string& from, const std::string& to) {
  DI_RETURN_IF_ERROR(Enter(FileOp::kRename, from));
  return base_.Rename(from, to);
}

Status FaultyFileSystem::Remove(const std::string& path) {
  DI_RETURN_IF_ERROR(Enter(FileOp::kRemove, path));
  return base_.Remove(path);
}

Status FaultyFileSystem::CreateDirectories(const std::string& path) {
  DI_RETURN_IF_ERROR(Enter(FileOp::kCreateDirectories, path));
  return base_.CreateDirectories(path);
}

Status FaultyFileSystem::CreateSymlink(const std::string& target, const std::string& link) {
  DI_RETURN_IF_ERROR(Enter(FileOp::kSymlink, link));
  return base_.CreateSymlink(target, link);
}

Result<std::string> FaultyFileSystem::ReadSymlink(const std::string& path) {
  DI_RETURN_IF_ERROR(Enter(FileOp::kStat, path));
  return base_.ReadSymlink(path);
}

Result<uint64_t> FaultyFileSystem::FreeBytes(const std::string& path) {
  DI_RETURN_IF_ERROR(Enter(FileOp::kFreeBytes, path));
  DI_ASSIGN_OR_RETURN(const uint64_t real, base_.FreeBytes(path));
  const std::lock_guard lock(mutex_);
  return std::min(real, room_bytes_);
}

Result<std::unique_ptr<FileLock>> FaultyFileSystem::Lock(const std::string& path,
                                                         std::chrono::milliseconds timeout) {
  DI_RETURN_IF_ERROR(Enter(FileOp::kLock, path));
  return base_.Lock(path, timeout);
}

}  // namespace deepinfer
