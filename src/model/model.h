// The V4.1 text model on one device: weights, caches' layout and the forward pass.
//
// It knows no request, scheduler or sampler: rows in, logits out.  The mathematics is in forward.cc
// and in the op contracts. Ownership: the checkpoint's maps and the device must outlive the model;
// results are views into the model's workspace, valid until
//   the next Forward.
// Threading: device thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "backend/device.h"
#include "backend/ops/common.h"
#include "backend/stream.h"
#include "checkpoint/checkpoint.h"
#include "deepinfer/config.h"
#include "deepinfer/status.h"
#include "model/cache_layout.h"
#include "model/model_config.h"

namespace deepinfer::model {

struct ModelOptions {
  Numerics numerics = Numerics::kFp32;
  int32_t max_num_tokens = 512;      // rows of one Forward; sizes the workspace
  int32_t max_num_logit_rows = 256;  // rows with logits of one Forward
  int32_t max_model_len =
      0;  // tokens of the longest sequence; 0 = the checkpoint's max_position_embeddings
  int32_t max_rollback_tokens =
      6;  // BT of model.md 15.1: positions that may be taken back without recomputing
};

// Device tensors that describe the rows of one step.
struct ModelInput {
  ops::BatchView batch;
  TensorView token_ids;      // [T] i32
  TensorView is_image;       // [T] u8, opt
  TensorView logit_rows;     // [R] i32; rows whose logits are wanted, R <= max_num_logit_rows
  int32_t max_seqlen_k = 0;  // longest sequence after this step, in tokens
};

struct ModelOutput {
  TensorView hidden;  // [R, D] act; after the final norm
  TensorView logits;  // [R, V] f32
};

// Sees each layer's streams after its FFN site, in tests and when looking for the first diverging
// layer.  `streams` is [T, n, D] act.
class LayerObserver {
 public:
  virtual ~LayerObserver() = default;
  virtual void OnLayer(int32_t layer_idx, const TensorView& streams) = 0;
};

class Model {
 public:
  // Validates the config (model.md 1.4) and every tensor the model needs (2.3) before it returns;
  // kDataLoss or kInvalidArgument with the file and tensor in the message.  `compressed_ids` maps
  // token ids to the engram vocabulary (model.md 13.1); its size is checked against the config when
  // the model has engram layers, and it may be empty when it has none.
  static Result<std::unique_ptr<Model>> Load(const checkpoint::Checkpoint& checkpoint,
                                             const ModelConfig& config,
                                             std::span<const int32_t> compressed_ids,
                                             backend::Device& device, const ModelOptions& options);
  virtual ~Model() = default;

  virtual const ModelConfig& config() const = 0;
  virtual const ModelOptions& options() const = 0;
  virtual const CacheLayout& cache_layout() const = 0;

  // Bytes of activations and scratch that the model holds.
  virtual int64_t workspace_bytes() const = 0;

  // One step: computes all rows, writes the caches, and gives logits of the rows asked for.
  virtual ModelOutput Forward(backend::Stream& stream, const ModelInput& input,
                              const ModelCaches& caches) = 0;

  virtual void set_observer(LayerObserver* observer) = 0;
};

}  // namespace deepinfer::model
