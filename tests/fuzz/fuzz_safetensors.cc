// A safetensors file of arbitrary bytes: opened through the real path, as a file in memory.  Whatever opens
// has tensors that lie inside the file, apart from each other, and as large as they say.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/strings.h"
#include "checkpoint/safetensors.h"
#include "fuzz_check.h"

namespace {

namespace checkpoint = deepinfer::checkpoint;

void CheckFile(const checkpoint::SafetensorsFile& file) {
  std::vector<std::string_view> ranges;
  for (const checkpoint::TensorInfo& tensor : file.tensors()) {
    const std::string_view bytes = file.DataOf(tensor);
    FUZZ_CHECK(bytes.size() == tensor.num_bytes);
    if (!bytes.empty()) ranges.push_back(bytes);
    uint32_t sum = 0;
    for (const char c : bytes) sum += static_cast<uint8_t>(c);  // every byte can be read
    FUZZ_CHECK(sum <= 255 * bytes.size());
    const auto bits = checkpoint::BitsOfStoredDtype(tensor.dtype);
    if (!bits.has_value()) continue;
    int64_t num_elements = 1;
    for (const int64_t dim : tensor.shape) num_elements = dim == 0 ? 0 : num_elements * dim;
    FUZZ_CHECK(static_cast<uint64_t>(num_elements) * *bits == 8 * tensor.num_bytes ||
               tensor.num_bytes == 0);
    FUZZ_CHECK(!tensor.ToString().empty());
  }
  std::ranges::sort(ranges, {}, [](std::string_view r) { return r.data(); });
  for (size_t i = 1; i < ranges.size(); ++i) {
    FUZZ_CHECK(ranges[i - 1].data() + ranges[i - 1].size() <= ranges[i].data());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const int fd = memfd_create("fuzz", MFD_CLOEXEC);
  FUZZ_CHECK(fd >= 0 && write(fd, data, size) == static_cast<ssize_t>(size));
  const auto file = checkpoint::SafetensorsFile::Open(deepinfer::PosixFileSystem(),
                                                      deepinfer::StrCat("/proc/self/fd/", fd));
  if (file.ok()) CheckFile(*file);
  FUZZ_CHECK(close(fd) == 0);
  return 0;
}
