// The Sinkhorn normalisation of a mixing matrix (model.md 4.1).
#pragma once

#include <cstdint>

namespace deepinfer::cpu {

// `m` is [n][n], positive, after the row softmax and + hc_eps.  Divides the columns by their sum
// + hc_eps, then num_iters - 1 times the rows and the columns.  Sums are ascending and divisions
// true, so the bits do not depend on the instruction set.
void NormalizeSinkhorn(float* m, int64_t n, int32_t num_iters, float hc_eps);

}  // namespace deepinfer::cpu
