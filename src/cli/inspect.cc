// deepinfer inspect: what is in a checkpoint, and what it costs to run.
#include <cstdio>
#include <vector>

#include "base/file_system.h"
#include "base/json.h"
#include "base/strings.h"
#include "checkpoint/checkpoint.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "engine/model_folder.h"
#include "model/model_report.h"

namespace deepinfer::cli {
namespace {

using model::AmountByDType;
using model::LayerReport;
using model::MemoryNeeded;
using model::ModelReport;
using model::TensorAmount;

constexpr uint64_t kMaxConfigBytes = 1 << 20;

struct Flags {
  std::vector<std::string> models;
  bool json = false;
  bool tensors = false;
  int64_t num_sequences = 1;
  int64_t len = 0;
};

json::Value AmountJson(const AmountByDType& amounts) {
  json::Value out = json::Value::Object();
  for (const auto& [dtype, amount] : amounts) {
    json::Value row = json::Value::Object();
    row.Set("num_tensors", amount.num_tensors);
    row.Set("num_parameters", amount.num_parameters);
    row.Set("num_bytes", amount.num_bytes);
    out.Set(dtype, std::move(row));
  }
  return out;
}

json::Value LayerJson(const LayerReport& layer) {
  json::Value out = json::Value::Object();
  out.Set("layer_idx", layer.layer_idx);
  out.Set("compress_ratio", layer.compress_ratio);
  out.Set("kv_source", layer.kv_source);
  out.Set("index_source", layer.index_source);
  out.Set("owns_index_keys", layer.owns_index_keys);
  out.Set("publishes_candidates", layer.publishes_candidates);
  out.Set("uses_candidates", layer.uses_candidates);
  out.Set("has_engram", layer.has_engram);
  out.Set("amounts", AmountJson(layer.amounts));
  return out;
}

json::Value MemoryJson(const MemoryNeeded& memory, const Flags& flags) {
  json::Value out = json::Value::Object();
  out.Set("num_sequences", flags.num_sequences);
  out.Set("len", flags.len);
  out.Set("weight_bytes", memory.weight_bytes);
  out.Set("block_bytes", memory.block_bytes);
  out.Set("state_bytes", memory.state_bytes);
  out.Set("workspace_bytes", memory.workspace_bytes);
  out.Set("total_bytes", memory.total_bytes());
  return out;
}

json::Value ReportJson(const std::string& folder, const ModelReport& report, const Flags& flags) {
  json::Value out = json::Value::Object();
  out.Set("path", folder);
  out.Set("num_backbone_parameters", report.num_backbone_parameters);
  out.Set("num_active_parameters", report.num_active_parameters);
  out.Set("kv_bytes_per_token", report.kv_bytes_per_token);
  out.Set("state_slot_bytes", report.state_slot_bytes);
  json::Value layers = json::Value::Array();
  for (const LayerReport& layer : report.layers) layers.Append(LayerJson(layer));
  out.Set("layers", std::move(layers));
  out.Set("globals", AmountJson(report.globals));
  out.Set("draft", AmountJson(report.draft));
  out.Set("vision", AmountJson(report.vision));
  out.Set("other", AmountJson(report.other));
  out.Set("all", AmountJson(report.all));
  out.Set("memory", MemoryJson(model::MemoryFor(report, flags.num_sequences, flags.len), flags));
  return out;
}

std::string LayerNotes(const LayerReport& layer) {
  std::vector<std::string> notes;
  if (layer.has_engram) notes.push_back("engram");
  if (layer.kv_source == layer.layer_idx) notes.push_back("compressor");
  if (layer.owns_index_keys) notes.push_back("index keys");
  if (layer.index_source == layer.layer_idx) notes.push_back("indexer");
  if (layer.publishes_candidates) notes.push_back("publishes candidates");
  if (layer.uses_candidates) notes.push_back("inside candidates");
  return StrJoin(notes, ", ");
}

std::string SourceText(int32_t source) { return source < 0 ? "-" : StrCat(source); }

std::string Count(int64_t n) {
  char buffer[32];
  if (n >= 1'000'000'000) {
    std::snprintf(buffer, sizeof(buffer), "%.2f B", static_cast<double>(n) / 1e9);
  } else {
    std::snprintf(buffer, sizeof(buffer), "%.2f M", static_cast<double>(n) / 1e6);
  }
  return buffer;
}

void PrintAmounts(const char* label, const AmountByDType& amounts) {
  if (amounts.empty()) return;
  const TensorAmount total = model::Total(amounts);
  std::string by_dtype;
  for (const auto& [dtype, amount] : amounts) {
    by_dtype += StrCat(by_dtype.empty() ? "" : ", ", dtype, " ",
                       HumanBytes(static_cast<uint64_t>(amount.num_bytes)));
  }
  std::printf("%-12s %7lld tensors  %10s parameters  %10s  (%s)\n", label,
              static_cast<long long>(total.num_tensors), Count(total.num_parameters).c_str(),
              HumanBytes(static_cast<uint64_t>(total.num_bytes)).c_str(), by_dtype.c_str());
}

void PrintTable(const ModelReport& report) {
  std::printf("\n%5s %5s %9s %7s %12s %10s  %s\n", "layer", "ratio", "kv source", "index",
              "parameters", "bytes", "has");
  for (const LayerReport& layer : report.layers) {
    const TensorAmount total = model::Total(layer.amounts);
    std::printf("%5d %5d %9s %7s %12s %10s  %s\n", layer.layer_idx, layer.compress_ratio,
                SourceText(layer.kv_source).c_str(), SourceText(layer.index_source).c_str(),
                Count(total.num_parameters).c_str(),
                HumanBytes(static_cast<uint64_t>(total.num_bytes)).c_str(),
                LayerNotes(layer).c_str());
  }
  std::printf("\n");
  AmountByDType layers;
  for (const LayerReport& layer : report.layers) {
    for (const auto& [dtype, amount] : layer.amounts) layers[dtype].Add(amount);
  }
  PrintAmounts("layers", layers);
  PrintAmounts("globals", report.globals);
  PrintAmounts("draft", report.draft);
  PrintAmounts("vision", report.vision);
  PrintAmounts("other", report.other);
  PrintAmounts("all", report.all);
}

void PrintText(const std::string& folder, const ModelReport& report, const Flags& flags) {
  std::printf("%s\n", folder.c_str());
  PrintTable(report);
  const auto bytes = [](int64_t n) { return HumanBytes(static_cast<uint64_t>(n)); };
  std::printf("\nparameters: %s in the backbone, %s active a token\n",
              Count(report.num_backbone_parameters).c_str(),
              Count(report.num_active_parameters).c_str());
  std::printf("cache: %g bytes a token, %s a sequence beside it\n", report.kv_bytes_per_token,
              bytes(report.state_slot_bytes).c_str());
  const MemoryNeeded memory = model::MemoryFor(report, flags.num_sequences, flags.len);
  std::printf(
      "memory for %lld sequence(s) of %lld tokens: %s weights (mapped; only what is used is "
      "resident), %s cache, %s states, %s workspace; %s in all\n",
      static_cast<long long>(flags.num_sequences), static_cast<long long>(flags.len),
      bytes(memory.weight_bytes).c_str(), bytes(memory.block_bytes).c_str(),
      bytes(memory.state_bytes).c_str(), bytes(memory.workspace_bytes).c_str(),
      bytes(memory.total_bytes()).c_str());
}

void PrintTensors(const checkpoint::Checkpoint& checkpoint) {
  for (const checkpoint::Checkpoint::Entry& entry : checkpoint.entries()) {
    const checkpoint::TensorInfo* info = checkpoint.Find(entry.name);
    std::string shape;
    for (const int64_t dim : info->shape) shape += StrCat(shape.empty() ? "" : ", ", dim);
    std::printf("%s\t%s\t[%s]\t%s\n", entry.name.c_str(), info->dtype.c_str(), shape.c_str(),
                BaseName(checkpoint.FileOf(entry.name)).c_str());
  }
}

Status Inspect(Flags& flags) {
  DI_ASSIGN_OR_RETURN(const engine::ModelFolder folder,
                      engine::FindModelFolder(flags.models.empty() ? "" : flags.models[0]));
  if (folder.is_builtin && !flags.json) {
    std::fprintf(stderr, "no model named: showing the built-in one\n");
  }
  FileSystem& fs = PosixFileSystem();
  const std::string config_path = JoinPath(folder.path, "config.json");
  DI_ASSIGN_OR_RETURN(const std::string text, ReadFile(fs, config_path, kMaxConfigBytes));
  Result<model::ModelConfig> config = model::ParseModelConfig(text);
  if (!config.ok()) return config.status().WithContext(config_path);
  DI_ASSIGN_OR_RETURN(const checkpoint::Checkpoint checkpoint,
                      checkpoint::Checkpoint::Open(fs, folder.path));
  if (flags.tensors) {
    PrintTensors(checkpoint);
    return OkStatus();
  }
  DI_ASSIGN_OR_RETURN(const ModelReport report,
                      model::MakeModelReport(checkpoint, *config, model::ModelOptions()));
  if (flags.len == 0) flags.len = config->max_position_embeddings;
  if (flags.json) {
    std::printf("%s\n", json::Write(ReportJson(folder.path, report, flags)).c_str());
  } else {
    PrintText(folder.path, report, flags);
  }
  return OkStatus();
}

}  // namespace

int32_t RunInspect(std::span<const std::string> arguments) {
  Flags flags;
  Arguments declared("inspect", "[--flags] [MODEL]",
                     "Shows what is in a checkpoint, from its headers alone.");
  declared.Positionals("model", flags.models,
                       "checkpoint folder or model id; none: the built-in one");
  declared.Flag("--sequences", flags.num_sequences, "memory for this many sequences [1]");
  declared.Flag("--length", flags.len, "of this many tokens each [the longest allowed]");
  declared.Switch("--tensors", flags.tensors, "list every tensor: name, dtype, shape, file");
  declared.Switch("--json", flags.json, "one JSON object");
  if (const std::optional<int32_t> code = declared.Parse(arguments)) return *code;
  if (flags.models.size() > 1) return Fail("inspect", "expected one model", kExitUsage);
  constexpr int64_t kMany = 1 << 30;
  if (flags.num_sequences < 1 || flags.num_sequences > 1'000'000 || flags.len < 0 ||
      flags.len > kMany) {
    return Fail("inspect", "expected --sequences in 1..1000000 and --length in 0..1073741824",
                kExitUsage);
  }
  const Status status = Inspect(flags);
  return status.ok() ? kExitOk : Fail("inspect", status.message());
}

}  // namespace deepinfer::cli
