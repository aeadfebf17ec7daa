#include "backend/cpu/streams/sinkhorn.h"

#include <xmmintrin.h>

namespace deepinfer::cpu {
namespace {

// m[i] /= sum of all m + eps, lane by lane.
void DivideBySum(__m128 m[4], __m128 eps) {
  const __m128 sum = _mm_add_ps(_mm_add_ps(_mm_add_ps(m[0], m[1]), m[2]), m[3]);
  const __m128 divisor = _mm_add_ps(sum, eps);
  for (int32_t i = 0; i < 4; ++i) m[i] = _mm_div_ps(m[i], divisor);
}

// A chain of 2 * num_iters dependent sums and divisions: its latency is the cost, so the four rows
// stay in registers and are transposed between the two directions.
void NormalizeFour(float* m, int32_t num_iters, float hc_eps) {
  const __m128 eps = _mm_set1_ps(hc_eps);
  __m128 rows[4] = {_mm_loadu_ps(m), _mm_loadu_ps(m + 4), _mm_loadu_ps(m + 8),
                    _mm_loadu_ps(m + 12)};
  DivideBySum(rows, eps);
  for (int32_t iter = 1; iter < num_iters; ++iter) {
    _MM_TRANSPOSE4_PS(rows[0], rows[1], rows[2], rows[3]);
    DivideBySum(rows, eps);
    _MM_TRANSPOSE4_PS(rows[0], rows[1], rows[2], rows[3]);
    DivideBySum(rows, eps);
  }
  for (int32_t j = 0; j < 4; ++j) _mm_storeu_ps(m + 4 * j, rows[j]);
}

// Divides the n lines of n elements, `step` apart, that start `stride` apart.
void DivideLines(float* m, int64_t n, int64_t stride, int64_t step, float hc_eps) {
  for (int64_t line = 0; line < n; ++line) {
    float* p = m + line * stride;
    float sum = p[0];
    for (int64_t i = 1; i < n; ++i) sum += p[i * step];
    for (int64_t i = 0; i < n; ++i) p[i * step] /= sum + hc_eps;
  }
}

}  // namespace

void NormalizeSinkhorn(float* m, int64_t n, int32_t num_iters, float hc_eps) {
  if (n == 4) {
    NormalizeFour(m, num_iters, hc_eps);
    return;
  }
  DivideLines(m, n, 1, n, hc_eps);
  for (int32_t iter = 1; iter < num_iters; ++iter) {
    DivideLines(m, n, n, 1, hc_eps);
    DivideLines(m, n, 1, n, hc_eps);
  }
}

}  // namespace deepinfer::cpu
