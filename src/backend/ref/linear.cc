// Projections (backend/ops/linear.h).
#include "backend/ops/linear.h"

#include "backend/ref/kernels.h"
#include "backend/ref/scalar.h"
#include "tensor/quantize.h"

namespace deepinfer::ref {
namespace {

void StoreOutput(std::vector<float> y, ops::OutputFormat output, const TensorView& out,
                 int64_t row) {
  if (output == ops::OutputFormat::kQuantized) {
    FakeQuantQ8(y.data(), static_cast<int64_t>(y.size()));
  }
  StoreRow(out, row, y);
}

// Rows [begin, begin + count) of a stored weight.  Starting inside a 32x32 tile would shift its
// scales, so rows are dequantised one by one.
std::vector<float> ProjectRows(const float* x, const ops::WeightView& weight, int64_t begin,
                               int64_t count) {
  std::vector<float> y(count);
  for (int64_t n = 0; n < count; ++n) {
    y[n] = Dot(x, WeightRow(weight, begin + n).data(), weight.num_cols());
  }
  return y;
}

}  // namespace

void Linear(backend::Stream&, const ops::LinearArgs& args) {
  for (int64_t row = 0; row < args.x.dim(0); ++row) {
    StoreOutput(Project(LoadRow(args.x, row), args.weight), args.output, args.y, row);
  }
}

void GroupedLinear(backend::Stream&, const ops::GroupedLinearArgs& args) {
  const int64_t in_width = args.weight.num_cols();
  const int64_t out_width = args.weight.num_rows() / args.num_groups;
  for (int64_t row = 0; row < args.x.dim(0); ++row) {
    const std::vector<float> x = LoadRow(args.x, row);
    std::vector<float> y;
    for (int64_t group = 0; group < args.num_groups; ++group) {
      const std::vector<float> part =
          ProjectRows(x.data() + group * in_width, args.weight, group * out_width, out_width);
      y.insert(y.end(), part.begin(), part.end());
    }
    StoreOutput(y, args.output, args.y, row);
  }
}

}  // namespace deepinfer::ref
