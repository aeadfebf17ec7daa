// The one implementation of Model.  Internal to this folder: model.cc loads it, forward.cc runs it.
#pragma once

#include <memory>
#include <utility>

#include "backend/ops/linear.h"
#include "model/cache_layout.h"
#include "model/model.h"
#include "model/model_config.h"
#include "model/weights.h"
#include "model/workspace.h"

namespace deepinfer::model {

// Small tables that the forward pass reads, on the device.  K = engram_rows_per_token().
struct ConstantTables {
  TensorView rope_main;           // [Rd/2]                            f32
  TensorView rope_compress;       // [Rd/2]                            f32
  TensorView compressed_ids;      // [tokenizer size]                  i32
  TensorView engram_multipliers;  // [engram layers, max_ngram_size]   i64
  TensorView engram_primes;       // [engram layers, K]                i64
  TensorView engram_offsets;      // [engram layers, K]                i64
  int32_t engram_pad_id = 0;      // compressed id in front of a sequence

  Buffer storage;
};

class TextModel final : public Model {
 public:
  TextModel(ModelConfig config, ModelOptions options, ModelWeights weights,
            ConstantTables constants, Workspace workspace)
      : config_(std::move(config)),
        options_(options),
        cache_layout_(config_, options.max_rollback_tokens),
        weights_(std::move(weights)),
        constants_(std::move(constants)),
        workspace_(std::move(workspace)) {}

  const ModelConfig& config() const override { return config_; }
  const ModelOptions& options() const override { return options_; }
  const CacheLayout& cache_layout() const override { return cache_layout_; }
  int64_t workspace_bytes() const override { return workspace_.num_bytes(); }
  void set_observer(LayerObserver* observer) override { observer_ = observer; }

  ModelOutput Forward(backend::Stream& stream, const ModelInput& input,
                      const ModelCaches& caches) override;

 private:
  // What one forward pass hands from layer to layer.
  struct Step {
    backend::Stream& stream;
    const ModelInput& input;
    const ModelCaches& caches;
    StepTensors t;
    TensorView delta;  // output of the last sublayer, not yet written into the streams; or empty
  };

  void EnterStep(Step& step) const;
  void RunLayer(Step& step, int32_t l) const;

  // Between two sublayers: writes the last one's output into the streams, and gives the next one
  // its input t.x and coefficients.  FinishSite writes only.
  void StartSite(Step& step, const HcWeights& hc, const TensorView& norm) const;
  void FinishSite(Step& step) const;

  // Sublayers: t.x in, step.delta out.
  void Attention(Step& step, int32_t l) const;
  void Experts(Step& step, int32_t l) const;

  // Parts of layers that have them.
  void InjectEngram(Step& step, int32_t l) const;
  void Compress(Step& step, int32_t l) const;
  void Select(Step& step, int32_t l) const;

  const TensorView& gemm_input(const Step& step) const {
    return options_.numerics == Numerics::kProduction ? step.t.x_quant : step.t.x;
  }
  const TensorView& cos_sin(const Step& step, int32_t l) const {
    return config_.ratio(l) == 0 ? step.t.cos_sin_main : step.t.cos_sin_compress;
  }
  // How a projection that feeds a quantised weight leaves its op.
  ops::OutputFormat gemm_format() const {
    return options_.numerics == Numerics::kProduction ? ops::OutputFormat::kQuantized
                                                      : ops::OutputFormat::kActivation;
  }

  ModelConfig config_;
  ModelOptions options_;
  CacheLayout cache_layout_;
  ModelWeights weights_;
  ConstantTables constants_;
  Workspace workspace_;
  LayerObserver* observer_ = nullptr;
};

}  // namespace deepinfer::model
