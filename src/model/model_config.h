// ModelConfig: what config.json says about a V4.1 checkpoint, checked, with the facts of each layer
// that follow from it.
//
// Fields keep the checkpoint's own spelling, so that the struct can be held against the file.  The
// file nests them under text_config and vision_config; here the text fields stand at the top.
// Keys that the engine doesn't know are ignored; a key that it knows is either followed or refused
// by name (model.md 1).
//
// Threading: values; thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/status.h"

namespace deepinfer::model {

// text_config.rope_scaling.  Applies to compressed layers only (model.md 5).
struct RopeScaling {
  double factor = 1;
  double beta_fast = 32;
  double beta_slow = 1;
  int64_t original_max_position_embeddings = 0;
};

// vision_config (vision.md 1).  Kept for the vision encoder; the text model doesn't read it.
struct VisionConfig {
  int32_t num_hidden_layers = 0;
  int32_t hidden_size = 0;
  int32_t num_attention_heads = 0;
  int32_t intermediate_size = 0;
  int32_t patch_size = 0;
  double rope_theta = 10000;
  int32_t downsample_ratio = 0;
  int32_t max_image_tokens = 0;
  int64_t min_pixels = 0;
  std::optional<double> max_wh_ratio;  // absent: no cap
};

// Defaults are those of model.md 1.2.  A parsed config has passed every check of 1.4, every size is
// positive and bounded, so that no byte count of a tensor or cache made from them overflows int64.
struct ModelConfig {
  // Top level.
  int32_t bos_token_id = 0;
  std::vector<int32_t> eos_token_id;  // one or more; any of them ends a text
  int32_t pad_token_id = 2;
  std::optional<int32_t> image_token_id;  // raw id at every position of an image span

  // text_config: sizes.
  int32_t vocab_size = 0;
  int32_t hidden_size = 0;
  int32_t num_hidden_layers = 0;  // backbone layers only
  int32_t max_position_embeddings = 0;
  float rms_norm_eps = 1e-20f;

  // Attention.
  int32_t num_attention_heads = 0;
  int32_t head_dim = 0;          // width of a head and of the shared key-value latent
  int32_t qk_rope_head_dim = 0;  // trailing channels of a head that rotate
  int32_t q_lora_rank = 0;
  int32_t o_groups = 0;
  int32_t o_lora_rank = 0;              // of each group
  int32_t sliding_window = 0;           // counts the query itself
  double rope_theta = 10000;            // of layers with ratio 0
  double compress_rope_theta = 160000;  // of layers with ratio 1 and 2
  std::optional<RopeScaling> rope_scaling;

  // Compressed attention.
  // [num_hidden_layers]: 0, 1 or 2.  The file's entries for draft layers are checked and cut off.
  std::vector<int32_t> compress_ratios;
  std::vector<int32_t> kv_source_layer_ids;  // ascending, like the next two
  std::vector<int32_t> index_source_layer_ids;
  std::vector<int32_t> index_k_source_layer_ids;
  int32_t candidate_source_layer_id = -1;  // -1: no candidate blocks
  int32_t candidate_topk_blocks = 2048;
  int32_t candidate_block_size = 8;
  int32_t index_n_heads = 32;
  int32_t index_head_dim = 128;
  int32_t index_topk = 512;
  bool use_fp4_sparse_kv = true;  // false: main records are fp8

  // Mixture of experts; every layer has one.
  int32_t n_routed_experts = 384;
  int32_t num_experts_per_tok = 6;
  int32_t n_shared_experts = 1;  // one expert of n_shared_experts * moe_intermediate_size
  int32_t moe_intermediate_size = 2304;
  float gate_temp = 1;
  float routed_scaling_factor = 1.5f;
  float swiglu_limit = 10;  // <= 0: no clamp

  // Hyper-connections.
  int32_t hc_mult = 4;
  int32_t hc_sinkhorn_iters = 20;
  float hc_eps = 1e-6f;

  // Engram.
  std::vector<int32_t> engram_layer_ids;       // in the file's order: it decides the primes
  std::vector<int64_t> engram_num_embeddings;  // table rows, same order
  int64_t engram_vocab_size = 16000000;
  int32_t engram_max_ngram_size = 4;
  int32_t engram_n_heads = 8;
  int32_t engram_head_dim = 256;
  int32_t engram_pad_token_id = 2;
  int32_t engram_compressed_vocab_size = 99092;

  // Draft layers (dspark.md 2).  0 layers: the checkpoint has none.
  int32_t num_nextn_predict_layers = 0;
  int32_t dspark_block_size = 0;
  int32_t dspark_noise_token_id = 0;
  std::vector<int32_t> dspark_target_layer_ids;
  int32_t dspark_markov_rank = 0;
  int32_t dspark_n_routed_experts = 0;
  int32_t dspark_num_experts_per_tok = 0;

  std::optional<VisionConfig> vision_config;

  // Derived facts of layer l in [0, num_hidden_layers) (model.md 1.3).

  int32_t ratio(int32_t l) const { return compress_ratios[l]; }
  // The layer whose compressed entries, top-k selection or index keys layer l reads.  Defined for
  // ratio(l) > 0, else -1.
  int32_t kv_source(int32_t l) const;
  int32_t index_source(int32_t l) const;
  int32_t index_k_source(int32_t l) const;
  bool is_kv_source(int32_t l) const;
  bool is_index_source(int32_t l) const;
  bool owns_index_k(int32_t l) const;
  bool uses_candidates(int32_t l) const {
    return candidate_source_layer_id >= 0 && l > candidate_source_layer_id && is_index_source(l);
  }
  // Position of l in engram_layer_ids, or -1.
  int32_t engram_idx(int32_t l) const;
  // First layer with ratio 1, or num_hidden_layers: layers from here on are the decoder half.
  int32_t boundary_layer() const;

  // Table rows that one token looks up in one engram layer.
  int32_t engram_rows_per_token() const { return (engram_max_ngram_size - 1) * engram_n_heads; }
  int32_t shared_intermediate_size() const { return n_shared_experts * moe_intermediate_size; }
};

// Parses and checks the text of a config.json.  kInvalidArgument is one sentence that names the key
// with its path, the value found and what was expected; the first fault found is reported.
Result<ModelConfig> ParseModelConfig(std::string_view json_text);

// The checks that don't depend on the file's spelling (model.md 1.4, sizes and limits); run by
// ParseModelConfig.  For configs that a program made.
Status ValidateModelConfig(const ModelConfig& config);

// generation_config.json: defaults of sampling that the checkpoint proposes (model.md 1.5).
struct GenerationConfig {
  int32_t bos_token_id = 0;
  std::vector<int32_t> eos_token_id;
  int32_t pad_token_id = 2;
  bool do_sample = true;
  double temperature = 1;
  double top_p = 1;
  std::optional<int32_t> top_k;  // absent: no limit
};

// Missing keys fall back to `config` and to the defaults above.  `json_text` is empty when the file
// does not exist.
Result<GenerationConfig> ParseGenerationConfig(std::string_view json_text,
                                               const ModelConfig& config);

}  // namespace deepinfer::model
