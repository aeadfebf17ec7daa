// Frequency tables of the rotary embeddings (model.md 5).
//
// Pair i of a head's trailing channels turns by position * freq[i].  Layers with ratio 0 use the
// main table, all others the compress table, which YaRN stretches where the checkpoint says so.
// cos and sin are never scaled.
#pragma once

#include <vector>

#include "model/model_config.h"

namespace deepinfer::model {

// [qk_rope_head_dim / 2] each.  The values are exact to the last bit: one unit in the last place of
// the second frequency is 0.06 rad at position 2^20.
struct RopeTables {
  std::vector<float> main;
  std::vector<float> compress;
};

RopeTables MakeRopeTables(const ModelConfig& config);

}  // namespace deepinfer::model
