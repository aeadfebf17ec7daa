#include "backend/ops/linear.h"

#include "backend/ops/checks.h"

namespace deepinfer::ops {
namespace {

void CheckOutputFormat(const ArgCheck& check, OutputFormat output, const TensorView& y) {
  if (output == OutputFormat::kActivation) return;
  check.Requires(y.dtype() == DType::kBF16, "a bf16 y with kQuantized");
  check.Requires(y.dim(1) % 32 == 0, "y in groups of 32 with kQuantized");
}

}  // namespace

void Linear(backend::Stream& stream, const LinearArgs& args) {
  const ArgCheck check("Linear");
  check.Act("x", args.x, 2);
  check.Act("y", args.y, 2);
  check.Weight("weight", args.weight, args.y.dim(1), args.x.dim(1));
  check.Tensor("y", args.y, args.y.dtype(), {args.x.dim(0), args.y.dim(1)});
  CheckOutputFormat(check, args.output, args.y);
  if (args.x.dim(0) == 0) return;
  CallKernel(stream, stream.ops().linear, "Linear", args);
}

void GroupedLinear(backend::Stream& stream, const GroupedLinearArgs& args) {
  const ArgCheck check("GroupedLinear");
  check.Act("x", args.x, 2);
  check.Act("y", args.y, 2);
  check.Requires(args.num_groups >= 1, "num_groups >= 1");
  check.Requires(args.x.dim(1) % args.num_groups == 0, "x in num_groups equal parts");
  check.Requires(args.y.dim(1) % args.num_groups == 0, "y in num_groups equal parts");
  check.Weight("weight", args.weight, args.y.dim(1), args.x.dim(1) / args.num_groups);
  check.Tensor("y", args.y, args.x.dtype(), {args.x.dim(0), args.y.dim(1)});
  CheckOutputFormat(check, args.output, args.y);
  if (args.x.dim(0) == 0) return;
  CallKernel(stream, stream.ops().grouped_linear, "GroupedLinear", args);
}

}  // namespace deepinfer::ops
