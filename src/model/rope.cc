#include "model/rope.h"

#include <algorithm>
#include <cmath>

namespace deepinfer::model {
namespace {

// fp32 power, then an fp32 reciprocal: the order of rounding that gives the published values.
std::vector<float> PlainFrequencies(double base, int32_t rope_dim) {
  std::vector<float> freqs(rope_dim / 2);
  for (int32_t i = 0; i < rope_dim / 2; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(rope_dim);
    freqs[i] = 1.0f / static_cast<float>(std::pow(base, static_cast<double>(exponent)));
  }
  return freqs;
}

void ApplyYarn(const RopeScaling& scaling, double base, int32_t rope_dim,
               std::vector<float>& freqs) {
  // The pair index at which a wave makes `turns` turns within the original context.
  const auto pair_of = [&](double turns) {
    return rope_dim *
           std::log(static_cast<double>(scaling.original_max_position_embeddings) /
                    (turns * 2 * M_PI)) /
           (2 * std::log(base));
  };
  const double low = std::max(std::floor(pair_of(scaling.beta_fast)), 0.0);
  const double high = std::min(std::ceil(pair_of(scaling.beta_slow)), rope_dim - 1.0);
  const auto width = static_cast<float>(std::max(high - low, 0.001));
  const auto factor = static_cast<float>(scaling.factor);
  for (int32_t i = 0; i < rope_dim / 2; ++i) {
    const float ramp =
        std::clamp((static_cast<float>(i) - static_cast<float>(low)) / width, 0.0f, 1.0f);
    freqs[i] = freqs[i] / factor * ramp + freqs[i] * (1.0f - ramp);
  }
}

}  // namespace

RopeTables MakeRopeTables(const ModelConfig& config) {
  RopeTables tables;
  tables.main = PlainFrequencies(config.rope_theta, config.qk_rope_head_dim);
  tables.compress = PlainFrequencies(config.compress_rope_theta, config.qk_rope_head_dim);
  if (config.rope_scaling.has_value()) {
    ApplyYarn(*config.rope_scaling, config.compress_rope_theta, config.qk_rope_head_dim,
              tables.compress);
  }
  return tables;
}

}  // namespace deepinfer::model
