// The activations and scratch of one forward pass, in one allocation that lives as long as the
// model.
//
// Tensors that are never alive together share memory: those of the attention sublayer, of the
// experts and of the engram injection each start at the same place.
//
// Ownership: owns the memory; the tensors handed out are views into it.
// Threading: device thread only.
#pragma once

#include <cstdint>

#include "backend/device.h"
#include "deepinfer/status.h"
#include "model/model.h"
#include "model/model_config.h"
#include "tensor/buffer.h"
#include "tensor/tensor_view.h"

namespace deepinfer::model {

// The tensors of one step.  T rows, R logit rows, n = hc_mult; act is the activation dtype.
struct StepTensors {
  // Alive from layer to layer.
  TensorView streams;           // [T, n, hidden_size]  act
  TensorView pre, post;         // [T, n]               f32; coefficients of the site last entered
  TensorView comb;              // [T, n, n]            f32
  TensorView cos_sin_main;      // [T, Rd/2, 2]         f32; layers with ratio 0
  TensorView cos_sin_compress;  // [T, Rd/2, 2]         f32; all other layers
  TensorView cos_sin_group;     // [T, Rd/2, 2]         f32; at the first token of a group of two
  TensorView sel;          // [T, min(index_topk, max_model_len)]  i32; of the last index source
  TensorView sel_count;    // [T]                                  i32
  TensorView cand;         // [T, candidate_topk_blocks or fewer]  i32; of the candidate source
  TensorView cand_count;   // [T]                                  i32
  TensorView engram_rows;  // [engram layers, T, K]       i64
  TensorView x;            // [T, hidden_size]  act; input of a sublayer
  TensorView x_quant;      // [T, hidden_size]  bf16; mode P only
  TensorView attn_delta;   // [T, 1, hidden_size]  act; output of the attention sublayer
  TensorView moe_delta;    // [T, A + 1, hidden_size]  act; of the experts, shared one last

  // Attention.
  TensorView qr;         // [T, q_lora_rank]  act
  TensorView kv_record;  // [T, C + C/32]     u8
  TensorView q;          // [T, heads, C]     act
  TensorView index_q;    // [T, Hi, Ci]       act
  TensorView index_w;    // [T, Hi]           f32
  TensorView attn_out;   // [T, heads * C]    act
  TensorView z;          // [T, o_groups * o_lora_rank]  act
  TensorView scores;     // [capacity]        f32; scratch for tiles of index scores

  // Experts.
  TensorView expert_idx;     // [T, A]     i32
  TensorView expert_weight;  // [T, A]     f32
  TensorView a;              // [T, A, I]  act
  TensorView a_shared;       // [T, Is]    act

  // Engram.
  TensorView engram_x;   // [T, K * Ne]                 act
  TensorView engram_kv;  // [T, (n + 1) * hidden_size]  act

  // Results.
  TensorView hidden;  // [R, hidden_size]  act
  TensorView logits;  // [R, vocab_size]   f32
};

class Workspace {
 public:
  // Sizes everything for options.max_num_tokens rows, options.max_num_logit_rows logits and
  // sequences of options.max_model_len tokens (resolved, not 0).
  static Result<Workspace> Create(const ModelConfig& config, const ModelOptions& options,
                                  backend::Device& device);

  // Views for a step.  Requires counts within the options'.
  StepTensors Tensors(int64_t num_tokens, int64_t num_logit_rows) const;

  int64_t num_bytes() const { return static_cast<int64_t>(memory_.num_bytes()); }

 private:
  Workspace() = default;

  ModelConfig config_;
  ModelOptions options_;
  Buffer memory_;
};

}  // namespace deepinfer::model
