// From options and facts of the model to the sizes of one engine: context, blocks, slots, rows.
//
// Threading: functions without state.
#pragma once

#include <cstdint>

#include "deepinfer/config.h"
#include "deepinfer/status.h"

namespace deepinfer::engine {

// What the sizes depend on beside the options.
struct ModelFacts {
  int32_t max_position_embeddings = 0;  // tokens that the checkpoint was made for
  int64_t block_bytes = 0;              // of the cache; 0 in a model without compressed layers
  int32_t block_size = 128;             // tokens
  int64_t device_memory_bytes = 0;
};

struct EngineSizes {
  int32_t max_model_len = 0;
  int32_t num_blocks = 0;          // block 0 included
  int32_t num_state_slots = 0;     // slot 0 included
  int32_t max_num_logit_rows = 0;  // of a step
  bool is_len_bounded_by_blocks =
      false;  // max_model_len is below the checkpoint's for lack of room
};

// A valid config.  kInvalidArgument when a length is asked for that the checkpoint or the blocks do
// not allow, naming both numbers.
Result<EngineSizes> ComputeSizes(const EngineConfig& config, const ModelFacts& facts);

}  // namespace deepinfer::engine
