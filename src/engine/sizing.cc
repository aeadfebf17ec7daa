#include "engine/sizing.h"

#include <algorithm>

#include "base/strings.h"

namespace deepinfer::engine {
namespace {

// The default cache takes at most this share of the device's memory.
constexpr int64_t kMemoryShare = 8;

// Slots beyond the running sequences: those of sequences that ended while a step still writes them.
int32_t NumStateSlots(int32_t max_num_seqs) { return 1 + max_num_seqs + (max_num_seqs + 4) / 5; }

// Rows with logits: one for each sequence, and some for prompt log-probabilities.
int32_t NumLogitRows(const EngineConfig& config) {
  constexpr int32_t kForPrompts = 32;
  return std::min(std::max(config.max_num_seqs, kForPrompts), config.max_num_batched_tokens);
}

}  // namespace

Result<EngineSizes> ComputeSizes(const EngineConfig& config, const ModelFacts& facts) {
  if (config.max_model_len > facts.max_position_embeddings) {
    return InvalidArgument(StrCat("max_model_len: expected at most ", facts.max_position_embeddings,
                                  " (the checkpoint's max_position_embeddings), got ",
                                  config.max_model_len));
  }
  const int32_t wanted_len =
      config.max_model_len > 0 ? config.max_model_len : facts.max_position_embeddings;
  const int64_t blocks_of_one = (int64_t{wanted_len} + facts.block_size - 1) / facts.block_size;
  const int64_t blocks_of_all = blocks_of_one * config.max_num_seqs;

  int64_t num_usable = config.num_kv_blocks;
  if (num_usable == 0) {
    if (facts.block_bytes == 0) {
      num_usable = blocks_of_all;
    } else if (config.kv_cache_bytes > 0) {
      num_usable = config.kv_cache_bytes / facts.block_bytes - 1;
    } else {
      const int64_t room = facts.device_memory_bytes / kMemoryShare / facts.block_bytes - 1;
      num_usable = std::min(blocks_of_all, room);
    }
  }
  num_usable = std::min<int64_t>(num_usable, (1 << 30) - 1);
  if (num_usable < 1) {
    return InvalidArgument(StrCat("kv_cache_bytes: expected room for two blocks of ",
                                  facts.block_bytes, " bytes, got ", config.kv_cache_bytes));
  }
  const int64_t max_len_of_blocks = num_usable * facts.block_size;
  if (wanted_len > max_len_of_blocks && config.max_model_len > 0) {
    return InvalidArgument(StrCat("max_model_len: expected at most ", max_len_of_blocks,
                                  " tokens with ", num_usable, " cache blocks, got ",
                                  config.max_model_len));
  }
  EngineSizes sizes;
  sizes.max_model_len = static_cast<int32_t>(std::min<int64_t>(wanted_len, max_len_of_blocks));
  sizes.is_len_bounded_by_blocks = sizes.max_model_len < wanted_len;
  sizes.num_blocks = static_cast<int32_t>(num_usable) + 1;
  sizes.num_state_slots = NumStateSlots(config.max_num_seqs);
  sizes.max_num_logit_rows = NumLogitRows(config);
  return sizes;
}

}  // namespace deepinfer::engine
