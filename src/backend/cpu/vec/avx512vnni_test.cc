#include "backend/cpu/vec/avx512vnni.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "backend/cpu/isa.h"
#include "tensor/bf16.h"
#include "tensor/float4.h"
#include "tensor/float8.h"
#include "tensor/quantize.h"

DI_AVX512VNNI_BEGIN
#include "backend/cpu/vec/vec_test.inc"
DI_AVX512VNNI_END

namespace deepinfer::cpu {
namespace {

#define DI_VEC_TEST(Name)                                                           \
  TEST(VecAvx512Vnni, Name) {                                                       \
    if (!HasIsa(Isa::kAvx512Bf16)) GTEST_SKIP() << "this machine lacks avx512vnni"; \
    avx512vnni::Name();                                                             \
  }
DI_VEC_TESTS(DI_VEC_TEST)

}  // namespace
}  // namespace deepinfer::cpu
