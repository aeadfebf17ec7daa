#include "base/temp_dir.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/check.h"

namespace deepinfer {

TempDir::TempDir() {
  path_ = std::filesystem::temp_directory_path() / "deepinfer-XXXXXX";
  DI_CHECK(mkdtemp(path_.data()) != nullptr, "path=", path_);
}

TempDir::~TempDir() {
  std::error_code ignored;  // a leftover in the temporary folder is not worth a crash
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace deepinfer
