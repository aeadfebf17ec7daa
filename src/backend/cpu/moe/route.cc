// Route (contract: backend/ops/moe.h; mathematics: model.md 11.1).
//
// Bound: reading the gate.  The choice is made row by row in scalar code: for 384 experts it takes
// some microseconds, beside milliseconds for the experts themselves.
#include <cmath>
#include <limits>

#include "backend/cpu/cpu_stream.h"
#include "backend/cpu/linear/project.h"
#include "backend/cpu/moe/moe_kernels.h"

namespace deepinfer::cpu {
namespace {

float SoftPlus(float z) { return z > 20.0f ? z : std::log1p(std::exp(z)); }

// Expert of the largest key; the smaller one of equals.
int32_t LargestKey(const float* key, int64_t num_experts) {
  int32_t best = 0;
  for (int64_t e = 1; e < num_experts; ++e) {
    if (key[e] > key[best]) best = static_cast<int32_t>(e);
  }
  return best;
}

// One row.  `score` holds z and becomes s; `key` is for intermediate values; both have an element
// for each expert.
void ChooseExperts(const ops::RouteArgs& args, int64_t t, float* score, float* key) {
  const int64_t num_experts = args.gate.num_rows(), num_chosen = args.expert_idx.dim(1);
  const bool is_image =
      !args.is_image.empty() && !args.bias_vl.empty() && args.is_image.as<uint8_t>()[t] != 0;
  const float* bias = (is_image ? args.bias_vl : args.bias).as<float>();
  int32_t* idx = args.expert_idx.as<int32_t>() + t * num_chosen;
  float* weight = args.expert_weight.as<float>() + t * num_chosen;

  constexpr float kTaken = -std::numeric_limits<float>::infinity();
  for (int64_t e = 0; e < num_experts; ++e) {
    score[e] = std::sqrt(SoftPlus(score[e] / args.gate_temp));
    key[e] = score[e] + bias[e];
    // A NaN or -inf never beats a number, and stays apart from what is taken already.
    if (!(key[e] > std::numeric_limits<float>::lowest())) {
      key[e] = std::numeric_limits<float>::lowest();
    }
  }
  for (int64_t i = 0; i < num_chosen; ++i) {
    const int32_t e = LargestKey(key, num_experts);
    key[e] = kTaken;
    int64_t at = i;
    for (; at > 0 && idx[at - 1] > e; --at) idx[at] = idx[at - 1];
    idx[at] = e;
  }
  float sum = 0;
  for (int64_t i = 0; i < num_chosen; ++i) sum += score[idx[i]];
  for (int64_t i = 0; i < num_chosen; ++i) {
    const float share = num_chosen == 1 ? score[idx[i]] : score[idx[i]] / (sum + 1e-20f);
    weight[i] = share * args.routed_scaling_factor;
  }
}

// Below this many experts over all rows a region costs more than it saves.
constexpr int64_t kInlineExperts = 128;

}  // namespace

void Route(backend::Stream& stream, const ops::RouteArgs& args) {
  CpuStream& cpu = CpuStream::From(stream);
  Arena& arena = cpu.NewOpArena();
  const int64_t num_rows = args.x.dim(0), num_experts = args.gate.num_rows();
  float* score = arena.AllocArray<float>(num_rows * num_experts);
  float* key = arena.AllocArray<float>(num_rows * num_experts);
  ProjectF32(cpu, arena, args.x, args.gate, score, num_experts);
  const auto choose = [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t t = begin; t < end; ++t) {
      ChooseExperts(args, t, score + t * num_experts, key + t * num_experts);
    }
  };
  if (num_rows * num_experts <= kInlineExperts) {
    choose(0, num_rows, 0);
  } else {
    cpu.team().ParallelFor(num_rows, choose);
  }
}

}  // namespace deepinfer::cpu
