// Checkpoints for the model's unit tests: headers as a test wants them over data that is one large
// hole in a file, because binding weights must not read it.
#pragma once

#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/file_system.h"
#include "base/strings.h"
#include "checkpoint/checkpoint.h"
#include "model/model_config.h"

namespace deepinfer::model::testing {

// One tensor of a header, in the file's spelling.
struct HeaderTensor {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;

  uint64_t num_bytes() const {
    const int64_t elements =
        std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    return static_cast<uint64_t>(elements * checkpoint::BitsOfStoredDtype(dtype).value_or(8) / 8);
  }
};

// Writes `folder`/model.safetensors with these tensors, in order, and no data behind the header.
inline Status WriteHollow(const std::string& folder, const std::vector<HeaderTensor>& tensors) {
  std::string header = "{";
  uint64_t end = 0;
  for (const HeaderTensor& t : tensors) {
    std::string dims;
    for (const int64_t dim : t.shape) dims += StrCat(dims.empty() ? "" : ",", dim);
    const uint64_t begin = end;
    end += t.num_bytes();
    header += StrCat(header.size() > 1 ? "," : "", "\"", t.name, "\":{\"dtype\":\"", t.dtype,
                     "\",\"shape\":[", dims, "],\"data_offsets\":[", begin, ",", end, "]}");
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::string start;
  for (int32_t i = 0; i < 8; ++i) start += static_cast<char>(header.size() >> (8 * i) & 0xff);
  DI_ASSIGN_OR_RETURN(
      const std::unique_ptr<File> file,
      PosixFileSystem().Open(JoinPath(folder, checkpoint::kSingleFile), OpenMode::kTruncate));
  DI_RETURN_IF_ERROR(file->WriteAt(0, start + header));
  return file->Resize(8 + header.size() + end);
}

// The tensors of an existing checkpoint.
inline std::vector<HeaderTensor> HeaderOf(const checkpoint::Checkpoint& checkpoint) {
  std::vector<HeaderTensor> tensors;
  for (const checkpoint::Checkpoint::Entry& entry : checkpoint.entries()) {
    const checkpoint::TensorInfo* info = checkpoint.Find(entry.name);
    tensors.push_back({info->name, info->dtype, info->shape});
  }
  return tensors;
}

// The text tensors of model.md 2.3 for any config.
class Inventory {
 public:
  explicit Inventory(const ModelConfig& config) : c_(config) {
    const int64_t v = c_.vocab_size, d = c_.hidden_size;
    Add("embed.weight", "BF16", {v, d});
    Add("head.weight", "BF16", {v, d});
    Add("norm.weight", "BF16", {d});
    for (int32_t l = 0; l < c_.num_hidden_layers; ++l) AddLayer(l);
  }

  const std::vector<HeaderTensor>& tensors() const { return tensors_; }

 private:
  void Add(const std::string& name, const char* dtype, std::vector<int64_t> shape) {
    tensors_.push_back({name, dtype, std::move(shape)});
  }
  void AddFp8(const std::string& name, int64_t n, int64_t k) {
    Add(name + ".weight", "F8_E4M3", {n, k});
    Add(name + ".scale", "F8_E8M0", {(n + 31) / 32, (k + 31) / 32});
  }
  void AddFp4(const std::string& name, int64_t n, int64_t k) {
    Add(name + ".weight", "I8", {n, k / 2});
    Add(name + ".scale", "F8_E8M0", {n, k / 32});
  }
  void AddLayer(int32_t l) {
    const std::string p = StrCat("layers.", l, ".");
    const int64_t d = c_.hidden_size, c = c_.head_dim, h = c_.num_attention_heads;
    const int64_t n = c_.hc_mult, qr = c_.q_lora_rank, go = int64_t{c_.o_groups} * c_.o_lora_rank;
    const int64_t e = c_.n_routed_experts, w = c_.moe_intermediate_size;
    for (const char* site : {"attn", "ffn"}) {
      Add(p + site + "_norm.weight", "BF16", {d});
      Add(p + "hc_" + site + "_fn", "F32", {(2 + n) * n, n * d});
      Add(p + "hc_" + site + "_base", "F32", {(2 + n) * n});
      Add(p + "hc_" + site + "_scale", "F32", {3});
    }
    AddFp8(p + "attn.wq_a", qr, d);
    Add(p + "attn.q_norm.weight", "BF16", {qr});
    AddFp8(p + "attn.wq_b", h * c, qr);
    AddFp8(p + "attn.wkv", c, d);
    Add(p + "attn.kv_norm.weight", "BF16", {c});
    Add(p + "attn.attn_sink", "F32", {h});
    AddFp8(p + "attn.wo_a", go, h * c / c_.o_groups);
    AddFp8(p + "attn.wo_b", d, go);
    if (c_.is_kv_source(l)) {
      Add(p + "attn.compressor.wkv.weight", "BF16", {c, d});
      if (c_.ratio(l) > 1) Add(p + "attn.compressor.wgate.weight", "BF16", {c, d});
      Add(p + "attn.compressor.norm.weight", "BF16", {c});
    }
    if (c_.owns_index_k(l)) {
      Add(p + "attn.indexer.wk.weight", "BF16", {c_.index_head_dim, c});
      Add(p + "attn.indexer.k_norm.weight", "BF16", {c_.index_head_dim});
    }
    if (c_.is_index_source(l)) {
      AddFp8(p + "attn.indexer.wq_b", int64_t{c_.index_n_heads} * c_.index_head_dim, qr);
      Add(p + "attn.indexer.weights_proj.weight", "BF16", {c_.index_n_heads, d});
    }
    Add(p + "ffn.gate.weight", "BF16", {e, d});
    Add(p + "ffn.gate.bias", "F32", {e});
    Add(p + "ffn.gate.bias_vl", "F32", {e});
    const int64_t sw = w * c_.n_shared_experts;
    AddFp8(p + "ffn.shared_experts.w1", sw, d);
    AddFp8(p + "ffn.shared_experts.w2", d, sw);
    AddFp8(p + "ffn.shared_experts.w3", sw, d);
    for (int64_t i = 0; i < e; ++i) {
      const std::string expert = StrCat(p, "ffn.experts.", i, ".");
      AddFp4(expert + "w1", w, d);
      AddFp4(expert + "w2", d, w);
      AddFp4(expert + "w3", w, d);
    }
    if (c_.engram_idx(l) < 0) return;
    const int64_t rows = c_.engram_num_embeddings[c_.engram_idx(l)], ne = c_.engram_head_dim;
    Add(p + "engram.embed.weight", "F8_E4M3", {rows, ne});
    Add(p + "engram.embed.scale", "F8_E8M0", {rows, ne / 32});
    AddFp8(p + "engram.wkv", (n + 1) * d, c_.engram_rows_per_token() * ne);
    Add(p + "engram.q_weight", "BF16", {n, d});
    Add(p + "engram.k_weight", "BF16", {n, d});
  }

  const ModelConfig& c_;
  std::vector<HeaderTensor> tensors_;
};

}  // namespace deepinfer::model::testing
