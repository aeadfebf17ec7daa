#include "engine/model_folder.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/http_client.h"
#include "base/progress.h"
#include "base/strings.h"
#include "checkpoint/hub.h"

namespace deepinfer::engine {
namespace {

constexpr const char* kBuiltinName = "DeepSeek-V4.1-Tiny";

// The folder of the binary (program or shared library) that holds this function; empty when unknown.
std::filesystem::path BinaryFolder() {
  Dl_info info{};
  std::error_code error;
  std::filesystem::path file;
  if (dladdr(reinterpret_cast<void*>(&BinaryFolder), &info) != 0 && info.dli_fname != nullptr) {
    file = std::filesystem::canonical(info.dli_fname, error);
  }
  // A program that was found through PATH is known to the loader by its bare name only.
  if (error || file.empty()) file = std::filesystem::canonical("/proc/self/exe", error);
  return error ? std::filesystem::path() : file.parent_path();
}

}  // namespace

std::vector<std::string> BuiltinModelFolders() {
  std::vector<std::string> folders;
  const std::filesystem::path here = BinaryFolder();
  if (!here.empty()) {
    // From <prefix>/bin; from <prefix>/lib/python3.x/site-packages/deepinfer; from a folder to unpack.
    for (const char* parent :
         {"../share/deepinfer/models", "../../../../share/deepinfer/models", "models"}) {
      folders.push_back((here / parent / kBuiltinName).lexically_normal().string());
    }
  }
#ifdef DI_BUILTIN_MODELS_DIR
  folders.push_back(StrCat(DI_BUILTIN_MODELS_DIR, "/", kBuiltinName));
#endif
  return folders;
}

Result<ModelFolder> FirstModelFolder(FileSystem& fs, const std::vector<std::string>& candidates) {
  for (const std::string& folder : candidates) {
    if (fs.Stat(folder + "/config.json").ok()) return ModelFolder{folder, true};
  }
  return NotFound(StrCat("the built-in model ", kBuiltinName, " is in none of: ",
                         StrJoin(candidates, ", "), "; name a checkpoint folder or a model id"));
}

Result<ModelFolder> FindModelFolder(const std::string& model) {
  if (model.empty()) return FirstModelFolder(PosixFileSystem(), BuiltinModelFolders());
  DI_ASSIGN_OR_RETURN(const HubOptions options,
                      HubOptionsFromEnvironment([](const char* name) -> const char* {
                        return std::getenv(name);  // NOLINT: before threads that change it
                      }));
  const std::unique_ptr<HttpClient> http = CreateHttpClient();
  RealClock clock;
  std::optional<ProgressLine> line;
  const HubEnvironment environment{
      .fs = PosixFileSystem(),
      .http = *http,
      .clock = clock,
      .on_progress = [&line](const HubProgress& progress) {
        if (!line.has_value()) line.emplace("downloading");
        line->Update(progress.num_bytes_done, progress.num_bytes_total,
                     StrCat(progress.num_files_done, "/", progress.num_files_total, " files"));
      }};
  DI_ASSIGN_OR_RETURN(std::string path, ResolveModel(model, options, environment));
  return ModelFolder{.path = std::move(path)};
}

}  // namespace deepinfer::engine
