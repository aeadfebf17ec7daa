#include "backend/cpu/vec/avx512.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "backend/cpu/isa.h"
#include "tensor/bf16.h"
#include "tensor/float4.h"
#include "tensor/float8.h"
#include "tensor/quantize.h"

DI_AVX512_BEGIN
#include "backend/cpu/vec/vec_test.inc"
DI_AVX512_END

namespace deepinfer::cpu {
namespace {

#define DI_VEC_TEST(Name)                                                   \
  TEST(VecAvx512, Name) {                                                   \
    if (!HasIsa(Isa::kAvx512)) GTEST_SKIP() << "this machine lacks avx512"; \
    avx512::Name();                                                         \
  }
DI_VEC_TESTS(DI_VEC_TEST)

}  // namespace
}  // namespace deepinfer::cpu
