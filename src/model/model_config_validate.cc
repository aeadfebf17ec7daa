#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/strings.h"
#include "model/model_config.h"

namespace deepinfer::model {
namespace {

struct SizeLimit {
  std::string_view key;
  int64_t value;
  int64_t min, max;
};

Status CheckLimits(const std::vector<SizeLimit>& limits) {
  for (const SizeLimit& s : limits) {
    if (s.value < s.min || s.value > s.max) {
      return InvalidArgument(StrCat(s.key, ": expected ", s.min, "..", s.max, ", got ", s.value));
    }
  }
  return OkStatus();
}

// Limits far above any released size, low enough that no byte count of a tensor, cache or workspace
// overflows.
Status CheckSizes(const ModelConfig& c) {
  return CheckLimits({
      {"text_config.vocab_size", c.vocab_size, 1, 1 << 24},
      {"text_config.hidden_size", c.hidden_size, 1, 1 << 17},
      {"text_config.num_hidden_layers", c.num_hidden_layers, 1, 1024},
      // fp32 holds every position up to 2^24 exactly, and rotation needs it exact.
      {"text_config.max_position_embeddings", c.max_position_embeddings, 1, 1 << 24},
      {"text_config.num_attention_heads", c.num_attention_heads, 1, 1024},
      {"text_config.head_dim", c.head_dim, 1, 8192},
      {"text_config.qk_rope_head_dim", c.qk_rope_head_dim, 2, c.head_dim},
      {"text_config.q_lora_rank", c.q_lora_rank, 1, 1 << 17},
      {"text_config.o_groups", c.o_groups, 1, c.num_attention_heads},
      {"text_config.o_lora_rank", c.o_lora_rank, 1, 1 << 16},
      {"text_config.sliding_window", c.sliding_window, 1, 1 << 20},
      {"text_config.candidate_topk_blocks", c.candidate_topk_blocks, 1, 1 << 20},
      {"text_config.candidate_block_size", c.candidate_block_size, 1, 1 << 20},
      {"text_config.index_n_heads", c.index_n_heads, 1, 1024},
      {"text_config.index_head_dim", c.index_head_dim, 1, 8192},
      {"text_config.index_topk", c.index_topk, 1, 1 << 20},
      {"text_config.n_routed_experts", c.n_routed_experts, 1, 1 << 16},
      {"text_config.num_experts_per_tok", c.num_experts_per_tok, 1,
       std::min(c.n_routed_experts, 1024)},
      {"text_config.n_shared_experts", c.n_shared_experts, 1, 64},
      {"text_config.moe_intermediate_size", c.moe_intermediate_size, 1, 1 << 17},
      {"text_config.hc_mult", c.hc_mult, 1, 16},
      {"text_config.hc_sinkhorn_iters", c.hc_sinkhorn_iters, 1, 1000},
      {"text_config.num_nextn_predict_layers", c.num_nextn_predict_layers, 0, 64},
  });
}

Status CheckMultiple(std::string_view what, int64_t value, int64_t of) {
  if (value % of == 0) return OkStatus();
  return InvalidArgument(StrCat(what, ": expected a multiple of ", of, ", got ", value));
}

// Quantisation groups, heads and rotation pairs must come out even.
Status CheckDivisibility(const ModelConfig& c) {
  const int64_t heads_per_group = c.num_attention_heads / c.o_groups;
  DI_RETURN_IF_ERROR(CheckMultiple("text_config.num_attention_heads (with o_groups)",
                                   c.num_attention_heads, c.o_groups));
  DI_RETURN_IF_ERROR(CheckMultiple("text_config.hidden_size", c.hidden_size, 32));
  DI_RETURN_IF_ERROR(
      CheckMultiple("text_config.moe_intermediate_size", c.moe_intermediate_size, 32));
  DI_RETURN_IF_ERROR(CheckMultiple("text_config.q_lora_rank", c.q_lora_rank, 32));
  DI_RETURN_IF_ERROR(CheckMultiple("text_config.head_dim", c.head_dim, 32));
  DI_RETURN_IF_ERROR(CheckMultiple("text_config.index_head_dim", c.index_head_dim, 32));
  DI_RETURN_IF_ERROR(
      CheckMultiple("text_config.o_groups * o_lora_rank", int64_t{c.o_groups} * c.o_lora_rank, 32));
  DI_RETURN_IF_ERROR(CheckMultiple("text_config.head_dim * num_attention_heads / o_groups",
                                   c.head_dim * heads_per_group, 32));
  DI_RETURN_IF_ERROR(CheckMultiple("text_config.qk_rope_head_dim", c.qk_rope_head_dim, 2));
  if (c.qk_rope_head_dim > c.index_head_dim) {
    return InvalidArgument(StrCat("text_config.qk_rope_head_dim: expected at most index_head_dim (",
                                  c.index_head_dim, "), got ", c.qk_rope_head_dim));
  }
  return OkStatus();
}

Status CheckNumbers(const ModelConfig& c) {
  const auto positive = [](std::string_view key, double value) {
    if (std::isfinite(value) && value > 0) return OkStatus();
    return InvalidArgument(StrCat(key, ": expected a number > 0, got ", value));
  };
  DI_RETURN_IF_ERROR(positive("text_config.gate_temp", c.gate_temp));
  DI_RETURN_IF_ERROR(positive("text_config.rms_norm_eps", c.rms_norm_eps));
  DI_RETURN_IF_ERROR(positive("text_config.hc_eps", c.hc_eps));
  // A base of 1 would make every pair rotate alike, and YaRN divides by its logarithm.
  for (const auto& [key, base] : {std::pair{"text_config.rope_theta", c.rope_theta},
                                  {"text_config.compress_rope_theta", c.compress_rope_theta}}) {
    if (!(std::isfinite(base) && base > 1)) {
      return InvalidArgument(StrCat(key, ": expected a number > 1, got ", base));
    }
  }
  if (!std::isfinite(c.routed_scaling_factor) || !std::isfinite(c.swiglu_limit)) {
    return InvalidArgument(
        "text_config.routed_scaling_factor, swiglu_limit: expected finite "
        "numbers, got one that is not");
  }
  if (!c.rope_scaling.has_value()) return OkStatus();
  const RopeScaling& s = *c.rope_scaling;
  DI_RETURN_IF_ERROR(positive("text_config.rope_scaling.factor", s.factor));
  DI_RETURN_IF_ERROR(positive("text_config.rope_scaling.beta_fast", s.beta_fast));
  DI_RETURN_IF_ERROR(positive("text_config.rope_scaling.beta_slow", s.beta_slow));
  return CheckLimits({{"text_config.rope_scaling.original_max_position_embeddings",
                       s.original_max_position_embeddings, 1, int64_t{1} << 31}});
}

// Ascending ids of existing compressed layers.
Status CheckSources(const ModelConfig& c, std::string_view key, const std::vector<int32_t>& ids) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= c.num_hidden_layers) {
      return InvalidArgument(
          StrCat(key, ": expected layers 0..", c.num_hidden_layers - 1, ", got ", ids[i]));
    }
    if (i > 0 && ids[i] <= ids[i - 1]) {
      return InvalidArgument(
          StrCat(key, ": expected ascending layers, got ", ids[i], " after ", ids[i - 1]));
    }
    if (c.ratio(ids[i]) == 0) {
      return InvalidArgument(StrCat(key, ": expected layers with compress_ratio > 0, got layer ",
                                    ids[i], " with ratio 0"));
    }
  }
  return OkStatus();
}

