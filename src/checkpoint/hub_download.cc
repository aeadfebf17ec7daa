#include "checkpoint/hub_download.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/hash.h"
#include "base/strings.h"

namespace deepinfer::hub {
namespace {

constexpr size_t kHashPiece = size_t{1} << 20;
constexpr auto kProgressInterval = std::chrono::milliseconds(200);
// Left free beside the download itself.
constexpr uint64_t kSpareBytes = uint64_t{64} << 20;

bool IsPassing(const Status& status) {
  return status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kDeadlineExceeded;
}

// The digest of a growing file: sha256 of large files, the git blob id of small ones.
class Digest {
 public:
  explicit Digest(const RemoteFile& file) : file_(file) {}

  void Update(std::string_view data) {
    if (file_.sha256.empty()) {
      content_ += data;
    } else {
      sha256_.Update(data);
    }
  }
  void Reset() {
    content_.clear();
    sha256_ = Sha256();
  }
  // Whether everything so far is the file.
  bool Matches() {
    if (file_.sha256.empty()) return GitBlobSha1Hex(content_) == file_.blob_id;
    return HexOf(sha256_.Finish()) == file_.sha256;
  }

 private:
  const RemoteFile& file_;
  Sha256 sha256_;
  std::string content_;  // small files only
};

// Downloads one file into its .incomplete and checks it.
class FileDownload {
 public:
  FileDownload(const std::string& url, const RemoteFile& remote, const std::string& path,
               const HubOptions& options, const HubEnvironment& environment,
               std::atomic<uint64_t>& num_bytes_done, const std::atomic<bool>& cancelled)
      : url_(url),
        remote_(remote),
        path_(path),
        options_(options),
        environment_(environment),
        num_bytes_done_(num_bytes_done),
        cancelled_(cancelled),
        digest_(remote) {}

  // On success the file at `path` is complete and has the right digest.
  Status Run() {
    DI_ASSIGN_OR_RETURN(file_, environment_.fs.Open(path_, OpenMode::kReadWrite));
    DI_RETURN_IF_ERROR(TakeUpPartial());
    for (int32_t round = 0; round < 2; ++round) {
      DI_RETURN_IF_ERROR(FetchRest());
      DI_RETURN_IF_ERROR(file_->Sync());
      if (digest_.Matches()) return OkStatus();
      DI_RETURN_IF_ERROR(StartOver());
    }
    (void)environment_.fs.Remove(path_);
    return DataLoss(
        StrCat(remote_.path, ": expected checksum ", remote_.etag(), ", got other content, twice"));
  }

 private:
  // Hashes what an earlier run left.
  Status TakeUpPartial() {
    DI_ASSIGN_OR_RETURN(have_, file_->Size());
    if (have_ > remote_.num_bytes) return StartOver();
    std::string piece(kHashPiece, '\0');
    for (uint64_t at = 0; at < have_;) {
      const size_t count = static_cast<size_t>(std::min<uint64_t>(kHashPiece, have_ - at));
      DI_RETURN_IF_ERROR(file_->ReadExactly(at, std::span(piece.data(), count)));
      digest_.Update(std::string_view(piece).substr(0, count));
      at += count;
    }
    num_bytes_done_ += have_;
    counted_ = have_;
    return OkStatus();
  }

  Status StartOver() {
    num_bytes_done_ -= counted_;
    counted_ = 0;
    have_ = 0;
    digest_.Reset();
    return file_->Resize(0);
  }

