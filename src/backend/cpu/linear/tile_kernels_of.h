// The tile kernels of each instruction set; FindTileKernel picks from them.
#pragma once

#include "backend/cpu/linear/tile_kernel.h"

namespace deepinfer::cpu {

// One instruction set and type of x: a kernel for each weight format.
struct TileKernels {
  TileKernel f8, f4, bf16, f32;
};

namespace avx2 {
extern const TileKernels kF32TileKernels;
}
namespace avx512 {
extern const TileKernels kF32TileKernels;
}
namespace avx512bf16 {
extern const TileKernels kBf16TileKernels;  // without f32 weights
}
namespace amx {
extern const TileKernels kBf16TileKernels;  // without f32 weights
}

}  // namespace deepinfer::cpu