// The source that layer l reads must exist and have its ratio.
Status CheckSourceOf(const ModelConfig& c, std::string_view key, int32_t l, int32_t source) {
  if (source < 0) {
    return InvalidArgument(StrCat(key, ": expected a source at or before layer ", l,
                                  " (compress_ratio ", c.ratio(l), "), got none"));
  }
  if (c.ratio(source) != c.ratio(l)) {
    return InvalidArgument(StrCat(key, ": expected the source of layer ", l,
                                  " to have its compress_ratio ", c.ratio(l), ", got layer ",
                                  source, " with ratio ", c.ratio(source)));
  }
  return OkStatus();
}

Status CheckSharing(const ModelConfig& c) {
  if (static_cast<int32_t>(c.compress_ratios.size()) != c.num_hidden_layers) {
    return InvalidArgument(StrCat("text_config.compress_ratios: expected ", c.num_hidden_layers,
                                  " entries, got ", c.compress_ratios.size()));
  }
  for (int32_t l = 0; l < c.num_hidden_layers; ++l) {
    if (c.ratio(l) < 0 || c.ratio(l) > 2) {
      return InvalidArgument(
          StrCat("text_config.compress_ratios[", l, "]: expected 0, 1 or 2, got ", c.ratio(l)));
    }
  }
  constexpr std::string_view kKv = "text_config.kv_source_layer_ids";
  constexpr std::string_view kIndex = "text_config.index_source_layer_ids";
  constexpr std::string_view kIndexK = "text_config.index_k_source_layer_ids";
  DI_RETURN_IF_ERROR(CheckSources(c, kKv, c.kv_source_layer_ids));
  DI_RETURN_IF_ERROR(CheckSources(c, kIndex, c.index_source_layer_ids));
  DI_RETURN_IF_ERROR(CheckSources(c, kIndexK, c.index_k_source_layer_ids));
  for (const int32_t l : c.index_k_source_layer_ids) {
    if (!c.is_kv_source(l)) {
      return InvalidArgument(StrCat(kIndexK,
                                    ": expected kv sources (index keys are made from "
                                    "their latent), got layer ",
                                    l));
    }
  }
  for (int32_t l = 0; l < c.num_hidden_layers; ++l) {
    if (c.ratio(l) == 0) continue;
    DI_RETURN_IF_ERROR(CheckSourceOf(c, kKv, l, c.kv_source(l)));
    DI_RETURN_IF_ERROR(CheckSourceOf(c, kIndex, l, c.index_source(l)));
    if (c.kv_source(c.index_source(l)) != c.kv_source(l)) {
      return InvalidArgument(StrCat(kIndex, ": expected the index source of layer ", l,
                                    " to read the same kv source (layer ", c.kv_source(l),
                                    "), got layer ", c.index_source(l), ", which reads layer ",
                                    c.kv_source(c.index_source(l))));
    }
    if (c.is_index_source(l)) {
      DI_RETURN_IF_ERROR(CheckSourceOf(c, kIndexK, l, c.index_k_source(l)));
    }
  }
  const int32_t boundary = c.boundary_layer();
  if (boundary < c.num_hidden_layers && c.kv_source(boundary) != boundary) {
    return InvalidArgument(
        StrCat(kKv, ": expected layer ", boundary,
               ", the first with compress_ratio 1, among the sources, got none"));
  }
  return OkStatus();
}

