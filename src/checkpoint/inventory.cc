#include "checkpoint/inventory.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/strings.h"

namespace deepinfer::checkpoint {
namespace {

constexpr int64_t kGroup = 32;  // columns (and rows of a tile) that share a scale

// The sizes that shapes are made of; names as in config.json.
struct Dims {
  int64_t vocab_size, hidden_size, num_hidden_layers, num_attention_heads, head_dim, q_lora_rank;
  int64_t o_groups, o_lora_rank, moe_intermediate_size, n_routed_experts, n_shared_experts, hc_mult;
  int64_t index_n_heads, index_head_dim;
  int64_t engram_max_ngram_size, engram_n_heads, engram_head_dim;
  int64_t num_nextn_predict_layers, dspark_markov_rank, dspark_n_routed_experts;
  std::vector<int64_t> compress_ratios, kv_sources, index_sources, index_k_sources;
  std::vector<int64_t> engram_layers, engram_rows, target_layers;
};

constexpr int64_t kMaxSize = int64_t{1} << 31;  // of an axis
constexpr int64_t kMaxLayers = 10'000;
constexpr int64_t kMaxWeights = 10'000'000;

struct SizeKey {
  std::string_view key;
  int64_t Dims::*field;
  int64_t fallback;  // -1: the key must be there
  int64_t min;
  int64_t max;
};

constexpr SizeKey kSizeKeys[] = {
    {"vocab_size", &Dims::vocab_size, -1, 1, kMaxSize},
    {"hidden_size", &Dims::hidden_size, -1, 1, kMaxSize},
    {"num_hidden_layers", &Dims::num_hidden_layers, -1, 1, kMaxLayers},
    {"num_attention_heads", &Dims::num_attention_heads, -1, 1, 1 << 16},
    {"head_dim", &Dims::head_dim, -1, 1, 1 << 16},
    {"q_lora_rank", &Dims::q_lora_rank, -1, 1, kMaxSize},
    {"o_groups", &Dims::o_groups, 8, 1, 1 << 16},
    {"o_lora_rank", &Dims::o_lora_rank, 1024, 1, 1 << 16},
    {"moe_intermediate_size", &Dims::moe_intermediate_size, 2304, 1, 1 << 24},
    {"n_routed_experts", &Dims::n_routed_experts, 384, 1, 1 << 16},
    {"n_shared_experts", &Dims::n_shared_experts, 1, 1, 64},
    {"hc_mult", &Dims::hc_mult, 4, 1, 64},
    {"index_n_heads", &Dims::index_n_heads, 32, 1, 1 << 16},
    {"index_head_dim", &Dims::index_head_dim, 128, 1, 1 << 16},
    {"engram_max_ngram_size", &Dims::engram_max_ngram_size, 4, 2, 64},
    {"engram_n_heads", &Dims::engram_n_heads, 8, 1, 1 << 16},
    {"engram_head_dim", &Dims::engram_head_dim, 256, 1, 1 << 16},
    {"num_nextn_predict_layers", &Dims::num_nextn_predict_layers, 0, 0, 1000},
    {"dspark_markov_rank", &Dims::dspark_markov_rank, 256, 1, 1 << 20},
    {"dspark_n_routed_experts", &Dims::dspark_n_routed_experts, 128, 1, 1 << 16},
};

bool Has(const std::vector<int64_t>& list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

Result<std::vector<int64_t>> ReadList(const json::Cursor& text, std::string_view key, int64_t max) {
  DI_ASSIGN_OR_RETURN(std::vector<int64_t> list, text.ReadOr<std::vector<int64_t>>(key, {}));
  for (const int64_t value : list) {
    if (value < 0 || value > max) {
      return text.Refuse(StrCat(key, ": expected values of 0..", max, ", got ", value));
    }
  }
  return list;
}

Result<Dims> ReadDims(const json::Value& config) {
  DI_ASSIGN_OR_RETURN(const json::Cursor text, json::Cursor(config).Get("text_config"));
  Dims dims = {};
  for (const SizeKey& row : kSizeKeys) {
    int64_t value = 0;
    if (row.fallback < 0) {
      DI_ASSIGN_OR_RETURN(value, text.Read<int64_t>(row.key));
    } else {
      DI_ASSIGN_OR_RETURN(value, text.ReadOr<int64_t>(row.key, row.fallback));
    }
    if (value < row.min || value > row.max) {
      return InvalidArgument(
          StrCat("text_config.", row.key, ": expected ", row.min, "..", row.max, ", got ", value));
    }
    dims.*row.field = value;
  }
  const int64_t last = dims.num_hidden_layers - 1;
  DI_ASSIGN_OR_RETURN(dims.compress_ratios, ReadList(text, "compress_ratios", 2));
  DI_ASSIGN_OR_RETURN(dims.kv_sources, ReadList(text, "kv_source_layer_ids", last));
  DI_ASSIGN_OR_RETURN(dims.index_sources, ReadList(text, "index_source_layer_ids", last));
  DI_ASSIGN_OR_RETURN(dims.index_k_sources, ReadList(text, "index_k_source_layer_ids", last));
  DI_ASSIGN_OR_RETURN(dims.engram_layers, ReadList(text, "engram_layer_ids", last));
  DI_ASSIGN_OR_RETURN(dims.engram_rows, ReadList(text, "engram_num_embeddings", kMaxSize));
  DI_ASSIGN_OR_RETURN(dims.target_layers, ReadList(text, "dspark_target_layer_ids", last));
  if (!text.value().Find("index_k_source_layer_ids")) dims.index_k_sources = dims.kv_sources;
  if (static_cast<int64_t>(dims.compress_ratios.size()) < dims.num_hidden_layers) {
    return text.Refuse(StrCat("compress_ratios: expected one for each of ", dims.num_hidden_layers,
                              " layers, got ", dims.compress_ratios.size()));
  }
  if (dims.engram_rows.size() != dims.engram_layers.size()) {
    return text.Refuse(StrCat("engram_num_embeddings: expected one for each of ",
                              dims.engram_layers.size(), " engram layers, got ",
                              dims.engram_rows.size()));
  }
  const int64_t heads_width = dims.num_attention_heads * dims.head_dim;
  if (heads_width % dims.o_groups != 0) {
    return text.Refuse(StrCat("o_groups: expected a divisor of num_attention_heads * head_dim = ",
                              heads_width, ", got ", dims.o_groups));
  }
  if (dims.num_nextn_predict_layers > 0 && dims.target_layers.empty()) {
    return text.Refuse("dspark_target_layer_ids: expected at least one layer, got none");
  }
  return dims;
}

class Builder {
 public:
  explicit Builder(const Dims& dims) : d_(dims) {}

  std::vector<Weight> Build() {
    Plain("embed.weight", {d_.vocab_size, d_.hidden_size}, 1);
    for (int64_t l = 0; l < d_.num_hidden_layers; ++l) {
      const std::string layer = StrCat("layers.", l, ".");
      AddLayer(layer, d_.n_routed_experts);
      AddCompressor(layer + "attn.", l);
      AddEngram(layer + "engram.", l);
    }
    Norm("norm.weight", d_.hidden_size);
    Projection("head.weight", WeightFormat::kBF16, d_.vocab_size, d_.hidden_size);
    for (int64_t i = 0; i < d_.num_nextn_predict_layers; ++i) AddDraftLayer(i);
    return std::move(out_);
  }

 private:
  void Add(std::string name, WeightFormat format, std::vector<int64_t> shape, WeightShape values) {
    out_.push_back({std::move(name), format, std::move(shape), values});
  }
  void Plain(std::string name, std::vector<int64_t> shape, float scale) {
    Add(std::move(name), WeightFormat::kBF16, std::move(shape), {.scale = scale});
  }
  void Norm(std::string name, int64_t size) {
    Add(std::move(name), WeightFormat::kBF16, {size}, {.mean = 1, .scale = 0.1f});
  }
  // y = x W^T of a unit-variance x has unit variance, times `gain`.
  void Projection(std::string name, WeightFormat format, int64_t out, int64_t in, float gain = 1) {
    Add(std::move(name), format, {out, in}, {.scale = gain / std::sqrt(static_cast<float>(in))});
  }
  void Float(std::string name, std::vector<int64_t> shape, float scale) {
    Add(std::move(name), WeightFormat::kF32, std::move(shape), {.scale = scale});
  }

  // What backbone and draft layers have in common.
  void AddLayer(const std::string& p, int64_t num_experts) {
    const int64_t d = d_.hidden_size;
    const int64_t heads_width = d_.num_attention_heads * d_.head_dim;
    const int64_t o_rank = d_.o_groups * d_.o_lora_rank;
    constexpr WeightFormat kF8 = WeightFormat::kF8Tiles;
    Norm(p + "attn_norm.weight", d);
    Norm(p + "ffn_norm.weight", d);
    AddHyperConnection(p + "hc_attn_");
    AddHyperConnection(p + "hc_ffn_");
    Projection(p + "attn.wq_a.weight", kF8, d_.q_lora_rank, d);
    Norm(p + "attn.q_norm.weight", d_.q_lora_rank);
    Projection(p + "attn.wq_b.weight", kF8, heads_width, d_.q_lora_rank);
    Projection(p + "attn.wkv.weight", kF8, d_.head_dim, d);
    Norm(p + "attn.kv_norm.weight", d_.head_dim);
    Float(p + "attn.attn_sink", {d_.num_attention_heads}, 1);
    Projection(p + "attn.wo_a.weight", kF8, o_rank, heads_width / d_.o_groups);
    Projection(p + "attn.wo_b.weight", kF8, d, o_rank);
    Projection(p + "ffn.gate.weight", WeightFormat::kBF16, num_experts, d, 4);
    Float(p + "ffn.gate.bias", {num_experts}, 0.05f);
    Float(p + "ffn.gate.bias_vl", {num_experts}, 0.05f);
    AddExpert(p + "ffn.shared_experts.", kF8, d_.moe_intermediate_size * d_.n_shared_experts);
    for (int64_t e = 0; e < num_experts; ++e) {
      AddExpert(StrCat(p, "ffn.experts.", e, "."), WeightFormat::kF4Rows, d_.moe_intermediate_size);
    }
  }

  void AddHyperConnection(const std::string& p) {
    const int64_t n = d_.hc_mult;
    Float(p + "fn", {(2 + n) * n, n * d_.hidden_size}, 0.02f);
    Add(p + "base", WeightFormat::kF32, {(2 + n) * n}, {.kind = WeightShape::Kind::kHcBase});
    Add(p + "scale", WeightFormat::kF32, {3},
        {.kind = WeightShape::Kind::kUniform, .mean = 0.3f, .scale = 1.5f});
  }

  void AddExpert(const std::string& p, WeightFormat format, int64_t width) {
    Projection(p + "w1.weight", format, width, d_.hidden_size);
    Projection(p + "w3.weight", format, width, d_.hidden_size);
    Projection(p + "w2.weight", format, d_.hidden_size, width);
  }

  void AddCompressor(const std::string& p, int64_t l) {
    constexpr WeightFormat kPlain = WeightFormat::kBF16;
    const int64_t c = d_.head_dim;
    if (Has(d_.kv_sources, l)) {
      Projection(p + "compressor.wkv.weight", kPlain, c, d_.hidden_size);
      if (d_.compress_ratios[static_cast<size_t>(l)] > 1) {
        // Threefold, so that the pooling is far from uniform.
        Projection(p + "compressor.wgate.weight", kPlain, c, d_.hidden_size, 3);
      }
      Norm(p + "compressor.norm.weight", c);
    }
    if (Has(d_.index_k_sources, l)) {
      Projection(p + "indexer.wk.weight", kPlain, d_.index_head_dim, c);
      Norm(p + "indexer.k_norm.weight", d_.index_head_dim);
    }
    if (Has(d_.index_sources, l)) {
      Projection(p + "indexer.wq_b.weight", WeightFormat::kF8Tiles,
                 d_.index_n_heads * d_.index_head_dim, d_.q_lora_rank);
      Projection(p + "indexer.weights_proj.weight", kPlain, d_.index_n_heads, d_.hidden_size);
    }
  }

  void AddEngram(const std::string& p, int64_t l) {
    const auto at = std::find(d_.engram_layers.begin(), d_.engram_layers.end(), l);
    if (at == d_.engram_layers.end()) return;
    const int64_t rows = d_.engram_rows[static_cast<size_t>(at - d_.engram_layers.begin())];
    const int64_t in = (d_.engram_max_ngram_size - 1) * d_.engram_n_heads * d_.engram_head_dim;
    Add(p + "embed.weight", WeightFormat::kF8Rows, {rows, d_.engram_head_dim}, {});
    Projection(p + "wkv.weight", WeightFormat::kF8Tiles, (d_.hc_mult + 1) * d_.hidden_size, in);
    for (const std::string_view name : {"q_weight", "k_weight"}) {
      Add(StrCat(p, name), WeightFormat::kBF16, {d_.hc_mult, d_.hidden_size},
          {.mean = 1, .scale = 0.2f});
    }
  }

  void AddDraftLayer(int64_t i) {
    const std::string p = StrCat("mtp.", i, ".");
    AddLayer(p, d_.dspark_n_routed_experts);
    if (i == 0) {
      const auto num_targets = static_cast<int64_t>(d_.target_layers.size());
      Projection(p + "main_proj.weight", WeightFormat::kF8Tiles, d_.hidden_size,
                 num_targets * d_.hidden_size);
      Norm(p + "main_norm.weight", d_.hidden_size);
    }
    if (i + 1 == d_.num_nextn_predict_layers) {
      const int64_t r = d_.dspark_markov_rank;
      Norm(p + "norm.weight", d_.hidden_size);
      Plain(p + "markov_head.embed.weight", {d_.vocab_size, r}, 1);
      Projection(p + "markov_head.head.weight", WeightFormat::kBF16, d_.vocab_size, r);
      Projection(p + "confidence_head.proj.weight", WeightFormat::kF32, 1, d_.hidden_size + r);
    }
  }

  const Dims& d_;
  std::vector<Weight> out_;
};

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

int64_t Weight::num_cols() const {
  int64_t n = 1;
  for (size_t i = 1; i < shape.size(); ++i) n *= shape[i];
  return n;
}

TensorSpec Weight::Codes() const {
  switch (format) {
    case WeightFormat::kF32:
      return {name, "F32", shape};
    case WeightFormat::kBF16:
      return {name, "BF16", shape};
    case WeightFormat::kF8Tiles:
    case WeightFormat::kF8Rows:
      return {name, "F8_E4M3", shape};
    case WeightFormat::kF4Rows:
      return {name, "I8", {num_rows(), num_cols() / 2}};
  }
  return {};
}

TensorSpec Weight::Scales() const {
  constexpr std::string_view kSuffix = ".weight";
  DI_CHECK(is_pair() && name.ends_with(kSuffix), "name=", name);
  const int64_t rows = format == WeightFormat::kF8Tiles ? CeilDiv(num_rows(), kGroup) : num_rows();
  return {name.substr(0, name.size() - kSuffix.size()) + ".scale",
          "F8_E8M0",
          {rows, CeilDiv(num_cols(), kGroup)}};
}

Result<std::vector<Weight>> TextInventory(const json::Value& config) {
  DI_ASSIGN_OR_RETURN(const Dims dims, ReadDims(config));
  const int64_t num_weights =
      dims.num_hidden_layers * (3 * dims.n_routed_experts + 50) +
      dims.num_nextn_predict_layers * (3 * dims.dspark_n_routed_experts + 50);
  if (num_weights > kMaxWeights) {
    return InvalidArgument(StrCat("text_config: expected at most ", kMaxWeights,
                                  " weights in all, got about ", num_weights));
  }
  std::vector<Weight> weights = Builder(dims).Build();
  for (const Weight& weight : weights) {
    const bool is_by_row =
        weight.format == WeightFormat::kF4Rows || weight.format == WeightFormat::kF8Rows;
    if (is_by_row && weight.num_cols() % kGroup != 0) {
      return InvalidArgument(StrCat(weight.name, ": expected rows of a multiple of ", kGroup,
                                    " elements, got ", weight.num_cols()));
    }
    DI_RETURN_IF_ERROR(BytesOf(weight.Codes()).status());
  }
  return weights;
}

}  // namespace deepinfer::checkpoint
