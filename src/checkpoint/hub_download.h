// The download half of hub.h: one revision's files into the cache.  Internal to the library.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/hub.h"

namespace deepinfer::hub {

// One file of a revision, as the hub describes it.
struct RemoteFile {
  std::string path;     // relative, without "..", checked
  std::string blob_id;  // git blob id, 40 hex digits
  std::string sha256;   // of large files, 64 hex digits; else ""
  uint64_t num_bytes = 0;

  // The name in blobs/: what the hub sends as ETag.
  const std::string& etag() const { return sha256.empty() ? blob_id : sha256; }
};

// A revision and the files of it that a checkpoint needs.
struct RemoteModel {
  std::string commit;
  std::vector<RemoteFile> files;
};

// Asks the hub for the files of `model_id` at `revision`.
Result<RemoteModel> FetchModelInfo(const std::string& model_id, const std::string& revision,
                                   const HubOptions& options, const HubEnvironment& environment);

// Takes apart the hub's answer; refuses names and digests that could leave the cache folder.
Result<RemoteModel> ParseModelInfo(std::string_view body);

// Brings all files into `repo_folder` (…/models--org--name) and links them into its snapshot.  Returns the snapshot folder.
Result<std::string> DownloadModel(const std::string& model_id, const RemoteModel& model,
                                  const std::string& repo_folder, const HubOptions& options,
                                  const HubEnvironment& environment);

// GET with up to ten redirects.  The token goes to the endpoint's origin only.
Status GetFollowing(const std::string& url, const std::string& range, const HubOptions& options,
                    const HubEnvironment& environment, const HttpReceiver& receiver);

// The Status that stands for an HTTP status of the hub which is not success.
Status StatusOfHttp(int32_t http_status, const std::string& what, bool has_token);

}  // namespace deepinfer::hub
