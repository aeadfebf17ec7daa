// Router and experts (backend/ops/moe.h).
#include "backend/ops/moe.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "backend/ref/kernels.h"
#include "backend/ref/scalar.h"
#include "tensor/quantize.h"

namespace deepinfer::ref {
namespace {

float SoftPlus(float z) { return z > 20.0f ? z : std::log1p(std::exp(z)); }

float Silu(float g) { return g / (1.0f + std::exp(-g)); }

// The `count` experts with the largest keys, ties to the smaller expert, ascending.
std::vector<int32_t> ChooseExperts(std::vector<float> keys, int64_t count) {
  for (float& key : keys) {
    if (std::isnan(key)) key = -std::numeric_limits<float>::infinity();
  }
  std::vector<int32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return keys[a] > keys[b]; });
  order.resize(count);
  std::sort(order.begin(), order.end());
  return order;
}

// silu(gate) * up * weight, before it is rounded or quantised.
std::vector<float> SwiGlu(const ops::MoeUpArgs& args, const std::vector<float>& x,
                          const ops::ExpertWeights& expert, float weight) {
  std::vector<float> gate = Project(x, expert.w1), up = Project(x, expert.w3);
  RoundTo(args.x.dtype(), gate);
  RoundTo(args.x.dtype(), up);
  const float limit = args.swiglu_limit;
  std::vector<float> a(gate.size());
  for (size_t i = 0; i < a.size(); ++i) {
    if (limit > 0) {
      gate[i] = std::min(gate[i], limit);  // no lower clamp
      up[i] = std::clamp(up[i], -limit, limit);
    }
    a[i] = Silu(gate[i]) * up[i] * weight;
  }
  if (args.numerics == Numerics::kProduction) FakeQuantQ8(a.data(), static_cast<int64_t>(a.size()));
  return a;
}

}  // namespace

void Route(backend::Stream&, const ops::RouteArgs& args) {
  const int64_t num_experts = args.gate.num_rows(), num_chosen = args.expert_idx.dim(1);
  for (int64_t t = 0; t < args.x.dim(0); ++t) {
    const bool is_image = !args.is_image.empty() && args.is_image.as<uint8_t>()[t] != 0;
    const TensorView& bias = is_image && !args.bias_vl.empty() ? args.bias_vl : args.bias;
    std::vector<float> score = Project(LoadRow(args.x, t), args.gate);
    std::vector<float> key(num_experts);
    for (int64_t e = 0; e < num_experts; ++e) {
      score[e] = std::sqrt(SoftPlus(score[e] / args.gate_temp));
      key[e] = score[e] + bias.as<float>()[e];
    }
    const std::vector<int32_t> chosen = ChooseExperts(key, num_chosen);
    float sum = 0;
    for (const int32_t e : chosen) sum += score[e];
    for (int64_t i = 0; i < num_chosen; ++i) {
      const float share = num_chosen == 1 ? score[chosen[i]] : score[chosen[i]] / (sum + 1e-20f);
      args.expert_idx.as<int32_t>()[t * num_chosen + i] = chosen[i];
      args.expert_weight.as<float>()[t * num_chosen + i] = share * args.routed_scaling_factor;
    }
  }
}

void MoeUp(backend::Stream&, const ops::MoeUpArgs& args) {
  const int64_t num_chosen = args.a.dim(1);
  const TensorView a = args.a.Reshaped({args.a.dim(0) * num_chosen, args.a.dim(2)});
  for (int64_t t = 0; t < args.x.dim(0); ++t) {
    const std::vector<float> x = LoadRow(args.x, t);
    for (int64_t slot = t * num_chosen; slot < (t + 1) * num_chosen; ++slot) {
      const ops::ExpertWeights& expert = args.experts[args.expert_idx.as<int32_t>()[slot]];
      StoreRow(a, slot, SwiGlu(args, x, expert, args.expert_weight.as<float>()[slot]));
    }
    StoreRow(args.a_shared, t, SwiGlu(args, x, *args.shared, 1.0f));
  }
}

void MoeDown(backend::Stream&, const ops::MoeDownArgs& args) {
  const int64_t num_tokens = args.a.dim(0), num_chosen = args.a.dim(1);
  const TensorView a = args.a.Reshaped({num_tokens * num_chosen, args.a.dim(2)});
  const TensorView y = args.y.Reshaped({num_tokens * (num_chosen + 1), args.y.dim(2)});
  for (int64_t t = 0; t < num_tokens; ++t) {
    for (int64_t i = 0; i < num_chosen; ++i) {
      const int64_t slot = t * num_chosen + i;
      const ops::ExpertWeights& expert = args.experts[args.expert_idx.as<int32_t>()[slot]];
      StoreRow(y, t * (num_chosen + 1) + i, Project(LoadRow(a, slot), expert.w2));
    }
    StoreRow(y, t * (num_chosen + 1) + num_chosen,
             Project(LoadRow(args.a_shared, t), args.shared->w2));
  }
}

}  // namespace deepinfer::ref
