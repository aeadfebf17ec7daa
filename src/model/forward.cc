// The forward pass of DeepSeek-V4.1's text model, as model.md 3 to 13 describes it.
//
// Every row is computed from absolute positions and caches alone, so prefill, chunked prefill,
// decode and batches of unequal sequences are the same code.  A layer writes all its compressed
// entries before its rows attend, and the window ring after they have.
#include <algorithm>
#include <cmath>

#include "backend/ops/attention.h"
#include "backend/ops/compress.h"
#include "backend/ops/engram.h"
#include "backend/ops/indexer.h"
#include "backend/ops/linear.h"
#include "backend/ops/moe.h"
#include "backend/ops/streams.h"
#include "base/check.h"
#include "model/text_model.h"

namespace deepinfer::model {

ModelOutput TextModel::Forward(backend::Stream& stream, const ModelInput& input,
                               const ModelCaches& caches) {
  const int64_t num_logit_rows = input.logit_rows.empty() ? 0 : input.logit_rows.dim(0);
  DI_CHECK(input.max_seqlen_k <= options_.max_model_len, "max_seqlen_k=", input.max_seqlen_k,
           " max_model_len=", options_.max_model_len);
  Step step{.stream = stream,
            .input = input,
            .caches = caches,
            .t = workspace_.Tensors(input.batch.num_tokens, num_logit_rows),
            .delta = {}};
  if (input.batch.num_tokens > 0) {
    EnterStep(step);
    for (int32_t l = 0; l < config_.num_hidden_layers; ++l) RunLayer(step, l);
    FinishSite(step);
  }
  if (num_logit_rows > 0) {
    ops::FinalNormHead(stream, {.streams = step.t.streams,
                                .pre = step.t.pre,
                                .norm = weights_.norm,
                                .head = weights_.head,
                                .rms_norm_eps = config_.rms_norm_eps,
                                .row_idx = input.logit_rows,
                                .hidden = step.t.hidden,
                                .logits = step.t.logits});
  }
  return {.hidden = step.t.hidden, .logits = step.t.logits};
}

// What doesn't depend on any layer: streams, rotations, table rows of the n-grams.
void TextModel::EnterStep(Step& step) const {
  const StepTensors& t = step.t;
  const ModelInput& in = step.input;
  ops::EmbedStreams(
      step.stream,
      {.token_ids = in.token_ids, .embed = weights_.embed, .streams = t.streams, .pre = t.pre});
  ops::RopeCosSin(step.stream, {.positions = in.batch.positions,
                                .freqs = constants_.rope_main,
                                .multiple = 1,
                                .cos_sin = t.cos_sin_main});
  ops::RopeCosSin(step.stream, {.positions = in.batch.positions,
                                .freqs = constants_.rope_compress,
                                .multiple = 1,
                                .cos_sin = t.cos_sin_compress});
  ops::RopeCosSin(step.stream, {.positions = in.batch.positions,
                                .freqs = constants_.rope_compress,
                                .multiple = 2,
                                .cos_sin = t.cos_sin_group});
  if (config_.engram_layer_ids.empty()) return;
  ops::EngramHash(step.stream, {.batch = in.batch,
                                .token_ids = in.token_ids,
                                .is_image = in.is_image,
                                .compressed_ids = constants_.compressed_ids,
                                .multipliers = constants_.engram_multipliers,
                                .primes = constants_.engram_primes,
                                .offsets = constants_.engram_offsets,
                                .pad_id = constants_.engram_pad_id,
                                .history = cache_layout_.EngramHistory(step.caches),
                                .row_ids = t.engram_rows});
}

void TextModel::RunLayer(Step& step, int32_t l) const {
  const LayerWeights& w = weights_.layers[l];
  if (config_.engram_idx(l) >= 0) {
    FinishSite(step);
    InjectEngram(step, l);
  }
  StartSite(step, w.hc_attn, w.attn_norm);
  Attention(step, l);
  StartSite(step, w.hc_ffn, w.ffn_norm);
  Experts(step, l);
  if (observer_ != nullptr) {
    FinishSite(step);
    step.stream.Synchronize();
    observer_->OnLayer(l, step.t.streams);
  }
}

// x = RMSNorm(sum_j pre_j S_j) uses the coefficients of the site before; only then are they
// replaced by those of this site (model.md 4.2).
void TextModel::StartSite(Step& step, const HcWeights& hc, const TensorView& norm) const {
  const StepTensors& t = step.t;
  const bool writes = !step.delta.empty();
  ops::HcWriteNorm(step.stream, {.delta = step.delta,
                                 .post = writes ? t.post : TensorView(),
                                 .comb = writes ? t.comb : TensorView(),
                                 .streams = t.streams,
                                 .pre = t.pre,
                                 .norm = norm,
                                 .rms_norm_eps = config_.rms_norm_eps,
                                 .x = t.x,
                                 .x_quant = t.x_quant});
  step.delta = {};
  ops::HcCoeff(step.stream, {.streams = t.streams,
                             .fn = hc.fn,
                             .base = hc.base,
                             .scale = hc.scale,
                             .rms_norm_eps = config_.rms_norm_eps,
                             .hc_eps = config_.hc_eps,
                             .num_sinkhorn_iters = config_.hc_sinkhorn_iters,
                             .pre = t.pre,
                             .post = t.post,
                             .comb = t.comb});
}

void TextModel::FinishSite(Step& step) const {
  if (step.delta.empty()) return;
  const StepTensors& t = step.t;
  ops::HcWriteNorm(step.stream, {.delta = step.delta,
                                 .post = t.post,
                                 .comb = t.comb,
                                 .streams = t.streams,
                                 .rms_norm_eps = config_.rms_norm_eps});
  step.delta = {};
}

void TextModel::InjectEngram(Step& step, int32_t l) const {
  const StepTensors& t = step.t;
  const EngramWeights& w = weights_.layers[l].engram;
  const TensorView rows = t.engram_rows.Rows(config_.engram_idx(l), 1)
                              .Reshaped({t.engram_rows.dim(1), t.engram_rows.dim(2)});
  ops::EngramGather(step.stream,
                    {.row_ids = rows, .table = w.embed, .scale = w.embed_scale, .out = t.engram_x});
  ops::Linear(step.stream, {.x = t.engram_x, .weight = w.wkv, .y = t.engram_kv});
  ops::EngramInject(step.stream, {.kv = t.engram_kv,
                                  .q_weight = w.q_weight,
                                  .k_weight = w.k_weight,
                                  .is_image = step.input.is_image,
                                  .rms_norm_eps = config_.rms_norm_eps,
                                  .streams = t.streams});
}

void TextModel::Attention(Step& step, int32_t l) const {
  const StepTensors& t = step.t;
  const AttentionWeights& w = weights_.layers[l].attn;
  const IndexerWeights& indexer = weights_.layers[l].indexer;
  const bool is_compressed = config_.ratio(l) > 0;
  const bool is_index_source = config_.is_index_source(l);
  const ops::RingView ring = cache_layout_.WindowRing(step.caches, l);

  ops::QkvA(step.stream, {.numerics = options_.numerics,
                          .x = gemm_input(step),
                          .wq_a = w.wq_a,
                          .wkv = w.wkv,
                          .q_norm = w.q_norm,
                          .kv_norm = w.kv_norm,
                          .cos_sin = cos_sin(step, l),
                          .rms_norm_eps = config_.rms_norm_eps,
                          .qr = t.qr,
                          .kv_record = t.kv_record});
  ops::QB(step.stream, {.qr = t.qr,
                        .wq_b = w.wq_b,
                        .cos_sin = cos_sin(step, l),
                        .q = t.q,
                        .x = is_index_source ? t.x : TensorView(),
                        .index_wq_b = indexer.wq_b,
                        .weights_proj = indexer.weights_proj,
                        .index_q = is_index_source ? t.index_q : TensorView(),
                        .index_w = is_index_source ? t.index_w : TensorView()});
  if (config_.is_kv_source(l)) Compress(step, l);
  if (is_index_source) Select(step, l);

  const ops::PagedRecords pages = is_compressed
                                      ? cache_layout_.MainRecords(step.caches, config_.kv_source(l))
                                      : ops::PagedRecords();
  ops::SparseAttention(step.stream,
                       {.numerics = options_.numerics,
                        .batch = step.input.batch,
                        .q = t.q,
                        .kv_record = t.kv_record,
                        .ring = ring,
                        .window = config_.sliding_window,
                        .pages = pages,
                        .format = cache_layout_.format(),
                        .sel = is_compressed ? t.sel : TensorView(),
                        .sel_count = is_compressed ? t.sel_count : TensorView(),
                        .attn_sink = w.attn_sink,
                        .cos_sin = cos_sin(step, l),
                        .softmax_scale = 1.0f / std::sqrt(static_cast<float>(config_.head_dim)),
                        .out = t.attn_out});
  ops::WindowWrite(step.stream,
                   {.batch = step.input.batch, .kv_record = t.kv_record, .ring = ring});
  ops::GroupedLinear(step.stream, {.x = t.attn_out,
                                   .weight = w.wo_a,
                                   .num_groups = config_.o_groups,
                                   .y = t.z,
                                   .output = gemm_format()});
  ops::Linear(step.stream,
              {.x = t.z, .weight = w.wo_b, .y = t.attn_delta.Reshaped({t.x.dim(0), t.x.dim(1)})});
  step.delta = t.attn_delta;
}

// New entries of a kv source, and their index keys (model.md 7).
void TextModel::Compress(Step& step, int32_t l) const {
  const StepTensors& t = step.t;
  const CompressorWeights& w = weights_.layers[l].compressor;
  const IndexerWeights& indexer = weights_.layers[l].indexer;
  const bool has_groups = config_.ratio(l) > 1;
  ops::CompressKv(step.stream,
                  {.batch = step.input.batch,
                   .compress_ratio = config_.ratio(l),
                   .x = t.x,
                   .wkv = w.wkv,
                   .wgate = w.wgate,
                   .norm = w.norm,
                   .wk = indexer.wk,
                   .k_norm = indexer.k_norm,
                   .cos_sin = has_groups ? t.cos_sin_group : t.cos_sin_compress,
                   .rms_norm_eps = config_.rms_norm_eps,
                   .format = cache_layout_.format(),
                   .group = has_groups ? cache_layout_.GroupRing(step.caches, l) : ops::RingView(),
                   .main_pages = cache_layout_.MainRecords(step.caches, l),
                   .key_pages = config_.owns_index_k(l) ? cache_layout_.IndexKeys(step.caches, l)
                                                        : ops::PagedRecords()});
}

// Entries that the rows of this and the following layers attend to (model.md 8).  Rows are scored
// in tiles, so that long sequences don't need a score for every pair of row and entry at once.
void TextModel::Select(Step& step, int32_t l) const {
  const StepTensors& t = step.t;
  const int32_t ratio = config_.ratio(l);
  const int32_t num_tokens = step.input.batch.num_tokens;
  const int32_t max_entries = std::max(1, step.input.max_seqlen_k / ratio);
  const auto max_rows =
      static_cast<int32_t>(std::min<int64_t>(num_tokens, t.scores.num_elements() / max_entries));
  const bool inherits = config_.uses_candidates(l);
  const bool publishes = l == config_.candidate_source_layer_id;
  for (int32_t begin = 0; begin < num_tokens; begin += max_rows) {
    const int32_t num_rows = std::min(max_rows, num_tokens - begin);
    const TensorView scores(t.scores.data(), DType::kF32, {num_rows, max_entries});
    ops::IndexScore(step.stream,
                    {.batch = step.input.batch,
                     .row_begin = begin,
                     .num_rows = num_rows,
                     .compress_ratio = ratio,
                     .index_topk = static_cast<int32_t>(t.sel.dim(1)),
                     .index_q = t.index_q,
                     .index_w = t.index_w,
                     .keys = cache_layout_.IndexKeys(step.caches, config_.index_k_source(l)),
                     .cand = inherits ? t.cand : TensorView(),
                     .cand_count = inherits ? t.cand_count : TensorView(),
                     .candidate_block_size = config_.candidate_block_size,
                     .scores = scores});
    ops::IndexTopK(step.stream, {.batch = step.input.batch,
                                 .row_begin = begin,
                                 .num_rows = num_rows,
                                 .compress_ratio = ratio,
                                 .scores = scores,
                                 .sel = t.sel,
                                 .sel_count = t.sel_count,
                                 .cand = publishes ? t.cand : TensorView(),
                                 .cand_count = publishes ? t.cand_count : TensorView(),
                                 .candidate_block_size = config_.candidate_block_size});
  }
}

void TextModel::Experts(Step& step, int32_t l) const {
  const StepTensors& t = step.t;
  const MoeWeights& w = weights_.layers[l].ffn;
  ops::Route(step.stream, {.x = t.x,
                           .gate = w.gate,
                           .bias = w.bias,
                           .bias_vl = w.bias_vl,
                           .is_image = step.input.is_image,
                           .gate_temp = config_.gate_temp,
                           .routed_scaling_factor = config_.routed_scaling_factor,
                           .expert_idx = t.expert_idx,
                           .expert_weight = t.expert_weight});
  ops::MoeUp(step.stream, {.numerics = options_.numerics,
                           .x = gemm_input(step),
                           .experts = w.experts,
                           .shared = &w.shared_experts,
                           .expert_idx = t.expert_idx,
                           .expert_weight = t.expert_weight,
                           .swiglu_limit = config_.swiglu_limit,
                           .a = t.a,
                           .a_shared = t.a_shared});
  ops::MoeDown(step.stream, {.a = t.a,
                             .a_shared = t.a_shared,
                             .expert_idx = t.expert_idx,
                             .experts = w.experts,
                             .shared = &w.shared_experts,
                             .y = t.moe_delta});
  step.delta = t.moe_delta;
}

}  // namespace deepinfer::model
