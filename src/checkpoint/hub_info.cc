// What the hub says about a revision, and how its answers are read.
#include <algorithm>

#include "base/json.h"
#include "base/strings.h"
#include "checkpoint/hub_download.h"

namespace deepinfer::hub {
namespace {

constexpr int32_t kMaxRedirects = 10;
constexpr size_t kMaxInfoBytes = size_t{64} << 20;
constexpr size_t kMaxFiles = 10'000;

bool IsHex(std::string_view text, size_t size) {
  return text.size() == size &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// A plain name at the top of the repository.
bool IsPlainFileName(std::string_view path) {
  return !path.empty() && path.size() <= 255 && path.front() != '.' &&
         path.find_first_of(std::string_view("/\\\0%?#", 6)) == std::string_view::npos;
}

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

Result<RemoteFile> ParseFile(const json::Cursor& sibling) {
  RemoteFile file;
  DI_ASSIGN_OR_RETURN(file.path, sibling.Read<std::string>("rfilename"));
  DI_ASSIGN_OR_RETURN(file.blob_id, sibling.ReadOr<std::string>("blobId", ""));
  DI_ASSIGN_OR_RETURN(file.num_bytes, sibling.ReadOr<uint64_t>("size", 0));
  DI_ASSIGN_OR_RETURN(const auto lfs, sibling.Find("lfs"));
  if (lfs.has_value()) {
    DI_ASSIGN_OR_RETURN(file.sha256, lfs->Read<std::string>("sha256"));
    DI_ASSIGN_OR_RETURN(file.num_bytes, lfs->ReadOr<uint64_t>("size", file.num_bytes));
    if (!IsHex(file.sha256, 64)) return lfs->Refuse("sha256: expected 64 hexadecimal digits");
  } else if (!IsHex(file.blob_id, 40)) {
    return sibling.Refuse("blobId: expected 40 hexadecimal digits");
  }
  return file;
}

}  // namespace

Status StatusOfHttp(int32_t http_status, const std::string& what, bool has_token) {
  switch (http_status) {
    case 401:
    case 403:
      return Unauthenticated(StrCat(
          what, ": the hub answered ", http_status,
          has_token ? "; HF_TOKEN has no access to it" : "; it may need a token in HF_TOKEN"));
    case 404:
      return NotFound(StrCat(what, ": the hub has no such model, revision or file"));
    default:
      return Unavailable(StrCat(what, ": expected HTTP 200, got ", http_status));
  }
}

Status GetFollowing(const std::string& url, const std::string& range, const HubOptions& options,
                    const HubEnvironment& environment, const HttpReceiver& receiver) {
  std::string current = url;
  for (int32_t hop = 0; hop <= kMaxRedirects; ++hop) {
    HttpRequest request{.url = current};
    if (!range.empty()) request.headers.emplace_back("Range", range);
    // Compressed bytes would fit neither the size nor the range.
    request.headers.emplace_back("Accept-Encoding", "identity");
    if (!options.token.empty() && OriginOf(current) == OriginOf(options.endpoint)) {
      request.headers.emplace_back("Authorization", StrCat("Bearer ", options.token));
    }
    std::string next;
    HttpReceiver one;
    one.on_head = [&](const HttpHead& head) {
      if (head.status >= 300 && head.status < 400 && head.status != 304) {
        next = std::string(head.Find("location"));
        return next.empty() ? Unavailable(StrCat(OriginOf(current), ": a redirect to nowhere"))
                            : OkStatus();
      }
      return receiver.on_head ? receiver.on_head(head) : OkStatus();
    };
    one.on_body = [&](std::string_view data) {
      if (!next.empty() || !receiver.on_body) return OkStatus();
      return receiver.on_body(data);
    };
    DI_RETURN_IF_ERROR(environment.http.Get(request, one));
    if (next.empty()) return OkStatus();
    next = ResolveUrl(current, next);
    if (OriginOf(next).empty()) {
      return Unavailable(
          StrCat(OriginOf(current), ": a redirect to something that is no http URL"));
    }
    current = next;
  }
  return Unavailable(StrCat(OriginOf(url), ": more than ", kMaxRedirects, " redirects"));
}

Result<RemoteModel> ParseModelInfo(std::string_view body) {
  DI_ASSIGN_OR_RETURN(const json::Value value, json::Parse(body));
  const json::Cursor root(value, "model info");
  RemoteModel model;
  DI_ASSIGN_OR_RETURN(model.commit, root.Read<std::string>("sha"));
  if (!IsHex(model.commit, 40)) return root.Refuse("sha: expected 40 hexadecimal digits");
  DI_ASSIGN_OR_RETURN(const json::Cursor siblings, root.Get("siblings"));
  DI_ASSIGN_OR_RETURN(const std::vector<json::Cursor> items, siblings.Items());
  if (items.size() > kMaxFiles) {
    return root.Refuse(StrCat("siblings: expected at most ", kMaxFiles, ", got ", items.size()));
  }
  for (const json::Cursor& item : items) {
    DI_ASSIGN_OR_RETURN(const std::string path, item.Read<std::string>("rfilename"));
    // Only what a checkpoint is made of; everything else may be named as it likes.
    if (!IsPlainFileName(path) || (!EndsWith(path, ".json") && !EndsWith(path, ".safetensors"))) {
      continue;
    }
    DI_ASSIGN_OR_RETURN(RemoteFile file, ParseFile(item));
    model.files.push_back(std::move(file));
  }
  if (model.files.empty()) {
    return NotFound("model info: expected .json and .safetensors files, got none");
  }
  return model;
}

Result<RemoteModel> FetchModelInfo(const std::string& model_id, const std::string& revision,
                                   const HubOptions& options, const HubEnvironment& environment) {
  const std::string url =
      StrCat(options.endpoint, "/api/models/", model_id, "/revision/", revision, "?blobs=true");
  const std::string what = StrCat("model ", model_id);
  Status status;
  auto backoff = options.first_backoff;
  for (int32_t attempt = 0; attempt < options.max_attempts; ++attempt) {
    if (attempt > 0) {
      environment.clock.SleepFor(backoff);
      backoff = std::min(backoff * 2, std::chrono::milliseconds(30'000));
    }
    std::string body;
    HttpReceiver receiver;
    receiver.on_head = [&](const HttpHead& head) {
      return head.status == 200 ? OkStatus()
                                : StatusOfHttp(head.status, what, !options.token.empty());
    };
    receiver.on_body = [&](std::string_view data) {
      if (body.size() + data.size() > kMaxInfoBytes) {
        return InvalidArgument(StrCat(what, ": the hub's description is too long"));
      }
      body += data;
      return OkStatus();
    };
    status = GetFollowing(url, "", options, environment, receiver);
    if (status.ok()) {
      Result<RemoteModel> model = ParseModelInfo(body);
      if (!model.ok()) return model.status().WithContext(what);
      return model;
    }
    const bool is_passing =
        status.code() == StatusCode::kUnavailable || status.code() == StatusCode::kDeadlineExceeded;
    if (!is_passing) return status;
  }
  return status;
}

}  // namespace deepinfer::hub
