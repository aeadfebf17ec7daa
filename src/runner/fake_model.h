// A model without weights, for tests of the runner and the engine.
//
// It keeps its context in the real caches and nowhere else: the token of a position is written into
// the sequence's block, the number of positions into its state slot, and the logits of a row are a
// function of the tokens that it reads back through the block table.  A wrong table, a block that
// is handed out twice or a slot that was not cleared changes the logits or breaks a check.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "base/check.h"
#include "base/rng.h"
#include "model/model.h"

namespace deepinfer::runner::testing {

// Logits after `token_ids`: a peak that depends on all of them, over noise.
inline std::vector<float> FakeLogits(const std::vector<int32_t>& token_ids, int32_t vocab_size) {
  uint64_t hash = 1469598103934665603u;
  for (const int32_t token : token_ids) {
    hash = (hash ^ static_cast<uint64_t>(token)) * 1099511628211u;
  }
  PhiloxStream random(hash, 1);
  std::vector<float> logits(static_cast<size_t>(vocab_size));
  for (float& z : logits) z = static_cast<float>(4 * random.NextUniform());
  logits[random.NextWord() % logits.size()] += 2;
  return logits;
}

class FakeModel final : public model::Model {
 public:
  // May change the logits of a row; gets the tokens up to it.
  using Hook = std::function<void(const std::vector<int32_t>& token_ids, float* logits)>;

  FakeModel(const model::ModelConfig& config, const model::ModelOptions& options)
      : config_(config), options_(options), layout_(config, options.max_rollback_tokens) {
    logits_.resize(static_cast<size_t>(options.max_num_logit_rows) *
                   static_cast<size_t>(config.vocab_size));
  }

  void set_hook(Hook hook) { hook_ = std::move(hook); }
  int64_t num_rows() const { return num_rows_; }

  const model::ModelConfig& config() const override { return config_; }
  const model::ModelOptions& options() const override { return options_; }
  const model::CacheLayout& cache_layout() const override { return layout_; }
  int64_t workspace_bytes() const override { return 0; }
  void set_observer(model::LayerObserver*) override {}

  model::ModelOutput Forward(backend::Stream&, const model::ModelInput& input,
                             const model::ModelCaches& caches) override {
    const ops::BatchView& batch = input.batch;
    DI_CHECK(batch.num_tokens <= options_.max_num_tokens, "rows=", batch.num_tokens);
    num_rows_ += batch.num_tokens;
    std::vector<std::vector<int32_t>> contexts(static_cast<size_t>(batch.num_tokens));
    for (int32_t s = 0; s < batch.num_seqs; ++s) RunSequence(input, caches, s, contexts);
    const int64_t num_logit_rows = input.logit_rows.dim(0);
    const size_t vocab_size = static_cast<size_t>(config_.vocab_size);
    for (int64_t r = 0; r < num_logit_rows; ++r) {
      const auto& context = contexts[static_cast<size_t>(input.logit_rows.as<int32_t>()[r])];
      float* const row = logits_.data() + static_cast<size_t>(r) * vocab_size;
      const std::vector<float> logits = FakeLogits(context, config_.vocab_size);
      std::copy(logits.begin(), logits.end(), row);
      if (hook_) hook_(context, row);
    }
    model::ModelOutput output;
    output.logits =
        TensorView(logits_.data(), DType::kF32, {num_logit_rows, int64_t{config_.vocab_size}});
    return output;
  }

 private:
  void RunSequence(const model::ModelInput& input, const model::ModelCaches& caches, int32_t s,
                   std::vector<std::vector<int32_t>>& contexts) const {
    const ops::BatchView& batch = input.batch;
    const int32_t* const table =
        batch.block_table.as<int32_t>() + int64_t{s} * batch.block_table.dim(1);
    const auto cell = [&](int32_t position) {
      char* const block = caches.kv_pool.as<char>() +
                          int64_t{table[position / ops::kBlockSize]} * caches.kv_pool.dim(1);
      return block + 4 * (position % ops::kBlockSize);
    };
    int32_t* const state = reinterpret_cast<int32_t*>(caches.state_pool.as<char>() +
                                                      int64_t{batch.state_slot.as<int32_t>()[s]} *
                                                          caches.state_pool.dim(1));
    const int32_t num_computed = batch.num_computed_tokens.as<int32_t>()[s];
    DI_CHECK(*state == num_computed, "state slot has ", *state, " tokens, expected ", num_computed);
    const int32_t begin = batch.cu_seqlens_q.as<int32_t>()[s];
    const int32_t end = batch.cu_seqlens_q.as<int32_t>()[s + 1];
    for (int32_t row = begin; row < end; ++row) {
      const int32_t position = batch.positions.as<int32_t>()[row];
      DI_CHECK(batch.seq_idx.as<int32_t>()[row] == s && position == num_computed + row - begin,
               "row ", row, " is at position ", position);
      std::memcpy(cell(position), input.token_ids.as<int32_t>() + row, 4);
    }
    *state += end - begin;
    for (int32_t row = begin; row < end; ++row) {
      auto& context = contexts[static_cast<size_t>(row)];
      context.resize(static_cast<size_t>(num_computed + row - begin + 1));
      for (size_t p = 0; p < context.size(); ++p) {
        std::memcpy(&context[p], cell(static_cast<int32_t>(p)), 4);
      }
    }
  }

  const model::ModelConfig config_;
  const model::ModelOptions options_;
  const model::CacheLayout layout_;
  std::vector<float> logits_;
  Hook hook_;
  int64_t num_rows_ = 0;
};

}  // namespace deepinfer::runner::testing