  // Gets bytes until the file has its size; gives up after max_attempts without a new one.
  Status FetchRest() {
    int32_t attempts_left = options_.max_attempts;
    auto backoff = options_.first_backoff;
    while (have_ < remote_.num_bytes) {
      const uint64_t before = have_;
      const Status status = FetchOnce();
      if (status.ok() && have_ == remote_.num_bytes) break;
      if (!status.ok() && !IsPassing(status)) return status;
      if (have_ > before) {
        attempts_left = options_.max_attempts;
        backoff = options_.first_backoff;
      }
      if (--attempts_left <= 0) {
        if (!status.ok()) return status;
        return Unavailable(StrCat(remote_.path, ": expected ", remote_.num_bytes,
                                  " bytes, the connection ends after ", have_));
      }
      environment_.clock.SleepFor(backoff);
      backoff = std::min(backoff * 2, std::chrono::milliseconds(30'000));
    }
    return OkStatus();
  }

  Status FetchOnce() {
    HttpReceiver receiver;
    receiver.on_head = [this](const HttpHead& head) { return OnHead(head); };
    receiver.on_body = [this](std::string_view data) { return OnBody(data); };
    const std::string range = have_ > 0 ? StrCat("bytes=", have_, "-") : "";
    return GetFollowing(url_, range, options_, environment_, receiver);
  }

  Status OnHead(const HttpHead& head) {
    if (head.status == 206) {
      // "bytes 100-999/1000": it must go on where we are.
      std::string_view range = head.Find("content-range");
      if (range.substr(0, 6) == "bytes ") range.remove_prefix(6);
      uint64_t begin = 0;
      const auto parsed = std::from_chars(range.data(), range.data() + range.size(), begin);
      if (parsed.ec != std::errc() || begin != have_) {
        return Unavailable(StrCat(remote_.path, ": expected the bytes from ", have_, ", got ",
                                  Quoted(head.Find("content-range"))));
      }
      return OkStatus();
    }
    if (head.status == 200) return have_ == 0 ? OkStatus() : StartOver();  // it ignores ranges
    if (head.status == 416) {
      DI_RETURN_IF_ERROR(StartOver());
      return Unavailable(StrCat(remote_.path, ": the hub has fewer bytes than were there"));
    }
    return StatusOfHttp(head.status, remote_.path, !options_.token.empty());
  }

  Status OnBody(std::string_view data) {
    if (cancelled_) return Cancelled(StrCat(remote_.path, ": another file failed"));
    if (data.size() > remote_.num_bytes - have_) {
      return DataLoss(StrCat(remote_.path, ": expected ", remote_.num_bytes, " bytes, got more"));
    }
    DI_RETURN_IF_ERROR(file_->WriteAt(have_, data));
    digest_.Update(data);
    have_ += data.size();
    counted_ += data.size();
    num_bytes_done_ += data.size();
    return OkStatus();
  }

  const std::string& url_;
  const RemoteFile& remote_;
  const std::string& path_;
  const HubOptions& options_;
  const HubEnvironment& environment_;
  std::atomic<uint64_t>& num_bytes_done_;
  const std::atomic<bool>& cancelled_;
  Digest digest_;
  std::unique_ptr<File> file_;
  uint64_t have_ = 0;     // bytes of the file that are right so far
  uint64_t counted_ = 0;  // of them, added to num_bytes_done_
};

// All files of one revision, several at a time.
class ModelDownload {
 public:
  ModelDownload(const std::string& model_id, const RemoteModel& model,
                const std::string& repo_folder, const HubOptions& options,
                const HubEnvironment& environment)
      : model_id_(model_id),
        model_(model),
        repo_(repo_folder),
        snapshot_(JoinPath(repo_folder, StrCat("snapshots/", model.commit))),
        locks_(JoinPath(ParentPath(repo_folder), StrCat(".locks/", BaseName(repo_folder)))),
        options_(options),
        environment_(environment) {
    for (const RemoteFile& file : model.files) num_bytes_total_ += file.num_bytes;
  }

  Result<std::string> Run() {
    for (const std::string& folder : {JoinPath(repo_, "blobs"), snapshot_, locks_}) {
      DI_RETURN_IF_ERROR(environment_.fs.CreateDirectories(folder));
    }
    DI_RETURN_IF_ERROR(CheckRoom());
    std::vector<std::thread> workers;
    const auto num_files = static_cast<int32_t>(model_.files.size());
    num_workers_ = std::clamp(options_.num_parallel, 1, std::max(1, num_files));
    num_running_ = num_workers_;
    for (int32_t i = 0; i < num_workers_; ++i) workers.emplace_back([this] { Work(); });
    ReportUntilDone();
    for (std::thread& worker : workers) worker.join();
    DI_RETURN_IF_ERROR(failure_);
    return snapshot_;
  }

 private:
  std::string BlobPath(const RemoteFile& file) const {
    return JoinPath(repo_, StrCat("blobs/", file.etag()));
  }

  bool HasBlob(const RemoteFile& file) const {
    const Result<FileInfo> info = environment_.fs.Stat(BlobPath(file));
    return info.ok() && info->num_bytes == file.num_bytes;
  }

  // Refuses before the first byte when the disk can't hold what is missing.
  Status CheckRoom() {
    uint64_t missing = 0;
    for (const RemoteFile& file : model_.files) {
      if (HasBlob(file)) continue;
      const Result<FileInfo> partial = environment_.fs.Stat(BlobPath(file) + ".incomplete");
      const uint64_t have = partial.ok() ? std::min(partial->num_bytes, file.num_bytes) : 0;
      missing += file.num_bytes - have;
    }
    if (missing == 0) return OkStatus();
    DI_ASSIGN_OR_RETURN(const uint64_t free, environment_.fs.FreeBytes(repo_));
    if (free >= missing && free - missing >= kSpareBytes) return OkStatus();
    return ResourceExhausted(StrCat("model ", model_id_, ": the download needs ",
                                    HumanBytes(missing), " at ", repo_, ", the disk has ",
                                    HumanBytes(free), " free; HF_HUB_CACHE names another place"));
  }

  void Work() {
    while (!cancelled_) {
      const size_t idx = next_file_++;
      if (idx >= model_.files.size()) break;
      const Status status = Fetch(model_.files[idx]);
      if (status.ok()) {
        ++num_files_done_;
        continue;
      }
      const std::lock_guard lock(mutex_);
      // What others say after the first failure follows from it.
      if (failure_.ok()) failure_ = status.WithContext(StrCat("model ", model_id_));
      cancelled_ = true;
    }
    const std::lock_guard lock(mutex_);
    --num_running_;
    done_.notify_all();
  }

  Status Fetch(const RemoteFile& file) {
    const std::string blob = BlobPath(file);
    if (HasBlob(file)) {
      num_bytes_done_ += file.num_bytes;
    } else {
      DI_ASSIGN_OR_RETURN(const std::unique_ptr<FileLock> lock,
                          environment_.fs.Lock(JoinPath(locks_, StrCat(file.etag(), ".lock")),
                                               options_.lock_timeout));
      if (HasBlob(file)) {  // another process was faster
        num_bytes_done_ += file.num_bytes;
      } else {
        const std::string url =
            StrCat(options_.endpoint, "/", model_id_, "/resolve/", model_.commit, "/", file.path);
        const std::string incomplete = blob + ".incomplete";
        DI_RETURN_IF_ERROR(
            FileDownload(url, file, incomplete, options_, environment_, num_bytes_done_, cancelled_)
                .Run());
        DI_RETURN_IF_ERROR(environment_.fs.Rename(incomplete, blob));
      }
    }
    return Link(file);
  }

  // snapshots/<commit>/<file> -> ../../blobs/<etag>, replacing what is there.
  Status Link(const RemoteFile& file) {
    const std::string target = StrCat("../../blobs/", file.etag());
    const std::string link = JoinPath(snapshot_, file.path);
    const Result<std::string> existing = environment_.fs.ReadSymlink(link);
    if (existing.ok() && *existing == target) return OkStatus();
    if (environment_.fs.StatLink(link).ok()) DI_RETURN_IF_ERROR(environment_.fs.Remove(link));
    const Status status = environment_.fs.CreateSymlink(target, link);
    // Two processes may link at once; either's link is right.
    const Result<std::string> now = environment_.fs.ReadSymlink(link);
    return now.ok() && *now == target ? OkStatus() : status;
  }

  void ReportUntilDone() {
    std::unique_lock lock(mutex_);
    while (num_running_ > 0) {
      done_.wait_for(lock, kProgressInterval, [this] { return num_running_ == 0; });
      if (!environment_.on_progress) continue;
      lock.unlock();
      environment_.on_progress({num_bytes_done_, num_bytes_total_, num_files_done_,
                                static_cast<int32_t>(model_.files.size())});
      lock.lock();
    }
  }

  const std::string& model_id_;
  const RemoteModel& model_;
  const std::string& repo_;
  const std::string snapshot_;
  const std::string locks_;
  const HubOptions& options_;
  const HubEnvironment& environment_;
  uint64_t num_bytes_total_ = 0;
  int32_t num_workers_ = 1;

  std::atomic<size_t> next_file_{0};
  std::atomic<uint64_t> num_bytes_done_{0};
  std::atomic<int32_t> num_files_done_{0};
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  std::condition_variable done_;
  int32_t num_running_ = 0;  // under mutex_
  Status failure_;           // under mutex_; the first one
};

}  // namespace

Result<std::string> DownloadModel(const std::string& model_id, const RemoteModel& model,
                                  const std::string& repo_folder, const HubOptions& options,
                                  const HubEnvironment& environment) {
  return ModelDownload(model_id, model, repo_folder, options, environment).Run();
}

}  // namespace deepinfer::hub
