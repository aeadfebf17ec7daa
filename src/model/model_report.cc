#include "model/model_report.h"

#include <charconv>
#include <string_view>

#include "model/cache_layout.h"
#include "model/options.h"
#include "model/workspace.h"

namespace deepinfer::model {
namespace {

using checkpoint::Checkpoint;
using checkpoint::TensorInfo;

bool StartsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}
bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

bool IsScale(std::string_view name) { return EndsWith(name, ".scale"); }

// The engine's word for what a tensor holds.  Bytes stand for packed codes, or for scales.
std::string DTypeOf(std::string_view name, const TensorInfo& info) {
  if (info.dtype == "F32") return "f32";
  if (info.dtype == "BF16") return "bf16";
  if (info.dtype == "F8_E4M3") return "f8e4m3";
  if (info.dtype == "F8_E8M0") return "ue8m0";
  if (info.dtype == "I8" || info.dtype == "U8") return IsScale(name) ? "ue8m0" : "f4e2m1";
  return info.dtype;
}

TensorAmount AmountOf(std::string_view name, const TensorInfo& info, const std::string& dtype) {
  int64_t num_elements = 1;
  for (const int64_t dim : info.shape) num_elements *= dim;
  if (dtype == "f4e2m1") num_elements *= 2;
  return {.num_tensors = 1,
          .num_parameters = IsScale(name) ? 0 : num_elements,
          .num_bytes = static_cast<int64_t>(info.num_bytes)};
}

// "layers.17.attn..." -> 17, or -1.
int32_t LayerOf(std::string_view name) {
  constexpr std::string_view kLayers = "layers.";
  if (!StartsWith(name, kLayers)) return -1;
  name.remove_prefix(kLayers.size());
  int32_t layer = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
  return error == std::errc() && end < name.data() + name.size() && *end == '.' ? layer : -1;
}

// Where in the report a tensor counts.
AmountByDType& HeapOf(ModelReport& report, std::string_view name) {
  const int32_t layer = LayerOf(name);
  if (layer >= 0 && layer < static_cast<int32_t>(report.layers.size())) {
    return report.layers[layer].amounts;
  }
  if (name == "embed.weight" || name == "head.weight" || name == "norm.weight") {
    return report.globals;
  }
  if (StartsWith(name, "mtp.")) return report.draft;
  for (const std::string_view start : {"vision.", "aligner.", "image_"}) {
    if (StartsWith(name, start)) return report.vision;
  }
  return report.other;
}

// Parameters that one token uses of a backbone tensor: some of the experts, some rows of tables.
double ActiveOf(std::string_view name, const ModelConfig& config, int64_t num_parameters) {
  if (name.find(".ffn.experts.") != std::string_view::npos) {
    return static_cast<double>(num_parameters) * config.num_experts_per_tok /
           config.n_routed_experts;
  }
  if (EndsWith(name, ".engram.embed.weight")) {
    return static_cast<double>(config.engram_rows_per_token()) * config.engram_head_dim;
  }
  if (name == "embed.weight") return config.hidden_size;
  return static_cast<double>(num_parameters);
}

LayerReport DescribeLayer(const ModelConfig& config, int32_t l) {
  return {.layer_idx = l,
          .compress_ratio = config.ratio(l),
          .kv_source = config.kv_source(l),
          .index_source = config.index_source(l),
          .owns_index_keys = config.owns_index_k(l),
          .publishes_candidates = config.candidate_source_layer_id == l,
          .uses_candidates = config.uses_candidates(l),
          .has_engram = config.engram_idx(l) >= 0,
          .amounts = {}};
}

}  // namespace

TensorAmount Total(const AmountByDType& amounts) {
  TensorAmount total;
  for (const auto& [dtype, amount] : amounts) total.Add(amount);
  return total;
}

Result<ModelReport> MakeModelReport(const Checkpoint& checkpoint, const ModelConfig& config,
                                    const ModelOptions& options) {
  DI_ASSIGN_OR_RETURN(const ModelOptions resolved, ResolveOptions(config, options));
  ModelReport report;
  for (int32_t l = 0; l < config.num_hidden_layers; ++l) {
    report.layers.push_back(DescribeLayer(config, l));
  }
  double num_active = 0;
  for (const Checkpoint::Entry& entry : checkpoint.entries()) {
    const TensorInfo& info = checkpoint.shards()[entry.shard_idx].tensors()[entry.tensor_idx];
    const std::string dtype = DTypeOf(entry.name, info);
    const TensorAmount amount = AmountOf(entry.name, info, dtype);
    AmountByDType& heap = HeapOf(report, entry.name);
    heap[dtype].Add(amount);
    report.all[dtype].Add(amount);
    if (&heap == &report.draft || &heap == &report.vision || &heap == &report.other) continue;
    report.num_backbone_parameters += amount.num_parameters;
    if (amount.num_parameters > 0) {
      num_active += ActiveOf(entry.name, config, amount.num_parameters);
    }
  }
  report.num_active_parameters = static_cast<int64_t>(num_active + 0.5);

  const CacheLayout layout(config, resolved.max_rollback_tokens);
  report.kv_bytes_per_token = static_cast<double>(layout.block_payload_bytes()) / ops::kBlockSize;
  report.block_bytes = layout.block_bytes();
  report.state_slot_bytes = layout.slot_bytes();
  report.workspace_bytes = WorkspaceBytes(config, resolved);
  return report;
}

MemoryNeeded MemoryFor(const ModelReport& report, int64_t num_sequences, int64_t len) {
  return {.weight_bytes = Total(report.all).num_bytes,
          .block_bytes = num_sequences * CacheLayout::NumBlocks(len) * report.block_bytes,
          .state_bytes = num_sequences * report.state_slot_bytes,
          .workspace_bytes = report.workspace_bytes};
}

}  // namespace deepinfer::model
