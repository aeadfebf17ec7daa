#include "engine/loader.h"

#include <algorithm>
#include <utility>

#include "backend/all/registry.h"
#include "backend/op_table.h"
#include "backend/stream.h"
#include "base/file_system.h"
#include "base/log.h"
#include "base/strings.h"
#include "engine/generation_config.h"
#include "engine/model_folder.h"
#include "model/cache_layout.h"
#include "model/model_config.h"
#include "tokenizer/engram_vocabulary.h"

namespace deepinfer::engine {
namespace {

constexpr uint64_t kMaxConfigBytes = 16 << 20;

Result<model::ModelConfig> LoadModelConfig(FileSystem& fs, const std::string& folder) {
  const std::string path = JoinPath(folder, "config.json");
  DI_ASSIGN_OR_RETURN(const std::string text, ReadFile(fs, path, kMaxConfigBytes));
  Result<model::ModelConfig> config = model::ParseModelConfig(text);
  if (!config.ok()) return config.status().WithContext(path);
  return config;
}

// The tokenizer must not know more tokens than the model has rows for.
Status CheckVocabulary(const tokenizer::Tokenizer& tokenizer, const model::ModelConfig& config,
                       const std::vector<int32_t>& eos_token_ids) {
  if (tokenizer.size() > config.vocab_size) {
    return InvalidArgument(StrCat("tokenizer.json: expected at most vocab_size (",
                                  config.vocab_size, ") tokens, got ", tokenizer.size()));
  }
  for (const int32_t id : eos_token_ids) {
    if (id < 0 || id >= config.vocab_size) {
      return InvalidArgument(
          StrCat("eos_token_id: expected ids in 0..", config.vocab_size - 1, ", got ", id));
    }
  }
  return OkStatus();
}

// A device without a kernel for some op is found out now, not in the middle of a request.
Status CheckOps(backend::Device& device) {
  std::vector<std::string> missing;
  for (const std::string_view op : backend::MissingOps(device.CreateStream()->ops())) {
    missing.emplace_back(op);
  }
  if (missing.empty()) return OkStatus();
  return Unimplemented(
      StrCat("device ", device.properties().name, " has no kernels for: ", StrJoin(missing, ", ")));
}

// A published way to name backends that are called otherwise here.
std::string DeviceName(const std::string& device) { return device == "nvidia" ? "cuda" : device; }

void LogSizes(const EngineSizes& sizes, const model::ModelConfig& config) {
  if (sizes.is_len_bounded_by_blocks) {
    LogWarning("max_model_len_bounded", {{"max_model_len", sizes.max_model_len},
                                         {"checkpoint", config.max_position_embeddings},
                                         {"num_kv_blocks", sizes.num_blocks - 1}});
  }
}

}  // namespace

Result<EngineParts> LoadEngineParts(const EngineConfig& config) {
  FileSystem& fs = PosixFileSystem();
  EngineParts parts;
  DI_ASSIGN_OR_RETURN(const ModelFolder folder, FindModelFolder(config.model));
  DI_ASSIGN_OR_RETURN(parts.device, backend::CreateDevice({.name = DeviceName(config.device),
                                                           .num_threads = config.num_threads,
                                                           .isa = config.isa}));
  DI_RETURN_IF_ERROR(CheckOps(*parts.device));
  DI_ASSIGN_OR_RETURN(const model::ModelConfig model_config, LoadModelConfig(fs, folder.path));
  DI_ASSIGN_OR_RETURN(GenerationConfig generation, LoadGenerationConfig(fs, folder.path));
  DI_ASSIGN_OR_RETURN(parts.tokenizer, tokenizer::Tokenizer::Load(fs, folder.path));
  parts.info.eos_token_ids =
      generation.eos_token_ids.empty() ? model_config.eos_token_id : generation.eos_token_ids;
  DI_RETURN_IF_ERROR(CheckVocabulary(*parts.tokenizer, model_config, parts.info.eos_token_ids));
  DI_ASSIGN_OR_RETURN(parts.checkpoint, checkpoint::Checkpoint::Open(fs, folder.path));

  model::ModelOptions options{.numerics = config.numerics,
                              .max_num_tokens = config.max_num_batched_tokens};
  const model::CacheLayout layout(model_config, options.max_rollback_tokens);
  DI_ASSIGN_OR_RETURN(
      parts.sizes,
      ComputeSizes(config, {.max_position_embeddings = model_config.max_position_embeddings,
                            .block_bytes = layout.block_bytes(),
                            .block_size = ops::kBlockSize,
                            .device_memory_bytes = parts.device->properties().total_memory_bytes}));
  LogSizes(parts.sizes, model_config);
  options.max_model_len = parts.sizes.max_model_len;
  options.max_num_logit_rows = parts.sizes.max_num_logit_rows;

  std::vector<int32_t> compressed_ids;
  if (!model_config.engram_layer_ids.empty()) {
    tokenizer::EngramVocabulary vocabulary = tokenizer::MakeEngramVocabulary(*parts.tokenizer);
    if (vocabulary.size != model_config.engram_compressed_vocab_size) {
      return InvalidArgument(StrCat(
          folder.path, ": expected a tokenizer with engram_compressed_vocab_size (",
          model_config.engram_compressed_vocab_size, ") distinct keys, got ", vocabulary.size));
    }
    compressed_ids = std::move(vocabulary.compressed_ids);
  }
  DI_ASSIGN_OR_RETURN(parts.model, model::Model::Load(*parts.checkpoint, model_config,
                                                      compressed_ids, *parts.device, options));
  parts.info.path = folder.path;
  parts.info.name = BaseName(folder.path);
  parts.info.is_builtin = folder.is_builtin;
  parts.info.sampling_defaults = generation.sampling;
  return parts;
}

}  // namespace deepinfer::engine
