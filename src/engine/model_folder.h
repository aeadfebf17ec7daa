// Where the checkpoint lies that a user named, or did not.
//
// Threading: thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/file_system.h"
#include "deepinfer/status.h"

namespace deepinfer::engine {

struct ModelFolder {
  std::string path;
  bool is_builtin =
      false;  // nobody named a model: this is the small one that comes with the program
};

// `model` is a folder, a hub id (looked up in the cache and downloaded when it is not there, with
// progress on stderr), or empty for the built-in model.  kNotFound lists where the built-in model
// was looked for; else see checkpoint/hub.h.
Result<ModelFolder> FindModelFolder(const std::string& model);

// Folders that may hold the built-in model, in the order in which they are tried: beside this binary
// as installed, as part of the Python package, in the source tree of this build.
std::vector<std::string> BuiltinModelFolders();

// The first of `candidates` that has a config.json.
Result<ModelFolder> FirstModelFolder(FileSystem& fs, const std::vector<std::string>& candidates);

}  // namespace deepinfer::engine
