#include "model/workspace.h"

#include <algorithm>
#include <initializer_list>

#include "backend/ops/checks.h"
#include "base/check.h"

namespace deepinfer::model {
namespace {

// Scores of the indexer are made for tiles of rows.  This bounds their scratch while a tile still
// has enough work for many cores; one row of the longest sequence must fit all the same.
constexpr int64_t kScoreScratchBytes = int64_t{8} << 20;

constexpr int64_t kTensorAlignment = 64;

// Hands out consecutive tensors from `base`; with a null base it only counts.
class Arena {
 public:
  explicit Arena(char* base) : base_(base) {}

  TensorView Place(DType dtype, std::initializer_list<int64_t> shape) {
    TensorView view(base_ == nullptr ? nullptr : base_ + end_, dtype, shape);
    end_ += (static_cast<int64_t>(view.num_bytes()) + kTensorAlignment - 1) / kTensorAlignment *
            kTensorAlignment;
    high_water_ = std::max(high_water_, end_);
    return view;
  }

  int64_t end() const { return end_; }
  void Rewind(int64_t end) { end_ = end; }
  int64_t high_water() const { return high_water_; }

 private:
  char* base_;
  int64_t end_ = 0;
  int64_t high_water_ = 0;
};

int64_t ScoreCapacity(const ModelOptions& options) {
  return std::max<int64_t>(options.max_model_len,
                           kScoreScratchBytes / static_cast<int64_t>(sizeof(float)));
}

// A selection is never longer than the longest sequence, whatever the config allows.
int64_t MaxSelected(const ModelConfig& c, const ModelOptions& options) {
  return std::min(c.index_topk, options.max_model_len);
}
int64_t MaxCandidateBlocks(const ModelConfig& c, const ModelOptions& options) {
  const int32_t all = (options.max_model_len + c.candidate_block_size - 1) / c.candidate_block_size;
  return std::min(c.candidate_topk_blocks, all);
}

StepTensors PlaceAll(const ModelConfig& c, const ModelOptions& options, int64_t num_tokens,
                     int64_t num_logit_rows, Arena& arena) {
  const DType act = ops::ActDType(options.numerics);
  const int64_t t = num_tokens, n = c.hc_mult, d = c.hidden_size;
  const int64_t num_pairs = c.qk_rope_head_dim / 2;
  const int64_t a = c.num_experts_per_tok;
  const auto num_engrams = static_cast<int64_t>(c.engram_layer_ids.size());
  StepTensors s;
  s.streams = arena.Place(act, {t, n, d});
  s.pre = arena.Place(DType::kF32, {t, n});
  s.post = arena.Place(DType::kF32, {t, n});
  s.comb = arena.Place(DType::kF32, {t, n, n});
  s.cos_sin_main = arena.Place(DType::kF32, {t, num_pairs, 2});
  s.cos_sin_compress = arena.Place(DType::kF32, {t, num_pairs, 2});
  s.cos_sin_group = arena.Place(DType::kF32, {t, num_pairs, 2});
  s.sel = arena.Place(DType::kI32, {t, MaxSelected(c, options)});
  s.sel_count = arena.Place(DType::kI32, {t});
  if (c.candidate_source_layer_id >= 0) {
    s.cand = arena.Place(DType::kI32, {t, MaxCandidateBlocks(c, options)});
    s.cand_count = arena.Place(DType::kI32, {t});
  }
  if (num_engrams > 0) {
    s.engram_rows = arena.Place(DType::kI64, {num_engrams, t, c.engram_rows_per_token()});
  }
  s.x = arena.Place(act, {t, d});
  if (options.numerics == Numerics::kProduction) s.x_quant = arena.Place(DType::kBF16, {t, d});
  s.attn_delta = arena.Place(act, {t, 1, d});
  s.moe_delta = arena.Place(act, {t, a + 1, d});
  s.hidden = arena.Place(act, {num_logit_rows, d});
  s.logits = arena.Place(DType::kF32, {num_logit_rows, c.vocab_size});

  const int64_t shared = arena.end();
  const int64_t head_channels = int64_t{c.num_attention_heads} * c.head_dim;
  s.qr = arena.Place(act, {t, c.q_lora_rank});
  s.kv_record = arena.Place(DType::kU8, {t, ops::Fp8RecordBytes(c.head_dim)});
  s.q = arena.Place(act, {t, c.num_attention_heads, c.head_dim});
  s.index_q = arena.Place(act, {t, c.index_n_heads, c.index_head_dim});
  s.index_w = arena.Place(DType::kF32, {t, c.index_n_heads});
  s.attn_out = arena.Place(act, {t, head_channels});
  s.z = arena.Place(act, {t, int64_t{c.o_groups} * c.o_lora_rank});
  s.scores = arena.Place(DType::kF32, {ScoreCapacity(options)});

  arena.Rewind(shared);
  s.expert_idx = arena.Place(DType::kI32, {t, a});
  s.expert_weight = arena.Place(DType::kF32, {t, a});
  s.a = arena.Place(act, {t, a, c.moe_intermediate_size});
  s.a_shared = arena.Place(act, {t, c.shared_intermediate_size()});

  arena.Rewind(shared);
  if (num_engrams > 0) {
    s.engram_x = arena.Place(act, {t, int64_t{c.engram_rows_per_token()} * c.engram_head_dim});
    s.engram_kv = arena.Place(act, {t, (n + 1) * d});
  }
  return s;
}

}  // namespace

Result<Workspace> Workspace::Create(const ModelConfig& config, const ModelOptions& options,
                                    backend::Device& device) {
  Workspace workspace;
  workspace.config_ = config;
  workspace.options_ = options;
  Arena counting(nullptr);
  PlaceAll(config, options, options.max_num_tokens, options.max_num_logit_rows, counting);
  DI_ASSIGN_OR_RETURN(workspace.memory_,
                      device.Allocate(static_cast<size_t>(counting.high_water())));
  return workspace;
}

StepTensors Workspace::Tensors(int64_t num_tokens, int64_t num_logit_rows) const {
  DI_CHECK(num_tokens <= options_.max_num_tokens, "num_tokens=", num_tokens,
           " max_num_tokens=", options_.max_num_tokens);
  DI_CHECK(num_logit_rows <= options_.max_num_logit_rows, "num_logit_rows=", num_logit_rows,
           " max_num_logit_rows=", options_.max_num_logit_rows);
  Arena arena(static_cast<char*>(memory_.data()));
  return PlaceAll(config_, options_, num_tokens, num_logit_rows, arena);
}

}  // namespace deepinfer::model
