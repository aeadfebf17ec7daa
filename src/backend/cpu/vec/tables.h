// Lookup tables of the small number formats.
#pragma once

#include <array>
#include <cstdint>

#include "tensor/float8.h"

namespace deepinfer::cpu {

// The number of each f8e4m3 code.
inline constexpr std::array<float, 256> kF8Values = [] {
  std::array<float, 256> values{};
  for (int32_t code = 0; code < 256; ++code) {
    values[static_cast<size_t>(code)] = F8E4M3ToF32(static_cast<uint8_t>(code));
  }
  return values;
}();

}  // namespace deepinfer::cpu
