// Configs for the model's unit tests.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include "model/model_config.h"

namespace deepinfer::model::testing {

// The text of a file below the source tree; empty when there is none.
inline std::string ReadSourceFile(const std::string& path) {
  std::ifstream in(std::string(DI_SOURCE_DIR) + "/" + path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// The random checkpoint with every kind of layer: tests/fixtures/branches.
inline std::string BranchesConfigText() {
  return ReadSourceFile("tests/fixtures/branches/config.json");
}

// The sizes of the released checkpoint.
inline ModelConfig ReleasedConfig() {
  ModelConfig c;
  c.eos_token_id = {1};
  c.vocab_size = 129280;
  c.hidden_size = 5120;
  c.num_hidden_layers = 40;
  c.max_position_embeddings = 1048576;
  c.num_attention_heads = 64;
  c.head_dim = 512;
  c.qk_rope_head_dim = 64;
  c.q_lora_rank = 1280;
  c.o_groups = 8;
  c.o_lora_rank = 1024;
  c.sliding_window = 128;
  c.rope_scaling = RopeScaling{
      .factor = 16, .beta_fast = 32, .beta_slow = 1, .original_max_position_embeddings = 65536};
  c.compress_ratios.assign(40, 1);
  for (int32_t l = 0; l < 20; ++l) c.compress_ratios[l] = l < 2 ? 0 : 2;
  c.kv_source_layer_ids = c.index_k_source_layer_ids = {2, 8, 14, 20};
  c.index_source_layer_ids = {2, 8, 14, 20, 24, 28, 32, 36};
  c.candidate_source_layer_id = 20;
  c.engram_layer_ids = {1, 14};
  c.engram_num_embeddings = {384006168, 384016682};
  return c;
}

}  // namespace deepinfer::model::testing
