#include "backend/ops/moe.h"

#include "backend/ops/checks.h"

namespace deepinfer::ops {

void Route(backend::Stream& stream, const RouteArgs& args) {
  const ArgCheck check("Route");
  check.Act("x", args.x, 2);
  const int64_t num_tokens = args.x.dim(0);
  check.Requires(!args.gate.empty() && args.gate.data.num_dims() == 2, "gate with 2 dimensions");
  const int64_t num_experts = args.gate.num_rows();
  check.Bf16Weight("gate", args.gate, num_experts, args.x.dim(1));
  check.Tensor("bias", args.bias, DType::kF32, {num_experts});
  if (!args.bias_vl.empty()) check.Tensor("bias_vl", args.bias_vl, DType::kF32, {num_experts});
  if (!args.is_image.empty()) check.Tensor("is_image", args.is_image, DType::kU8, {num_tokens});
  check.Requires(args.gate_temp > 0, "gate_temp > 0");
  check.Requires(args.expert_idx.num_dims() == 2, "expert_idx with 2 dimensions");
  const int64_t num_experts_per_token = args.expert_idx.dim(1);
  check.Requires(num_experts_per_token >= 1 && num_experts_per_token <= num_experts,
                 "1 .. num_experts experts a token");
  check.Tensor("expert_idx", args.expert_idx, DType::kI32, {num_tokens, num_experts_per_token});
  check.Tensor("expert_weight", args.expert_weight, DType::kF32,
               {num_tokens, num_experts_per_token});
  if (num_tokens == 0) return;
  CallKernel(stream, stream.ops().route, "Route", args);
}

// Of the experts only the first is looked at: hundreds of them come along with every call, and the
// model has checked each when it loaded them.
void MoeUp(backend::Stream& stream, const MoeUpArgs& args) {
  const ArgCheck check("MoeUp");
  const DType act = ActDType(args.numerics);
  check.Act("x", args.x, 2);
  check.Act("a", args.a, 3);
  check.Act("a_shared", args.a_shared, 2);
  const int64_t num_tokens = args.x.dim(0), hidden_size = args.x.dim(1);
  const int64_t num_experts_per_token = args.a.dim(1), width = args.a.dim(2);
  const int64_t shared_width = args.a_shared.dim(1);
  check.Tensor("x", args.x, act, {num_tokens, hidden_size});
  check.Tensor("a", args.a, act, {num_tokens, num_experts_per_token, width});
  check.Tensor("a_shared", args.a_shared, act, {num_tokens, shared_width});
  check.Requires(!args.experts.empty() && args.shared != nullptr, "routed and shared experts");
  check.Weight("experts[0].w1", args.experts[0].w1, width, hidden_size);
  check.Weight("experts[0].w3", args.experts[0].w3, width, hidden_size);
  check.Weight("shared.w1", args.shared->w1, shared_width, hidden_size);
  check.Weight("shared.w3", args.shared->w3, shared_width, hidden_size);
  check.Requires(
      args.numerics != Numerics::kProduction || (width % 32 == 0 && shared_width % 32 == 0),
      "expert widths in groups of 32 in mode P");
  check.Tensor("expert_idx", args.expert_idx, DType::kI32, {num_tokens, num_experts_per_token});
  check.Tensor("expert_weight", args.expert_weight, DType::kF32,
               {num_tokens, num_experts_per_token});
  if (num_tokens == 0) return;
  CallKernel(stream, stream.ops().moe_up, "MoeUp", args);
}

void MoeDown(backend::Stream& stream, const MoeDownArgs& args) {
  const ArgCheck check("MoeDown");
  check.Act("a", args.a, 3);
  check.Act("a_shared", args.a_shared, 2);
  check.Act("y", args.y, 3);
  const DType act = args.a.dtype();
  const int64_t num_tokens = args.a.dim(0), num_experts_per_token = args.a.dim(1);
  const int64_t hidden_size = args.y.dim(2);
  check.Tensor("a_shared", args.a_shared, act, {num_tokens, args.a_shared.dim(1)});
  check.Tensor("expert_idx", args.expert_idx, DType::kI32, {num_tokens, num_experts_per_token});
  check.Tensor("y", args.y, act, {num_tokens, num_experts_per_token + 1, hidden_size});
  check.Requires(!args.experts.empty() && args.shared != nullptr, "routed and shared experts");
  check.Weight("experts[0].w2", args.experts[0].w2, hidden_size, args.a.dim(2));
  check.Weight("shared.w2", args.shared->w2, hidden_size, args.a_shared.dim(1));
  if (num_tokens == 0) return;
  CallKernel(stream, stream.ops().moe_down, "MoeDown", args);
}

}  // namespace deepinfer::ops
