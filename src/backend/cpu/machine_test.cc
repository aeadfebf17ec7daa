#include "backend/cpu/machine.h"

#include <gtest/gtest.h>

namespace deepinfer::cpu {
namespace {

TEST(Machine, LimitsArePositiveAndOrdered) {
  Team team(1);
  const Isa isa = WidestIsa();
  const double f32 = MeasureF32Flops(team, isa);
  // Any processor with AVX2 does a multiply-add on 8 numbers a cycle at some hundred MHz.
  EXPECT_GT(f32, 1e8);
  const double bf16 = MeasureBf16Flops(team, isa);
  const bool has_bf16 = isa == Isa::kAvx512Bf16 || isa == Isa::kAmx;
  EXPECT_EQ(bf16 > 0, has_bf16);
  EXPECT_EQ((MachineLimits{.f32_flops_per_s = 2, .bf16_flops_per_s = 3}).peak_flops_per_s(), 3);
  EXPECT_EQ((MachineLimits{.f32_flops_per_s = 2}).peak_flops_per_s(), 2);
}

}  // namespace
}  // namespace deepinfer::cpu
