// checkpoint::ParseIndex against arbitrary bytes: what it accepts stays inside its folder.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "checkpoint/checkpoint.h"
#include "fuzz_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto index = deepinfer::checkpoint::ParseIndex({reinterpret_cast<const char*>(data), size});
  if (!index.ok()) {
    FUZZ_CHECK(!index.status().message().empty());
    return 0;
  }
  FUZZ_CHECK(!index->entries.empty() && std::ranges::is_sorted(index->shards));
  for (const std::string& shard : index->shards) {
    FUZZ_CHECK(!shard.empty() && shard != "." && shard != "..");
    FUZZ_CHECK(shard.find('/') == std::string::npos && shard.find('\0') == std::string::npos);
  }
  for (const auto& entry : index->entries) {
    FUZZ_CHECK(entry.shard_idx < index->shards.size());
    (void)deepinfer::checkpoint::CanonicalName(entry.tensor);
  }
  return 0;
}
