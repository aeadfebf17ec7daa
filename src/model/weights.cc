#include "model/weights.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/strings.h"

namespace deepinfer::model {
namespace {

constexpr int64_t kTile = 32;  // extent of a quantisation scale

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Finds, checks and imports tensors by name, and remembers which it has taken.
class Binder {
 public:
  Binder(const Checkpoint& checkpoint, backend::Device& device, std::vector<Buffer>& storage)
      : checkpoint_(checkpoint), device_(device), storage_(storage) {}

  Status Plain(const std::string& name, DType dtype, std::initializer_list<int64_t> shape,
               TensorView& out) {
    return Take(name, TensorView(nullptr, dtype, shape), out);
  }

  // A projection that is stored unquantised.
  Status Bf16(const std::string& name, int64_t num_rows, int64_t num_cols, ops::WeightView& out) {
    return Plain(name + ".weight", DType::kBF16, {num_rows, num_cols}, out.data);
  }

  // One scale for every tile of 32 x 32.
  Status Fp8(const std::string& name, int64_t num_rows, int64_t num_cols, ops::WeightView& out) {
    DI_RETURN_IF_ERROR(Plain(name + ".weight", DType::kF8E4M3, {num_rows, num_cols}, out.data));
    return Plain(name + ".scale", DType::kUE8M0,
                 {CeilDiv(num_rows, kTile), CeilDiv(num_cols, kTile)}, out.scale);
  }

  // Two columns a byte; one scale for every row and 32 columns.
  Status Fp4(const std::string& name, int64_t num_rows, int64_t num_cols, ops::WeightView& out) {
    DI_RETURN_IF_ERROR(Plain(name + ".weight", DType::kF4E2M1, {num_rows, num_cols}, out.data));
    return Plain(name + ".scale", DType::kUE8M0, {num_rows, num_cols / kTile}, out.scale);
  }

  bool has_taken(const CheckpointTensor& tensor) const { return taken_.count(&tensor) > 0; }

 private:
  Status Take(const std::string& name, const TensorView& want, TensorView& out) {
    const CheckpointTensor* tensor = checkpoint_.Find(name);
    if (tensor == nullptr) {
      return DataLoss(StrCat(checkpoint_.path(), ": expected tensor ", name, " ", want.ToString(),
                             ", found none"));
    }
    DI_ASSIGN_OR_RETURN(const TensorView host, ViewAs(*tensor, want));
    DI_ASSIGN_OR_RETURN(backend::ImportedWeight imported, device_.ImportWeight(host));
    out = imported.view;
    if (imported.storage.data() != nullptr) storage_.push_back(std::move(imported.storage));
    taken_.insert(tensor);
    return OkStatus();
  }

