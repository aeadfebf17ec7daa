// The weights of the text model: views of the checkpoint's tensors, by layer.
//
// Names are the last component of the checkpoint's tensor names; shapes stand behind, in the words
// of ModelConfig (model.md 2.3).  Projections are WeightViews, [out, in] with the scale that
// belongs to them; everything else is a TensorView.  Parts that a layer doesn't have are empty.
//
// Ownership: on a device that reads host memory in place the views point into the checkpoint's
//   maps, and nothing but headers is read until a kernel touches a row.  On others `storage` holds
//   the copies.  Either way checkpoint and device must outlive the weights.
// Threading: thread-compatible.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/device.h"
#include "backend/ops/common.h"
#include "backend/ops/moe.h"
#include "checkpoint/checkpoint.h"
#include "deepinfer/status.h"
#include "model/model_config.h"
#include "tensor/buffer.h"
#include "tensor/tensor_view.h"

namespace deepinfer::model {

// One site of the hyper-connections.  n = hc_mult.
struct HcWeights {
  TensorView fn;     // [(2 + n) * n, n * hidden_size]   f32
  TensorView base;   // [(2 + n) * n]                    f32
  TensorView scale;  // [3]                              f32
};

struct AttentionWeights {
  ops::WeightView wq_a;  // [q_lora_rank, hidden_size]                          f8e4m3
  TensorView q_norm;     // [q_lora_rank]                                       bf16
  ops::WeightView wq_b;  // [num_attention_heads * head_dim, q_lora_rank]       f8e4m3
  ops::WeightView wkv;   // [head_dim, hidden_size]                             f8e4m3
  TensorView kv_norm;    // [head_dim]                                          bf16
  TensorView attn_sink;  // [num_attention_heads]                               f32
  ops::WeightView wo_a;  // [o_groups * o_lora_rank, heads * head_dim / o_groups]  f8e4m3
  ops::WeightView wo_b;  // [hidden_size, o_groups * o_lora_rank]               f8e4m3
};

// kv sources.
struct CompressorWeights {
  ops::WeightView wkv;    // [head_dim, hidden_size]  bf16
  ops::WeightView wgate;  // [head_dim, hidden_size]  bf16; ratio 2 only
  TensorView norm;        // [head_dim]               bf16
};

struct IndexerWeights {
  // index-k sources
  ops::WeightView wk;  // [index_head_dim, head_dim]  bf16
  TensorView k_norm;   // [index_head_dim]            bf16
  // index sources
  ops::WeightView wq_b;          // [index_n_heads * index_head_dim, q_lora_rank]  f8e4m3
  ops::WeightView weights_proj;  // [index_n_heads, hidden_size]                   bf16
};

struct MoeWeights {
  ops::WeightView gate;  // [n_routed_experts, hidden_size]  bf16
  TensorView bias;       // [n_routed_experts]               f32
  TensorView bias_vl;    // [n_routed_experts]               f32; of image rows
  // [n_routed_experts], of width moe_intermediate_size: w1, w3 and w2 f4e2m1.
  std::vector<ops::ExpertWeights> experts;
  // One, of width shared_intermediate_size(): w1, w3 and w2 f8e4m3.
  ops::ExpertWeights shared_experts;
};

// Engram layers.  K = engram_rows_per_token().
struct EngramWeights {
  TensorView embed;        // [engram_num_embeddings, engram_head_dim]         f8e4m3
  TensorView embed_scale;  // [engram_num_embeddings, engram_head_dim / 32]    ue8m0
  ops::WeightView wkv;     // [(n + 1) * hidden_size, K * engram_head_dim]     f8e4m3
  TensorView q_weight;     // [n, hidden_size]                                 bf16
  TensorView k_weight;     // [n, hidden_size]                                 bf16
};

struct LayerWeights {
  HcWeights hc_attn, hc_ffn;
  TensorView attn_norm;  // [hidden_size]  bf16
  TensorView ffn_norm;   // [hidden_size]  bf16
  AttentionWeights attn;
  CompressorWeights compressor;
  IndexerWeights indexer;
  MoeWeights ffn;
  EngramWeights engram;
};

struct ModelWeights {
  TensorView embed;      // [vocab_size, hidden_size]  bf16
  ops::WeightView head;  // [vocab_size, hidden_size]  bf16
  TensorView norm;       // [hidden_size]              bf16
  std::vector<LayerWeights> layers;

  std::vector<Buffer> storage;  // copies on the device, where it needs them
};

// Binds every tensor that the text model needs, and checks that the checkpoint holds nothing that
// would change its meaning: a missing tensor is kDataLoss; another dtype, shape or scale shape, a
// tensor of an unknown name and a sign of another export are kInvalidArgument.  The message names
// file and tensor.  Tensors of the draft layers and of the vision encoder are left alone, whatever
// their dtype.  Requires a validated config.
Result<ModelWeights> BindWeights(const checkpoint::Checkpoint& checkpoint,
                                 const ModelConfig& config, backend::Device& device);

}  // namespace deepinfer::model
