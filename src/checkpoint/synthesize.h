// Makes a checkpoint of random weights in the released format, from a config.json, at any dimensions; for
// benchmarks and for tests at sizes that no published checkpoint has.
//
// The values have the spread of a trained model's (model.md 22) and go through the engine's own quantisers,
// so every kernel meets realistic codes and scales.  A weight is a pure function of seed, name and position:
// the same bytes on any number of threads and in any sharding.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/file_system.h"
#include "deepinfer/status.h"

namespace deepinfer::checkpoint {

struct SynthesizeOptions {
  uint64_t seed = 0;
  uint64_t max_shard_bytes = uint64_t{5} << 30;
  int32_t num_threads = 0;  // 0: one for each core
  // Called by the calling thread a few times a second, and once at the end; may be empty.
  std::function<void(uint64_t done_bytes, uint64_t total_bytes)> progress;
};

struct SynthesizeSummary {
  int64_t num_tensors = 0;
  int64_t num_shards = 0;
  uint64_t num_bytes = 0;
};

// Writes shards, index and config.json into `folder` (made when absent).  `config_json` must hold what
// TextInventory reads; the caller validates the rest, e.g. that engram_num_embeddings fits the primes.
// Draft layers come with num_nextn_predict_layers > 0; vision tensors are not made, so a config with a
// vision_config is refused as kUnimplemented.
// Room on the disk is checked before the first byte.  After a failure no checkpoint is left behind.
Result<SynthesizeSummary> Synthesize(FileSystem& fs, std::string_view config_json,
                                     const std::string& folder, const SynthesizeOptions& options);

// Fills `out` with elements [first, first + out.size()) of the endless sequence of N(0, 1) draws named by
// (seed, stream).  Values are the centres of 65,536 equally likely cells: within +-4.33.
void FillNormal(uint64_t seed, uint64_t stream, uint64_t first, std::span<float> out);

}  // namespace deepinfer::checkpoint
