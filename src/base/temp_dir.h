// A folder for one test, removed with everything in it at the end.
//
// Ownership: owns the folder.  Threading: thread-compatible.
#pragma once

#include <string>
#include <string_view>

namespace deepinfer {

class TempDir {
 public:
  TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir();

  const std::string& path() const { return path_; }
  // "<folder>/<name>".
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

}  // namespace deepinfer
