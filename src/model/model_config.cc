#include "model/model_config.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/strings.h"

namespace deepinfer::model {
namespace {

// The largest member of ascending `ids` that is <= l, or -1.
int32_t LastAtOrBefore(const std::vector<int32_t>& ids, int32_t l) {
  const auto it = std::upper_bound(ids.begin(), ids.end(), l);
  return it == ids.begin() ? -1 : *(it - 1);
}

bool Contains(const std::vector<int32_t>& ids, int32_t l) {
  return std::find(ids.begin(), ids.end(), l) != ids.end();
}

using json::Cursor;

// Reads `key` into `out` when it is there; a missing or null key leaves the default.
template <typename T>
Status ReadOptional(const Cursor& object, std::string_view key, T& out) {
  DI_ASSIGN_OR_RETURN(const std::optional<Cursor> member, object.Find(key));
  if (!member.has_value()) return OkStatus();
  DI_ASSIGN_OR_RETURN(out, member->As<T>());
  return OkStatus();
}

template <typename T>
Status ReadRequired(const Cursor& object, std::string_view key, T& out) {
  DI_ASSIGN_OR_RETURN(out, object.Read<T>(key));
  return OkStatus();
}

Status ReadFloat(const Cursor& object, std::string_view key, float& out) {
  double value = out;
  DI_RETURN_IF_ERROR(ReadOptional(object, key, value));
  out = static_cast<float>(value);
  if (!std::isfinite(out)) return object.Refuse(StrCat(key, ": expected a number, got ", value));
  return OkStatus();
}

// A key that the engine follows for one value only.
Status RequireString(const Cursor& object, std::string_view key, std::string_view expected) {
  DI_ASSIGN_OR_RETURN(const Cursor member, object.Get(key));
  const Result<std::string_view> value = member.value().AsString();
  if (!value.ok() || *value != expected) return member.Expected(StrCat("\"", expected, "\""));
  return OkStatus();
}

// The same for keys that may be absent.
template <typename T>
Status RequireIfPresent(const Cursor& object, std::string_view key, const T& expected,
                        std::string_view expected_text) {
  DI_ASSIGN_OR_RETURN(const std::optional<Cursor> member, object.Find(key));
  if (!member.has_value()) return OkStatus();
  const Result<T> value = member->As<T>();
  if (!value.ok() || *value != expected) return member->Expected(expected_text);
  return OkStatus();
}

// One token id or a list of them.
Status ReadTokenIds(const Cursor& member, std::vector<int32_t>& out) {
  if (member.value().is_array()) {
    DI_ASSIGN_OR_RETURN(out, member.As<std::vector<int32_t>>());
    if (out.empty()) return member.Expected("at least one token id");
    return OkStatus();
  }
  DI_ASSIGN_OR_RETURN(const int32_t id, member.As<int32_t>());
  out = {id};
  return OkStatus();
}

Status ReadTopLevel(const Cursor& root, ModelConfig& c) {
  DI_ASSIGN_OR_RETURN(const Cursor architectures, root.Get("architectures"));
  const auto names = architectures.As<std::vector<std::string>>();
  if (!names.ok() || *names != std::vector<std::string>{"DeepseekV41ForCausalLM"}) {
    return architectures.Expected("[\"DeepseekV41ForCausalLM\"]");
  }
  DI_RETURN_IF_ERROR(RequireString(root, "model_type", "deepseek_v41"));
  DI_RETURN_IF_ERROR(RequireString(root, "dtype", "bfloat16"));
  DI_RETURN_IF_ERROR(ReadRequired(root, "bos_token_id", c.bos_token_id));
  DI_ASSIGN_OR_RETURN(const Cursor eos, root.Get("eos_token_id"));
  DI_RETURN_IF_ERROR(ReadTokenIds(eos, c.eos_token_id));
  DI_RETURN_IF_ERROR(ReadRequired(root, "pad_token_id", c.pad_token_id));
  DI_ASSIGN_OR_RETURN(const std::optional<Cursor> image, root.Find("image_token_id"));
  if (image.has_value()) {
    DI_ASSIGN_OR_RETURN(c.image_token_id, image->As<int32_t>());
  }
  return OkStatus();
}

Status CheckQuantization(const Cursor& root) {
  DI_ASSIGN_OR_RETURN(const Cursor block, root.Get("quantization_config"));
  DI_RETURN_IF_ERROR(RequireString(block, "quant_method", "fp8"));
  DI_RETURN_IF_ERROR(RequireString(block, "activation_scheme", "dynamic"));
  DI_RETURN_IF_ERROR(RequireString(block, "scale_fmt", "ue8m0"));
  DI_RETURN_IF_ERROR(RequireString(block, "expert_dtype", "fp4"));
  DI_ASSIGN_OR_RETURN(const Cursor size, block.Get("weight_block_size"));
  const auto tile = size.As<std::vector<int64_t>>();
  if (!tile.ok() || *tile != std::vector<int64_t>{32, 32}) return size.Expected("[32, 32]");
  return OkStatus();
}

// Keys of text_config that have one legal value.
Status CheckFixedKeys(const Cursor& text) {
  DI_RETURN_IF_ERROR(RequireIfPresent<std::string>(text, "model_type", "deepseek_v41_text",
                                                   "\"deepseek_v41_text\""));
  DI_RETURN_IF_ERROR(RequireIfPresent<bool>(text, "attention_bias", false, "false"));
  DI_RETURN_IF_ERROR(RequireIfPresent<double>(text, "attention_dropout", 0.0, "0"));
  DI_RETURN_IF_ERROR(RequireIfPresent<std::string>(text, "hidden_act", "silu", "\"silu\""));
  DI_RETURN_IF_ERROR(
      RequireIfPresent<std::string>(text, "scoring_func", "sqrtsoftplus", "\"sqrtsoftplus\""));
  DI_RETURN_IF_ERROR(
      RequireIfPresent<std::string>(text, "topk_method", "noaux_tc", "\"noaux_tc\""));
  DI_RETURN_IF_ERROR(RequireIfPresent<bool>(text, "norm_topk_prob", true, "true"));
  DI_RETURN_IF_ERROR(RequireIfPresent<bool>(text, "hc_shifted", true, "true"));
  DI_RETURN_IF_ERROR(RequireIfPresent<bool>(text, "tie_word_embeddings", false,
                                            "false (the head is a tensor of its own)"));
  return OkStatus();
}

Status ReadAttention(const Cursor& text, ModelConfig& c) {
  int32_t num_key_value_heads = 1;
  DI_RETURN_IF_ERROR(ReadRequired(text, "num_attention_heads", c.num_attention_heads));
  DI_RETURN_IF_ERROR(ReadRequired(text, "num_key_value_heads", num_key_value_heads));
  if (num_key_value_heads != 1) {
    return text.Refuse(StrCat("num_key_value_heads: expected 1, got ", num_key_value_heads));
  }
  DI_RETURN_IF_ERROR(ReadRequired(text, "head_dim", c.head_dim));
  DI_RETURN_IF_ERROR(ReadRequired(text, "qk_rope_head_dim", c.qk_rope_head_dim));
  DI_RETURN_IF_ERROR(ReadRequired(text, "q_lora_rank", c.q_lora_rank));
  DI_RETURN_IF_ERROR(ReadRequired(text, "o_groups", c.o_groups));
  DI_RETURN_IF_ERROR(ReadRequired(text, "o_lora_rank", c.o_lora_rank));
  DI_RETURN_IF_ERROR(ReadRequired(text, "sliding_window", c.sliding_window));
  DI_RETURN_IF_ERROR(ReadOptional(text, "rope_theta", c.rope_theta));
  DI_RETURN_IF_ERROR(ReadOptional(text, "compress_rope_theta", c.compress_rope_theta));
  return OkStatus();
}

Status ReadRopeScaling(const Cursor& text, ModelConfig& c) {
  DI_ASSIGN_OR_RETURN(const std::optional<Cursor> scaling, text.Find("rope_scaling"));
  if (!scaling.has_value()) return OkStatus();
  // Two spellings are in use; a file that has both must mean the same by them.
  const bool has_type = scaling->value().Find("type") != nullptr;
  if (has_type) DI_RETURN_IF_ERROR(RequireString(*scaling, "type", "yarn"));
  if (!has_type || scaling->value().Find("rope_type") != nullptr) {
    DI_RETURN_IF_ERROR(RequireString(*scaling, "rope_type", "yarn"));
  }
  RopeScaling s;
  DI_RETURN_IF_ERROR(ReadRequired(*scaling, "factor", s.factor));
  DI_RETURN_IF_ERROR(ReadOptional(*scaling, "beta_fast", s.beta_fast));
  DI_RETURN_IF_ERROR(ReadOptional(*scaling, "beta_slow", s.beta_slow));
  DI_RETURN_IF_ERROR(ReadRequired(*scaling, "original_max_position_embeddings",
                                  s.original_max_position_embeddings));
  c.rope_scaling = s;
  return OkStatus();
}

std::vector<int32_t> ReleasedRatios() {
  std::vector<int32_t> ratios(40, 1);
  std::fill(ratios.begin(), ratios.begin() + 20, 2);
  ratios[0] = ratios[1] = 0;
  return ratios;
}

Status ReadCompressRatios(const Cursor& text, ModelConfig& c) {
  c.compress_ratios = ReleasedRatios();
  DI_RETURN_IF_ERROR(ReadOptional(text, "compress_ratios", c.compress_ratios));
  const auto num_layers = static_cast<size_t>(std::max(c.num_hidden_layers, 0));
  const auto num_drafts = static_cast<size_t>(std::max(c.num_nextn_predict_layers, 0));
  const size_t size = c.compress_ratios.size();
  if (size != num_layers && size != num_layers + num_drafts) {
    return text.Refuse(StrCat("compress_ratios: expected ", num_layers,
                              " entries (num_hidden_layers) or ", num_layers + num_drafts,
                              " (with num_nextn_predict_layers), got ", size));
  }
  for (size_t i = num_layers; i < size; ++i) {
    if (c.compress_ratios[i] != 0) {
      return text.Refuse(StrCat("compress_ratios: expected 0 for draft layer ", i - num_layers,
                                ", got ", c.compress_ratios[i]));
    }
  }
  c.compress_ratios.resize(num_layers);
  return OkStatus();
}

Status ReadCompressedAttention(const Cursor& text, ModelConfig& c) {
  DI_RETURN_IF_ERROR(ReadCompressRatios(text, c));
  c.kv_source_layer_ids = {2, 8, 14, 20};
  c.index_source_layer_ids = {2, 8, 14, 20, 24, 28, 32, 36};
  DI_RETURN_IF_ERROR(ReadOptional(text, "kv_source_layer_ids", c.kv_source_layer_ids));
  DI_RETURN_IF_ERROR(ReadOptional(text, "index_source_layer_ids", c.index_source_layer_ids));
  c.index_k_source_layer_ids = c.kv_source_layer_ids;
  DI_RETURN_IF_ERROR(ReadOptional(text, "index_k_source_layer_ids", c.index_k_source_layer_ids));
  // Absent means the last kv source; null and negative numbers switch candidates off.
  c.candidate_source_layer_id = c.kv_source_layer_ids.empty() ? -1 : c.kv_source_layer_ids.back();
  if (const json::Value* candidate = text.value().Find("candidate_source_layer_id")) {
    c.candidate_source_layer_id = -1;
    if (!candidate->is_null()) {
      DI_RETURN_IF_ERROR(
          ReadRequired(text, "candidate_source_layer_id", c.candidate_source_layer_id));
      c.candidate_source_layer_id = std::max(c.candidate_source_layer_id, -1);
    }
  }
  DI_RETURN_IF_ERROR(ReadOptional(text, "candidate_topk_blocks", c.candidate_topk_blocks));
  DI_RETURN_IF_ERROR(ReadOptional(text, "candidate_block_size", c.candidate_block_size));
  DI_RETURN_IF_ERROR(ReadOptional(text, "index_n_heads", c.index_n_heads));
  DI_RETURN_IF_ERROR(ReadOptional(text, "index_head_dim", c.index_head_dim));
  DI_RETURN_IF_ERROR(ReadOptional(text, "index_topk", c.index_topk));
  DI_RETURN_IF_ERROR(ReadOptional(text, "use_fp4_sparse_kv", c.use_fp4_sparse_kv));
  return OkStatus();
}

Status ReadMoeAndStreams(const Cursor& text, ModelConfig& c) {
  DI_RETURN_IF_ERROR(ReadOptional(text, "n_routed_experts", c.n_routed_experts));
  DI_RETURN_IF_ERROR(ReadOptional(text, "num_experts_per_tok", c.num_experts_per_tok));
  DI_RETURN_IF_ERROR(ReadOptional(text, "n_shared_experts", c.n_shared_experts));
  DI_RETURN_IF_ERROR(ReadOptional(text, "moe_intermediate_size", c.moe_intermediate_size));
  DI_RETURN_IF_ERROR(ReadFloat(text, "gate_temp", c.gate_temp));
  DI_RETURN_IF_ERROR(ReadFloat(text, "routed_scaling_factor", c.routed_scaling_factor));
  DI_RETURN_IF_ERROR(ReadFloat(text, "swiglu_limit", c.swiglu_limit));
  DI_RETURN_IF_ERROR(ReadOptional(text, "hc_mult", c.hc_mult));
  DI_RETURN_IF_ERROR(ReadOptional(text, "hc_sinkhorn_iters", c.hc_sinkhorn_iters));
  DI_RETURN_IF_ERROR(ReadFloat(text, "hc_eps", c.hc_eps));
  return OkStatus();
}

Status ReadEngram(const Cursor& text, ModelConfig& c) {
  DI_RETURN_IF_ERROR(ReadOptional(text, "engram_layer_ids", c.engram_layer_ids));
  DI_RETURN_IF_ERROR(ReadOptional(text, "engram_num_embeddings", c.engram_num_embeddings));
  DI_RETURN_IF_ERROR(ReadOptional(text, "engram_vocab_size", c.engram_vocab_size));
  DI_RETURN_IF_ERROR(ReadOptional(text, "engram_max_ngram_size", c.engram_max_ngram_size));
  DI_RETURN_IF_ERROR(ReadOptional(text, "engram_n_heads", c.engram_n_heads));
  DI_RETURN_IF_ERROR(ReadOptional(text, "engram_head_dim", c.engram_head_dim));
  DI_RETURN_IF_ERROR(ReadOptional(text, "engram_pad_token_id", c.engram_pad_token_id));
  DI_RETURN_IF_ERROR(
      ReadOptional(text, "engram_compressed_vocab_size", c.engram_compressed_vocab_size));
  return OkStatus();
}

Status ReadDraft(const Cursor& text, ModelConfig& c) {
  if (c.num_nextn_predict_layers <= 0) return OkStatus();
  DI_RETURN_IF_ERROR(ReadRequired(text, "dspark_block_size", c.dspark_block_size));
  DI_RETURN_IF_ERROR(ReadRequired(text, "dspark_noise_token_id", c.dspark_noise_token_id));
  DI_RETURN_IF_ERROR(ReadRequired(text, "dspark_target_layer_ids", c.dspark_target_layer_ids));
  DI_RETURN_IF_ERROR(ReadRequired(text, "dspark_markov_rank", c.dspark_markov_rank));
  DI_RETURN_IF_ERROR(ReadRequired(text, "dspark_n_routed_experts", c.dspark_n_routed_experts));
  DI_RETURN_IF_ERROR(
      ReadRequired(text, "dspark_num_experts_per_tok", c.dspark_num_experts_per_tok));
  return RequireIfPresent<bool>(text, "dspark_target_attn_input", true, "true");
}

Status ReadText(const Cursor& text, ModelConfig& c) {
  DI_RETURN_IF_ERROR(CheckFixedKeys(text));
  DI_RETURN_IF_ERROR(ReadRequired(text, "vocab_size", c.vocab_size));
  DI_RETURN_IF_ERROR(ReadRequired(text, "hidden_size", c.hidden_size));
  DI_RETURN_IF_ERROR(ReadRequired(text, "num_hidden_layers", c.num_hidden_layers));
  DI_RETURN_IF_ERROR(ReadRequired(text, "max_position_embeddings", c.max_position_embeddings));
  DI_RETURN_IF_ERROR(ReadFloat(text, "rms_norm_eps", c.rms_norm_eps));
  DI_RETURN_IF_ERROR(ReadOptional(text, "num_nextn_predict_layers", c.num_nextn_predict_layers));
  DI_RETURN_IF_ERROR(ReadAttention(text, c));
  DI_RETURN_IF_ERROR(ReadRopeScaling(text, c));
  DI_RETURN_IF_ERROR(ReadCompressedAttention(text, c));
  DI_RETURN_IF_ERROR(ReadMoeAndStreams(text, c));
  DI_RETURN_IF_ERROR(ReadEngram(text, c));
  return ReadDraft(text, c);
}

Status ReadVision(const Cursor& root, ModelConfig& c) {
  DI_ASSIGN_OR_RETURN(const std::optional<Cursor> vision, root.Find("vision_config"));
  if (!vision.has_value()) return OkStatus();
  VisionConfig v;
  DI_RETURN_IF_ERROR(ReadRequired(*vision, "num_hidden_layers", v.num_hidden_layers));
  DI_RETURN_IF_ERROR(ReadRequired(*vision, "hidden_size", v.hidden_size));
  DI_RETURN_IF_ERROR(ReadRequired(*vision, "num_attention_heads", v.num_attention_heads));
  DI_RETURN_IF_ERROR(ReadRequired(*vision, "intermediate_size", v.intermediate_size));
  DI_RETURN_IF_ERROR(ReadRequired(*vision, "patch_size", v.patch_size));
  DI_RETURN_IF_ERROR(ReadOptional(*vision, "rope_theta", v.rope_theta));
  DI_RETURN_IF_ERROR(ReadRequired(*vision, "downsample_ratio", v.downsample_ratio));
  DI_RETURN_IF_ERROR(ReadRequired(*vision, "max_image_tokens", v.max_image_tokens));
  DI_RETURN_IF_ERROR(ReadRequired(*vision, "min_pixels", v.min_pixels));
  DI_ASSIGN_OR_RETURN(const std::optional<Cursor> ratio, vision->Find("max_wh_ratio"));
  if (ratio.has_value()) {
    DI_ASSIGN_OR_RETURN(v.max_wh_ratio, ratio->As<double>());
  }
  c.vision_config = v;
  return OkStatus();
}

}  // namespace

int32_t ModelConfig::kv_source(int32_t l) const {
  return ratio(l) > 0 ? LastAtOrBefore(kv_source_layer_ids, l) : -1;
}

int32_t ModelConfig::index_source(int32_t l) const {
  return ratio(l) > 0 ? LastAtOrBefore(index_source_layer_ids, l) : -1;
}

int32_t ModelConfig::index_k_source(int32_t l) const {
  return ratio(l) > 0 ? LastAtOrBefore(index_k_source_layer_ids, l) : -1;
}

bool ModelConfig::is_kv_source(int32_t l) const { return Contains(kv_source_layer_ids, l); }
bool ModelConfig::is_index_source(int32_t l) const { return Contains(index_source_layer_ids, l); }
bool ModelConfig::owns_index_k(int32_t l) const { return Contains(index_k_source_layer_ids, l); }

int32_t ModelConfig::engram_idx(int32_t l) const {
  const auto it = std::find(engram_layer_ids.begin(), engram_layer_ids.end(), l);
  return it == engram_layer_ids.end() ? -1 : static_cast<int32_t>(it - engram_layer_ids.begin());
}

int32_t ModelConfig::boundary_layer() const {
  const auto it = std::find(compress_ratios.begin(), compress_ratios.end(), 1);
  return static_cast<int32_t>(it - compress_ratios.begin());
}

Result<ModelConfig> ParseModelConfig(std::string_view json_text) {
  DI_ASSIGN_OR_RETURN(const json::Value value, json::Parse(json_text));
  const Cursor root(value);
  ModelConfig config;
  DI_RETURN_IF_ERROR(ReadTopLevel(root, config));
  DI_RETURN_IF_ERROR(CheckQuantization(root));
  DI_ASSIGN_OR_RETURN(const Cursor text, root.Get("text_config"));
  DI_RETURN_IF_ERROR(ReadText(text, config));
  DI_RETURN_IF_ERROR(ReadVision(root, config));
  DI_RETURN_IF_ERROR(ValidateModelConfig(config));
  return config;
}

Result<GenerationConfig> ParseGenerationConfig(std::string_view json_text,
                                               const ModelConfig& config) {
  GenerationConfig g;
  g.bos_token_id = config.bos_token_id;
  g.eos_token_id = config.eos_token_id;
  g.pad_token_id = config.pad_token_id;
  if (json_text.empty()) return g;
  DI_ASSIGN_OR_RETURN(const json::Value value, json::Parse(json_text));
  const Cursor root(value);
  DI_RETURN_IF_ERROR(ReadOptional(root, "bos_token_id", g.bos_token_id));
  DI_ASSIGN_OR_RETURN(const std::optional<Cursor> eos, root.Find("eos_token_id"));
  if (eos.has_value()) DI_RETURN_IF_ERROR(ReadTokenIds(*eos, g.eos_token_id));
  DI_RETURN_IF_ERROR(ReadOptional(root, "pad_token_id", g.pad_token_id));
  DI_RETURN_IF_ERROR(ReadOptional(root, "do_sample", g.do_sample));
  DI_RETURN_IF_ERROR(ReadOptional(root, "temperature", g.temperature));
  DI_RETURN_IF_ERROR(ReadOptional(root, "top_p", g.top_p));
  DI_ASSIGN_OR_RETURN(const std::optional<Cursor> top_k, root.Find("top_k"));
  if (top_k.has_value()) {
    DI_ASSIGN_OR_RETURN(const int32_t k, top_k->As<int32_t>());
    if (k < 0) return top_k->Expected("a count >= 0");
    if (k > 0) g.top_k = k;  // 0 is another spelling of "no limit"
  }
  for (const int32_t id : g.eos_token_id) {
    if (id < 0 || id >= config.vocab_size) {
      return InvalidArgument(
          StrCat("eos_token_id: expected 0..", config.vocab_size - 1, ", got ", id));
    }
  }
  if (!(g.temperature >= 0)) {
    return InvalidArgument(StrCat("temperature: expected a number >= 0, got ", g.temperature));
  }
  if (!(g.top_p > 0 && g.top_p <= 1)) {
    return InvalidArgument(StrCat("top_p: expected a number in (0, 1], got ", g.top_p));
  }
  return g;
}

}  // namespace deepinfer::model
