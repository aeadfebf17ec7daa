#include "backend/cpu/linear/row_math_of.h"
#include "backend/cpu/linear/tile_kernels_of.h"
#include "base/check.h"

namespace deepinfer::cpu {
namespace {

const TileKernels& KernelsFor(Isa isa, DType x, DType weight) {
  // f32 x, and f32 weights of unquantised checkpoints, need f32 products.
  const bool has_bf16_products = x == DType::kBF16 && weight != DType::kF32;
  if (has_bf16_products && isa == Isa::kAmx) return amx::kBf16TileKernels;
  if (has_bf16_products && isa == Isa::kAvx512Bf16) return avx512bf16::kBf16TileKernels;
  return isa == Isa::kAvx2 ? avx2::kF32TileKernels : avx512::kF32TileKernels;
}

}  // namespace

const TileKernel& FindTileKernel(Isa isa, DType x, DType weight) {
  const TileKernels& kernels = KernelsFor(isa, x, weight);
  switch (weight) {
    case DType::kF8E4M3:
      return kernels.f8;
    case DType::kF4E2M1:
      return kernels.f4;
    case DType::kBF16:
      return kernels.bf16;
    default:
      DI_CHECK(weight == DType::kF32, "no kernel for weights of ", DTypeName(weight));
      return kernels.f32;
  }
}

const RowMath& RowMathOf(Isa isa) { return isa == Isa::kAvx2 ? avx2::kRowMath : avx512::kRowMath; }

}  // namespace deepinfer::cpu