Status CheckCandidates(const ModelConfig& c) {
  const int32_t source = c.candidate_source_layer_id;
  if (source < 0) return OkStatus();
  constexpr std::string_view kKey = "text_config.candidate_source_layer_id";
  if (source >= c.num_hidden_layers || !c.is_index_source(source)) {
    return InvalidArgument(StrCat(kKey, ": expected one of index_source_layer_ids, got ", source));
  }
  for (const int32_t l : c.index_source_layer_ids) {
    if (l > source && c.ratio(l) != c.ratio(source)) {
      return InvalidArgument(
          StrCat(kKey, ": expected every later index source to have compress_ratio ",
                 c.ratio(source), ", got layer ", l, " with ratio ", c.ratio(l)));
    }
  }
  if (int64_t{c.candidate_topk_blocks} * c.candidate_block_size < c.index_topk) {
    return InvalidArgument(StrCat(
        "text_config.candidate_topk_blocks * candidate_block_size: expected at least index_topk (",
        c.index_topk, "), got ", int64_t{c.candidate_topk_blocks} * c.candidate_block_size));
  }
  return OkStatus();
}

Status CheckEngram(const ModelConfig& c) {
  if (c.engram_num_embeddings.size() != c.engram_layer_ids.size()) {
    return InvalidArgument(StrCat(
        "text_config.engram_num_embeddings: expected one entry for each of engram_layer_ids (",
        c.engram_layer_ids.size(), "), got ", c.engram_num_embeddings.size()));
  }
  if (c.engram_layer_ids.empty()) return OkStatus();
  std::set<int32_t> seen;
  for (const int32_t l : c.engram_layer_ids) {
    if (l < 0 || l >= c.num_hidden_layers) {
      return InvalidArgument(StrCat("text_config.engram_layer_ids: expected layers 0..",
                                    c.num_hidden_layers - 1, ", got ", l));
    }
    if (!seen.insert(l).second) {
      return InvalidArgument(
          StrCat("text_config.engram_layer_ids: expected distinct layers, got ", l, " twice"));
    }
  }
  DI_RETURN_IF_ERROR(CheckLimits({
      {"text_config.engram_vocab_size", c.engram_vocab_size, 2, int64_t{1} << 31},
      {"text_config.engram_max_ngram_size", c.engram_max_ngram_size, 2, 8},
      {"text_config.engram_n_heads", c.engram_n_heads, 1, 64},
      {"text_config.engram_head_dim", c.engram_head_dim, 1, 8192},
      {"text_config.engram_pad_token_id", c.engram_pad_token_id, 0, c.vocab_size - 1},
      // The multipliers' generator is specified for bounds above 2^32 (model.md 13.3).
      {"text_config.engram_compressed_vocab_size", c.engram_compressed_vocab_size, 1,
       std::min(c.vocab_size, 1 << 24)},
  }));
  return CheckMultiple("text_config.engram_head_dim", c.engram_head_dim, 32);
}

