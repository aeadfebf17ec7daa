#include "backend/cpu/streams/sinkhorn.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace deepinfer::cpu {
namespace {

// The definition, line by line.
void Divide(std::vector<float>& m, int64_t n, bool columns, float eps) {
  const auto at = [&](int64_t line, int64_t i) -> float& {
    return columns ? m[i * n + line] : m[line * n + i];
  };
  for (int64_t line = 0; line < n; ++line) {
    float sum = at(line, 0);
    for (int64_t i = 1; i < n; ++i) sum += at(line, i);
    for (int64_t i = 0; i < n; ++i) at(line, i) = at(line, i) / (sum + eps);
  }
}

TEST(Sinkhorn, AgreesWithTheDefinitionBitByBit) {
  constexpr float kEps = 1e-6f;
  std::mt19937 rng(3);
  std::uniform_real_distribution<float> uniform(0.001f, 1.0f);
  for (const int64_t n : {1, 2, 3, 4, 5, 16}) {
    for (const int32_t num_iters : {1, 2, 20}) {
      std::vector<float> m(n * n);
      for (float& v : m) v = uniform(rng);
      std::vector<float> expected = m;
      Divide(expected, n, true, kEps);
      for (int32_t iter = 1; iter < num_iters; ++iter) {
        Divide(expected, n, false, kEps);
        Divide(expected, n, true, kEps);
      }
      NormalizeSinkhorn(m.data(), n, num_iters, kEps);
      EXPECT_EQ(m, expected) << n << " " << num_iters;
    }
  }
}

TEST(Sinkhorn, EndsOnColumns) {
  std::vector<float> m = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7};
  NormalizeSinkhorn(m.data(), 4, 1, 0.0f);
  for (int64_t k = 0; k < 4; ++k) {
    EXPECT_NEAR(m[k] + m[4 + k] + m[8 + k] + m[12 + k], 1.0f, 1e-6f);
  }
  EXPECT_GT(std::abs(m[0] + m[1] + m[2] + m[3] - 1.0f), 0.1f);
}

}  // namespace
}  // namespace deepinfer::cpu