  const Checkpoint& checkpoint_;
  backend::Device& device_;
  std::vector<Buffer>& storage_;
  std::unordered_set<const CheckpointTensor*> taken_;
};

Status BindHc(Binder& binder, const std::string& name, const ModelConfig& c, HcWeights& out) {
  const int64_t n = c.hc_mult, num_coeffs = (2 + n) * n;
  DI_RETURN_IF_ERROR(
      binder.Plain(name + "_fn", DType::kF32, {num_coeffs, n * c.hidden_size}, out.fn));
  DI_RETURN_IF_ERROR(binder.Plain(name + "_base", DType::kF32, {num_coeffs}, out.base));
  return binder.Plain(name + "_scale", DType::kF32, {3}, out.scale);
}

Status BindAttention(Binder& binder, const std::string& name, const ModelConfig& c,
                     AttentionWeights& out) {
  const int64_t d = c.hidden_size, head_dim = c.head_dim, num_heads = c.num_attention_heads;
  const int64_t o_rank = int64_t{c.o_groups} * c.o_lora_rank;
  DI_RETURN_IF_ERROR(binder.Fp8(name + ".wq_a", c.q_lora_rank, d, out.wq_a));
  DI_RETURN_IF_ERROR(
      binder.Plain(name + ".q_norm.weight", DType::kBF16, {c.q_lora_rank}, out.q_norm));
  DI_RETURN_IF_ERROR(binder.Fp8(name + ".wq_b", num_heads * head_dim, c.q_lora_rank, out.wq_b));
  DI_RETURN_IF_ERROR(binder.Fp8(name + ".wkv", head_dim, d, out.wkv));
  DI_RETURN_IF_ERROR(binder.Plain(name + ".kv_norm.weight", DType::kBF16, {head_dim}, out.kv_norm));
  DI_RETURN_IF_ERROR(binder.Plain(name + ".attn_sink", DType::kF32, {num_heads}, out.attn_sink));
  DI_RETURN_IF_ERROR(
      binder.Fp8(name + ".wo_a", o_rank, num_heads * head_dim / c.o_groups, out.wo_a));
  return binder.Fp8(name + ".wo_b", d, o_rank, out.wo_b);
}

Status BindCompressor(Binder& binder, const std::string& name, const ModelConfig& c, int32_t l,
                      CompressorWeights& out) {
  if (!c.is_kv_source(l)) return OkStatus();
  DI_RETURN_IF_ERROR(binder.Bf16(name + ".wkv", c.head_dim, c.hidden_size, out.wkv));
  if (c.ratio(l) > 1) {
    DI_RETURN_IF_ERROR(binder.Bf16(name + ".wgate", c.head_dim, c.hidden_size, out.wgate));
  }
  return binder.Plain(name + ".norm.weight", DType::kBF16, {c.head_dim}, out.norm);
}

Status BindIndexer(Binder& binder, const std::string& name, const ModelConfig& c, int32_t l,
                   IndexerWeights& out) {
  if (c.owns_index_k(l)) {
    DI_RETURN_IF_ERROR(binder.Bf16(name + ".wk", c.index_head_dim, c.head_dim, out.wk));
    DI_RETURN_IF_ERROR(
        binder.Plain(name + ".k_norm.weight", DType::kBF16, {c.index_head_dim}, out.k_norm));
  }
  if (!c.is_index_source(l)) return OkStatus();
  DI_RETURN_IF_ERROR(binder.Fp8(name + ".wq_b", int64_t{c.index_n_heads} * c.index_head_dim,
                                c.q_lora_rank, out.wq_b));
  return binder.Bf16(name + ".weights_proj", c.index_n_heads, c.hidden_size, out.weights_proj);
}

Status BindMoe(Binder& binder, const std::string& name, const ModelConfig& c, MoeWeights& out) {
  const int64_t d = c.hidden_size, width = c.moe_intermediate_size;
  const int64_t shared_width = c.shared_intermediate_size();
  const int64_t num_experts = c.n_routed_experts;
  DI_RETURN_IF_ERROR(binder.Bf16(name + ".gate", num_experts, d, out.gate));
  DI_RETURN_IF_ERROR(binder.Plain(name + ".gate.bias", DType::kF32, {num_experts}, out.bias));
  DI_RETURN_IF_ERROR(binder.Plain(name + ".gate.bias_vl", DType::kF32, {num_experts}, out.bias_vl));
  const std::string shared = name + ".shared_experts";
  DI_RETURN_IF_ERROR(binder.Fp8(shared + ".w1", shared_width, d, out.shared_experts.w1));
  DI_RETURN_IF_ERROR(binder.Fp8(shared + ".w3", shared_width, d, out.shared_experts.w3));
  DI_RETURN_IF_ERROR(binder.Fp8(shared + ".w2", d, shared_width, out.shared_experts.w2));
  out.experts.resize(num_experts);
  for (int64_t e = 0; e < num_experts; ++e) {
    const std::string expert = StrCat(name, ".experts.", e);
    DI_RETURN_IF_ERROR(binder.Fp4(expert + ".w1", width, d, out.experts[e].w1));
    DI_RETURN_IF_ERROR(binder.Fp4(expert + ".w3", width, d, out.experts[e].w3));
    DI_RETURN_IF_ERROR(binder.Fp4(expert + ".w2", d, width, out.experts[e].w2));
  }
  return OkStatus();
}

Status BindEngram(Binder& binder, const std::string& name, const ModelConfig& c, int32_t l,
                  EngramWeights& out) {
  if (c.engram_idx(l) < 0) return OkStatus();
  const int64_t num_rows = c.engram_num_embeddings[c.engram_idx(l)];
  const int64_t row_dim = c.engram_head_dim, n = c.hc_mult, d = c.hidden_size;
  DI_RETURN_IF_ERROR(
      binder.Plain(name + ".embed.weight", DType::kF8E4M3, {num_rows, row_dim}, out.embed));
  DI_RETURN_IF_ERROR(binder.Plain(name + ".embed.scale", DType::kUE8M0, {num_rows, row_dim / kTile},
                                  out.embed_scale));
  DI_RETURN_IF_ERROR(
      binder.Fp8(name + ".wkv", (n + 1) * d, c.engram_rows_per_token() * row_dim, out.wkv));
  DI_RETURN_IF_ERROR(binder.Plain(name + ".q_weight", DType::kBF16, {n, d}, out.q_weight));
  return binder.Plain(name + ".k_weight", DType::kBF16, {n, d}, out.k_weight);
}

Status BindLayer(Binder& binder, const ModelConfig& c, int32_t l, LayerWeights& out) {
  const std::string name = StrCat("layers.", l);
  const int64_t d = c.hidden_size;
  DI_RETURN_IF_ERROR(BindHc(binder, name + ".hc_attn", c, out.hc_attn));
  DI_RETURN_IF_ERROR(BindHc(binder, name + ".hc_ffn", c, out.hc_ffn));
  DI_RETURN_IF_ERROR(binder.Plain(name + ".attn_norm.weight", DType::kBF16, {d}, out.attn_norm));
  DI_RETURN_IF_ERROR(binder.Plain(name + ".ffn_norm.weight", DType::kBF16, {d}, out.ffn_norm));
  DI_RETURN_IF_ERROR(BindAttention(binder, name + ".attn", c, out.attn));
  DI_RETURN_IF_ERROR(BindCompressor(binder, name + ".attn.compressor", c, l, out.compressor));
  DI_RETURN_IF_ERROR(BindIndexer(binder, name + ".attn.indexer", c, l, out.indexer));
  DI_RETURN_IF_ERROR(BindMoe(binder, name + ".ffn", c, out.ffn));
  return BindEngram(binder, name + ".engram", c, l, out.engram);
}

// Tensors that belong to other parts of the engine.
bool IsLeftAlone(std::string_view name) {
  for (const std::string_view family : {"mtp.", "vision.", "aligner."}) {
    if (name.substr(0, family.size()) == family) return true;
  }
  return name == "image_start" || name == "image_end" || name == "image_newline";
}

bool EndsWith(std::string_view name, std::string_view end) {
  return name.size() >= end.size() && name.substr(name.size() - end.size()) == end;
}

// Other exports of the architecture keep the norm of the streams beside the projection that here
// contains it, or have a mix of their own for the head; their numbers would load and be wrong.
bool IsOtherExport(std::string_view name) {
  if (name.substr(0, 8) == "hc_head_") return true;
  for (const std::string_view end :
       {"hc_attn_norm.weight", "hc_ffn_norm.weight", "hc_head_norm.weight"}) {
    if (EndsWith(name, end)) return true;
  }
  return false;
}

}  // namespace

Result<ModelWeights> BindWeights(const Checkpoint& checkpoint, const ModelConfig& config,
                                 backend::Device& device) {
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    if (IsOtherExport(tensor.name)) {
      return InvalidArgument(StrCat(tensor.file, ": ", tensor.name,
                                    ": expected hyper-connections with their norm folded in, got "
                                    "a tensor of another export"));
    }
  }
  ModelWeights weights;
  Binder binder(checkpoint, device, weights.storage);
  const int64_t d = config.hidden_size;
  DI_RETURN_IF_ERROR(
      binder.Plain("embed.weight", DType::kBF16, {config.vocab_size, d}, weights.embed));
  DI_RETURN_IF_ERROR(binder.Bf16("head", config.vocab_size, d, weights.head));
  DI_RETURN_IF_ERROR(binder.Plain("norm.weight", DType::kBF16, {d}, weights.norm));
  weights.layers.resize(config.num_hidden_layers);
  for (int32_t l = 0; l < config.num_hidden_layers; ++l) {
    DI_RETURN_IF_ERROR(BindLayer(binder, config, l, weights.layers[l]));
  }
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    if (binder.has_taken(tensor) || IsLeftAlone(tensor.name)) continue;
    return InvalidArgument(StrCat(tensor.file, ": ", tensor.name,
                                  ": expected a tensor that the config describes, got an unknown "
                                  "name"));
  }
  return weights;
}

}  // namespace deepinfer::model
