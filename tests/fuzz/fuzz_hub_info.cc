// The hub's answer about a model, from arbitrary bytes: no file name may leave the cache folder and no
// digest may be anything but hexadecimal, for both become paths.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/strings.h"
#include "checkpoint/hub_download.h"
#include "fuzz_check.h"

namespace {

bool IsHex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto model = deepinfer::hub::ParseModelInfo({reinterpret_cast<const char*>(data), size});
  if (!model.ok()) return 0;
  FUZZ_CHECK(!model->commit.empty() && IsHex(model->commit));
  for (const auto& file : model->files) {
    FUZZ_CHECK(!file.path.empty() && file.path.front() != '/');
    for (const std::string_view part : deepinfer::StrSplit(file.path, '/')) {
      FUZZ_CHECK(!part.empty() && part != "." && part != "..");
    }
    FUZZ_CHECK(file.path.find('\0') == std::string::npos);
    FUZZ_CHECK(!file.etag().empty() && IsHex(file.etag()));
  }
  return 0;
}
