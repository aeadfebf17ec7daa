// Runs a fuzz target without libFuzzer: over every file of the folders and files named on the command line,
// and over cheap mutations of the small ones: every prefix, and every byte replaced by a few others.
//
// A target fails by crashing.  No file at all is a failure too: it would test nothing.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr size_t kMaxMutatedBytes = 1024;  // mutations cost the square of the size
constexpr char kReplacements[] = {'\0', '"', '\\', '{', ']', ',', '9', '-', '\x7f', '\xff'};

int64_t num_runs = 0;

void RunOne(const std::string& bytes) {
  ++num_runs;
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

void RunFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  RunOne(bytes);
  if (bytes.size() > kMaxMutatedBytes) return;
  for (size_t size = 0; size < bytes.size(); ++size) RunOne(bytes.substr(0, size));
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string mutated = bytes;
    for (const char replacement : kReplacements) {
      mutated[i] = replacement;
      RunOne(mutated);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    if (std::filesystem::is_directory(argv[i])) {
      for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
        files.push_back(entry.path());
      }
    } else {
      files.emplace_back(argv[i]);
    }
  }
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files) RunFile(file);
  std::printf("%zu files, %lld runs\n", files.size(), static_cast<long long>(num_runs));
  return files.empty() ? 1 : 0;
}
