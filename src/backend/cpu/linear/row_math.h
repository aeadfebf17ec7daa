// What happens to the f32 results of a projection on their way out: rounding, quantising, norm,
// activation.
//
// Every function works on one row, or on a piece of one where each element stands for itself, and has
// a fixed order of operations.  `act` is f32 or bf16; "rounded" means to act, f32 staying as it is.
// Threading: pure functions.
#pragma once

#include <cstdint>

#include "backend/cpu/isa.h"
#include "tensor/dtype.h"

namespace deepinfer::cpu {

struct SwiGluArgs {
  const float* gate = nullptr;
  const float* up = nullptr;
  int64_t n = 0;
  float weight = 1;  // of the expert in this row
  float limit = 0;   // <= 0: no clamp
  DType act = DType::kF32;
};

struct RowMath {
  // out[i] = x[i], rounded; `out` holds elements of `act`.
  void (*store)(const float* x, int64_t n, DType act, void* out);

  // x[i] rounded, in place.
  void (*round)(float* x, int64_t n, DType act);

  // Q8 and back, in place (model.md 0.3).  Requires n % 32 == 0.
  void (*quantize_q8)(float* x, int64_t n);

  // x * rsqrt(mean(x^2) + eps) * weight, rounded, in place; weight is bf16 (model.md 4.3).
  void (*norm)(float* x, int64_t n, const uint16_t* weight, float eps, DType act);

  // a = silu(min(gate, limit)) * clamp(up, -limit, limit) * weight with gate and up rounded first; a
  // itself is not (model.md 11.2).
  void (*swiglu)(const SwiGluArgs& args, float* a);
};

// By instruction set; of AVX-512 there is one width.
const RowMath& RowMathOf(Isa isa);

}  // namespace deepinfer::cpu
