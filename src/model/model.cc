#include "model/model.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "model/engram_hash.h"
#include "model/rope.h"
#include "model/text_model.h"

namespace deepinfer::model {
namespace {

Result<ModelOptions> ResolveOptions(const ModelConfig& config, ModelOptions options) {
  if (options.max_model_len == 0) options.max_model_len = config.max_position_embeddings;
  struct Limit {
    const char* name;
    int32_t value, min, max;
  };
  for (const Limit& limit :
       {Limit{"max_model_len", options.max_model_len, 1, config.max_position_embeddings},
        Limit{"max_num_tokens", options.max_num_tokens, 1, 1 << 20},
        Limit{"max_num_logit_rows", options.max_num_logit_rows, 1, 1 << 20},
        Limit{"max_rollback_tokens", options.max_rollback_tokens, 0, 1 << 16}}) {
    if (limit.value < limit.min || limit.value > limit.max) {
      return InvalidArgument(
          StrCat(limit.name, ": expected ", limit.min, "..", limit.max, ", got ", limit.value));
    }
  }
  return options;
}

// The tables of the config must be as long as the hash can reach, and no longer.
Status CheckEngramRows(const ModelConfig& config, const std::vector<EngramHashLayer>& layers) {
  for (size_t i = 0; i < layers.size(); ++i) {
    if (config.engram_num_embeddings[i] != layers[i].num_rows) {
      return InvalidArgument(StrCat("text_config.engram_num_embeddings[", i, "]: expected ",
                                    layers[i].num_rows, " (sum of the layer's primes), got ",
                                    config.engram_num_embeddings[i]));
    }
  }
  return OkStatus();
}

Status CheckCompressedIds(const ModelConfig& config, std::span<const int32_t> compressed_ids) {
  int64_t size = 0;
  for (const int32_t id : compressed_ids) {
    if (id < 0) return InvalidArgument(StrCat("engram token map: expected ids >= 0, got ", id));
    size = std::max<int64_t>(size, int64_t{id} + 1);
  }
  if (size != config.engram_compressed_vocab_size) {
    return InvalidArgument(StrCat("text_config.engram_compressed_vocab_size: expected ", size,
                                  " (derived from the tokenizer), got ",
                                  config.engram_compressed_vocab_size));
  }
  if (config.engram_pad_token_id >= static_cast<int64_t>(compressed_ids.size())) {
    return InvalidArgument(
        StrCat("text_config.engram_pad_token_id: expected an id of the "
               "tokenizer (0..",
               compressed_ids.size() - 1, "), got ", config.engram_pad_token_id));
  }
  return OkStatus();
}

// Collects host tables, then uploads them in one allocation.
class TableBuilder {
 public:
  // `view` becomes [values.size()] or, with `num_rows`, [num_rows, values.size() / num_rows] in
  // Upload.
  template <typename T>
  void Add(DType dtype, std::span<const T> values, TensorView& view, int64_t num_rows = 0) {
    constexpr size_t kAlignment = 64;
    const size_t offset = (bytes_.size() + kAlignment - 1) / kAlignment * kAlignment;
    const auto* data = reinterpret_cast<const char*>(values.data());
    bytes_.resize(offset);
    bytes_.insert(bytes_.end(), data, data + values.size_bytes());
    tables_.push_back({offset, dtype, static_cast<int64_t>(values.size()), num_rows, &view});
  }

  Result<Buffer> Upload(backend::Device& device) {
    DI_ASSIGN_OR_RETURN(Buffer storage, device.Allocate(bytes_.size()));
    const std::unique_ptr<backend::Stream> stream = device.CreateStream();
    stream->CopyToDevice(storage.data(), bytes_.data(), bytes_.size());
    stream->Synchronize();
    for (const Table& table : tables_) {
      const TensorView flat(static_cast<char*>(storage.data()) + table.offset, table.dtype,
                            {table.num_elements});
      *table.view = table.num_rows == 0
                        ? flat
                        : flat.Reshaped({table.num_rows, table.num_elements / table.num_rows});
    }
    return storage;
  }

 private:
  struct Table {
    size_t offset;
    DType dtype;
    int64_t num_elements, num_rows;
    TensorView* view;
  };
  std::vector<char> bytes_;
  std::vector<Table> tables_;
};

// The hash constants of all layers, one after the other.
std::vector<int64_t> Concat(const std::vector<EngramHashLayer>& layers,
                            std::vector<int64_t> EngramHashLayer::*field) {
  std::vector<int64_t> all;
  for (const EngramHashLayer& layer : layers) {
    all.insert(all.end(), (layer.*field).begin(), (layer.*field).end());
  }
  return all;
}

Result<ConstantTables> MakeConstants(const ModelConfig& config,
                                     std::span<const int32_t> compressed_ids,
                                     backend::Device& device) {
  ConstantTables constants;
  TableBuilder builder;
  const RopeTables rope = MakeRopeTables(config);
  builder.Add<float>(DType::kF32, rope.main, constants.rope_main);
  builder.Add<float>(DType::kF32, rope.compress, constants.rope_compress);
  if (!config.engram_layer_ids.empty()) {
    const std::vector<EngramHashLayer> layers = MakeEngramHash(config);
    DI_RETURN_IF_ERROR(CheckEngramRows(config, layers));
    DI_RETURN_IF_ERROR(CheckCompressedIds(config, compressed_ids));
    constants.engram_pad_id = compressed_ids[config.engram_pad_token_id];
    const auto num_layers = static_cast<int64_t>(layers.size());
    builder.Add<int64_t>(DType::kI64, Concat(layers, &EngramHashLayer::multipliers),
                         constants.engram_multipliers, num_layers);
    builder.Add<int64_t>(DType::kI64, Concat(layers, &EngramHashLayer::primes),
                         constants.engram_primes, num_layers);
    builder.Add<int64_t>(DType::kI64, Concat(layers, &EngramHashLayer::offsets),
                         constants.engram_offsets, num_layers);
    builder.Add<int32_t>(DType::kI32, compressed_ids, constants.compressed_ids);
  }
  DI_ASSIGN_OR_RETURN(constants.storage, builder.Upload(device));
  return constants;
}

}  // namespace

Result<std::unique_ptr<Model>> Model::Load(const Checkpoint& checkpoint, const ModelConfig& config,
                                           std::span<const int32_t> compressed_ids,
                                           backend::Device& device, const ModelOptions& options) {
  DI_RETURN_IF_ERROR(ValidateModelConfig(config));
  DI_ASSIGN_OR_RETURN(const ModelOptions resolved, ResolveOptions(config, options));
  DI_ASSIGN_OR_RETURN(ConstantTables constants, MakeConstants(config, compressed_ids, device));
  DI_ASSIGN_OR_RETURN(ModelWeights weights, BindWeights(checkpoint, config, device));
  DI_ASSIGN_OR_RETURN(Workspace workspace, Workspace::Create(config, resolved, device));
  return std::unique_ptr<Model>(std::make_unique<TextModel>(
      config, resolved, std::move(weights), std::move(constants), std::move(workspace)));
}

}  // namespace deepinfer::model
