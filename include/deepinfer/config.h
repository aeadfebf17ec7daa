// EngineConfig: every option of the engine, with default and unit.
//
// Threading: a value.
#pragma once

#include <cstdint>

namespace deepinfer {

// How numbers are rounded between operators; part of the prefix-cache fingerprint.
enum class Numerics : int32_t {
  kFp32 = 0,        // mode F: fp32 activations on the stored weights; the CPU's default
  kBf16 = 1,        // mode B: bf16 activations
  kProduction = 2,  // mode P: bf16 activations, quantised in front of every fp8 or fp4 weight
};

}  // namespace deepinfer
