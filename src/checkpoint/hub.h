// Finds a checkpoint: a folder stays as it is; a model id is looked up in the Hugging Face cache and, if it is not there, downloaded
// into it.
//
// The cache has the public layout, so that other programs share it:
//   <cache>/models--<org>--<name>/blobs/<etag>                 content, named by sha256 (large) or git blob id (small)
//   .../snapshots/<commit>/<file> -> ../../blobs/<etag>        one folder a revision
//   .../refs/<revision>                                        the commit of a revision; written when its snapshot is complete
//   <cache>/.locks/models--<org>--<name>/<etag>.lock
// A partial file is blobs/<etag>.incomplete; a later run, of whatever process, goes on where it ends.
//
// Threading: functions are thread-safe; two processes that want the same file wait for each other.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/file_system.h"
#include "base/http_client.h"
#include "deepinfer/status.h"

namespace deepinfer {

// The model of the project, which DEEPINFER_HF_MODEL_DIR names a local copy of.
inline constexpr std::string_view kDefaultModelId = "deepseek-ai/DeepSeek-V4.1-Flash-1017";

struct HubOptions {
  std::string cache_dir;  // HF_HUB_CACHE, else HF_HOME/hub, else ~/.cache/huggingface/hub
  std::string endpoint = "https://huggingface.co";  // HF_ENDPOINT
  std::string token;                                // HF_TOKEN; sent to the endpoint's origin only
  bool offline = false;                             // HF_HUB_OFFLINE: the cache or nothing
  std::string local_model_dir;                      // DEEPINFER_HF_MODEL_DIR

  int32_t num_parallel = 4;                      // files at a time
  int32_t max_attempts = 6;                      // of one file without a new byte
  std::chrono::milliseconds first_backoff{500};  // doubles with each attempt, at most 30 s
  std::chrono::milliseconds lock_timeout{
      3'600'000};  // how long another process may take with a file
};

// Reads the variables above through `get` (a std::getenv); kInvalidArgument names a variable that makes no sense.
Result<HubOptions> HubOptionsFromEnvironment(const std::function<const char*(const char*)>& get);

// How far a download is.
struct HubProgress {
  uint64_t num_bytes_done = 0;
  uint64_t num_bytes_total = 0;
  int32_t num_files_done = 0;
  int32_t num_files_total = 0;
};

// What ResolveModel works with; a test replaces parts.
struct HubEnvironment {
  FileSystem& fs;
  HttpClient& http;
  Clock& clock;
  // Called on the caller's thread, several times a second while something is downloaded; may be empty.
  std::function<void(const HubProgress&)> on_progress;
};

// The folder of a model.  `model` is a folder, or an id "org/name", optionally "org/name@revision".  In this order: an existing folder;
// local_model_dir for the default id; the cache, when the revision's snapshot is complete (no network); download.
//   kInvalidArgument    neither a folder nor an id
//   kNotFound           no such model or revision, or it is not in the cache and offline is set
//   kUnauthenticated    the hub wants a token, or another one
//   kResourceExhausted  the disk has no room; checked before the first byte
//   kDataLoss           a file has the wrong size or checksum, twice
//   kUnavailable        the hub does not answer
Result<std::string> ResolveModel(const std::string& model, const HubOptions& options,
                                 const HubEnvironment& environment);

// Whether a snapshot folder has config.json, tokenizer.json and every shard that its index names.
bool IsCompleteSnapshot(FileSystem& fs, const std::string& folder);

}  // namespace deepinfer