Status CheckTokenIds(const ModelConfig& c) {
  const int64_t last = c.vocab_size - 1;
  DI_RETURN_IF_ERROR(CheckLimits(
      {{"bos_token_id", c.bos_token_id, 0, last}, {"pad_token_id", c.pad_token_id, 0, last}}));
  if (c.eos_token_id.empty())
    return InvalidArgument("eos_token_id: expected at least one id, got none");
  for (const int32_t id : c.eos_token_id) {
    DI_RETURN_IF_ERROR(CheckLimits({{"eos_token_id", id, 0, last}}));
  }
  if (c.image_token_id.has_value()) {
    DI_RETURN_IF_ERROR(CheckLimits({{"image_token_id", *c.image_token_id, 0, last}}));
  }
  return OkStatus();
}

Status CheckDraft(const ModelConfig& c) {
  if (c.num_nextn_predict_layers == 0) return OkStatus();
  DI_RETURN_IF_ERROR(CheckLimits({
      {"text_config.dspark_block_size", c.dspark_block_size, 1, 64},
      {"text_config.dspark_noise_token_id", c.dspark_noise_token_id, 0, c.vocab_size - 1},
      {"text_config.dspark_markov_rank", c.dspark_markov_rank, 1, 1 << 16},
      {"text_config.dspark_n_routed_experts", c.dspark_n_routed_experts, 1, 1 << 16},
      {"text_config.dspark_num_experts_per_tok", c.dspark_num_experts_per_tok, 1,
       c.dspark_n_routed_experts},
  }));
  for (const int32_t l : c.dspark_target_layer_ids) {
    DI_RETURN_IF_ERROR(
        CheckLimits({{"text_config.dspark_target_layer_ids", l, 0, c.num_hidden_layers - 1}}));
  }
  return OkStatus();
}

Status CheckVision(const ModelConfig& c) {
  if (!c.vision_config.has_value()) return OkStatus();
  const VisionConfig& v = *c.vision_config;
  DI_RETURN_IF_ERROR(CheckLimits({
      {"vision_config.num_hidden_layers", v.num_hidden_layers, 1, 1024},
      {"vision_config.hidden_size", v.hidden_size, 1, 1 << 16},
      {"vision_config.num_attention_heads", v.num_attention_heads, 1, 1024},
      {"vision_config.intermediate_size", v.intermediate_size, 1, 1 << 18},
      {"vision_config.patch_size", v.patch_size, 1, 1024},
      {"vision_config.downsample_ratio", v.downsample_ratio, 1, 64},
      {"vision_config.max_image_tokens", v.max_image_tokens, 4, 1 << 20},
      {"vision_config.min_pixels", v.min_pixels, 1, int64_t{1} << 40},
  }));
  if (v.max_wh_ratio.has_value() && !(*v.max_wh_ratio >= 1)) {
    return InvalidArgument(StrCat(
        "vision_config.max_wh_ratio: expected null or a number >= 1, got ", *v.max_wh_ratio));
  }
  if (!c.image_token_id.has_value()) {
    return InvalidArgument("image_token_id: expected a token id beside vision_config, got none");
  }
  return OkStatus();
}

}  // namespace

Status ValidateModelConfig(const ModelConfig& config) {
  DI_RETURN_IF_ERROR(CheckSizes(config));
  DI_RETURN_IF_ERROR(CheckDivisibility(config));
  DI_RETURN_IF_ERROR(CheckNumbers(config));
  DI_RETURN_IF_ERROR(CheckSharing(config));
  DI_RETURN_IF_ERROR(CheckCandidates(config));
  DI_RETURN_IF_ERROR(CheckEngram(config));
  DI_RETURN_IF_ERROR(CheckTokenIds(config));
  DI_RETURN_IF_ERROR(CheckDraft(config));
  return CheckVision(config);
}

}  // namespace deepinfer::model
