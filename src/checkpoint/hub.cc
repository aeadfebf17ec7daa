#include "checkpoint/hub.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/json.h"
#include "base/strings.h"
#include "checkpoint/hub_download.h"

namespace deepinfer {
namespace {

constexpr uint64_t kMaxIndexBytes = uint64_t{256} << 20;

bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= 96 && name.front() != '.' && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), IsNameChar) &&
         name.find("..") == std::string_view::npos && name.find("--") == std::string_view::npos;
}

struct ModelName {
  std::string id;  // "org/name"
  std::string revision = "main";
};

std::optional<ModelName> ParseModelName(std::string_view text) {
  ModelName name;
  if (const size_t at = text.find('@'); at != std::string_view::npos) {
    name.revision = std::string(text.substr(at + 1));
    text = text.substr(0, at);
    if (!IsName(name.revision)) return std::nullopt;
  }
  const std::vector<std::string_view> parts = StrSplit(text, '/');
  if (parts.size() != 2 || !IsName(parts[0]) || !IsName(parts[1])) return std::nullopt;
  name.id = std::string(text);
  return name;
}

std::string RepoFolder(const HubOptions& options, const ModelName& name) {
  std::string folder = "models--" + name.id;
  folder.replace(folder.find('/'), 1, "--");
  return JoinPath(options.cache_dir, folder);
}

bool IsCommit(std::string_view text) {
  return text.size() == 40 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// The complete snapshot of a revision in the cache, or nothing.
std::optional<std::string> FindInCache(const HubOptions& options, const ModelName& name,
                                       FileSystem& fs) {
  const std::string repo = RepoFolder(options, name);
  std::string commit = name.revision;
  if (!IsCommit(commit)) {
    const Result<std::string> ref =
        ReadFile(fs, JoinPath(repo, StrCat("refs/", name.revision)), 1024);
    if (!ref.ok()) return std::nullopt;
    commit = std::string(StrTrim(*ref));
    if (!IsCommit(commit)) return std::nullopt;
  }
  const std::string snapshot = JoinPath(repo, StrCat("snapshots/", commit));
  if (!IsCompleteSnapshot(fs, snapshot)) return std::nullopt;
  return snapshot;
}

Result<bool> ReadSwitch(std::string_view name, const char* value) {
  if (value == nullptr) return false;
  const std::string_view text = value;
  if (text == "1" || text == "ON" || text == "on" || text == "YES" || text == "yes" ||
      text == "TRUE" || text == "true" || text == "True") {
    return true;
  }
  if (text.empty() || text == "0" || text == "OFF" || text == "off" || text == "NO" ||
      text == "no" || text == "FALSE" || text == "false" || text == "False") {
    return false;
  }
  return InvalidArgument(StrCat(name, ": expected 0 or 1, got ", Quoted(text)));
}

}  // namespace

Result<HubOptions> HubOptionsFromEnvironment(const std::function<const char*(const char*)>& get) {
  const auto text = [&](const char* name) {
    const char* value = get(name);
    return std::string(value == nullptr ? "" : value);
  };
  HubOptions options;
  options.cache_dir = text("HF_HUB_CACHE");
  if (options.cache_dir.empty()) {
    std::string home = text("HF_HOME");
    if (home.empty()) {
      std::string cache = text("XDG_CACHE_HOME");
      if (cache.empty()) cache = JoinPath(text("HOME"), ".cache");
      home = JoinPath(cache, "huggingface");
    }
    options.cache_dir = JoinPath(home, "hub");
  }
  if (const std::string endpoint = text("HF_ENDPOINT"); !endpoint.empty()) {
    options.endpoint = endpoint;
    while (options.endpoint.back() == '/') options.endpoint.pop_back();
    if (OriginOf(options.endpoint).empty()) {
      return InvalidArgument(
          StrCat("HF_ENDPOINT: expected an http or https URL, got ", Quoted(endpoint)));
    }
  }
  options.token = text("HF_TOKEN");
  if (options.token.find_first_of("\r\n") != std::string::npos) {
    return InvalidArgument("HF_TOKEN: expected one line, got several");
  }
  DI_ASSIGN_OR_RETURN(options.offline, ReadSwitch("HF_HUB_OFFLINE", get("HF_HUB_OFFLINE")));
  options.local_model_dir = text("DEEPINFER_HF_MODEL_DIR");
  return options;
}

bool IsCompleteSnapshot(FileSystem& fs, const std::string& folder) {
  if (!Exists(fs, JoinPath(folder, "config.json")) ||
      !Exists(fs, JoinPath(folder, "tokenizer.json"))) {
    return false;
  }
  const std::string index = JoinPath(folder, "model.safetensors.index.json");
  if (!Exists(fs, index)) return Exists(fs, JoinPath(folder, "model.safetensors"));
  const Result<std::string> text = ReadFile(fs, index, kMaxIndexBytes);
  if (!text.ok()) return false;
  const Result<json::Value> value = json::Parse(*text);
  const json::Value* map = value.ok() ? value->Find("weight_map") : nullptr;
  if (map == nullptr || !map->is_object()) return false;
  std::vector<std::string_view> shards;
  for (const json::Member& member : map->members()) {
    const Result<std::string_view> shard = member.value.AsString();
    if (!shard.ok()) return false;
    shards.push_back(*shard);
  }
  std::sort(shards.begin(), shards.end());
  shards.erase(std::unique(shards.begin(), shards.end()), shards.end());
  return std::all_of(shards.begin(), shards.end(),
                     [&](std::string_view shard) { return Exists(fs, JoinPath(folder, shard)); });
}

Result<std::string> ResolveModel(const std::string& model, const HubOptions& options,
                                 const HubEnvironment& environment) {
  if (IsDirectory(environment.fs, model)) return model;
  const std::optional<ModelName> name = ParseModelName(model);
  if (!name.has_value()) {
    return InvalidArgument(StrCat(
        "model: expected an existing folder or a model id such as org/name, got ", Quoted(model)));
  }
  if (name->id == kDefaultModelId && !options.local_model_dir.empty()) {
    if (!IsDirectory(environment.fs, options.local_model_dir)) {
      return NotFound(StrCat("DEEPINFER_HF_MODEL_DIR: expected a folder, got ",
                             Quoted(options.local_model_dir)));
    }
    return options.local_model_dir;
  }
  if (std::optional<std::string> cached = FindInCache(options, *name, environment.fs)) {
    return *std::move(cached);
  }
  if (options.offline) {
    return NotFound(StrCat("model ", model, ": not in the cache ", options.cache_dir,
                           ", and HF_HUB_OFFLINE forbids a download"));
  }
  DI_ASSIGN_OR_RETURN(const hub::RemoteModel remote,
                      hub::FetchModelInfo(name->id, name->revision, options, environment));
  const std::string repo = RepoFolder(options, *name);
  DI_ASSIGN_OR_RETURN(std::string snapshot,
                      hub::DownloadModel(name->id, remote, repo, options, environment));
  if (!IsCompleteSnapshot(environment.fs, snapshot)) {
    return DataLoss(StrCat("model ", model,
                           ": expected config.json, tokenizer.json and all shards of the index, "
                           "got a revision without some of them"));
  }
  DI_RETURN_IF_ERROR(environment.fs.CreateDirectories(JoinPath(repo, "refs")));
  DI_RETURN_IF_ERROR(WriteFileAtomically(
      environment.fs, JoinPath(repo, StrCat("refs/", name->revision)), remote.commit));
  return snapshot;
}

}  // namespace deepinfer
