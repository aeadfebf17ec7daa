#include "backend/cpu/vec/avx2.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "backend/cpu/isa.h"
#include "tensor/bf16.h"
#include "tensor/float4.h"
#include "tensor/float8.h"
#include "tensor/quantize.h"

DI_AVX2_BEGIN
#include "backend/cpu/vec/vec_test.inc"
DI_AVX2_END

namespace deepinfer::cpu {
namespace {

#define DI_VEC_TEST(Name)                                               \
  TEST(VecAvx2, Name) {                                                 \
    if (!HasIsa(Isa::kAvx2)) GTEST_SKIP() << "this machine lacks avx2"; \
    avx2::Name();                                                       \
  }
DI_VEC_TESTS(DI_VEC_TEST)

}  // namespace
}  // namespace deepinfer::cpu
