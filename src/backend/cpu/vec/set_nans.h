// The slow path of decoding f8e4m3: codes that are NaN.
#pragma once

#include <cstdint>

namespace deepinfer::cpu {

// Writes a NaN to out[i] for each of the 32 codes that is one.
void SetNans(const uint8_t* codes, float* out);

}  // namespace deepinfer::cpu
