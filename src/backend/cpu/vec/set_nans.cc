#include "backend/cpu/vec/set_nans.h"

#include <limits>

namespace deepinfer::cpu {

void SetNans(const uint8_t* codes, float* out) {
  for (int32_t i = 0; i < 32; ++i) {
    if ((codes[i] & 0x7f) == 0x7f) out[i] = std::numeric_limits<float>::quiet_NaN();
  }
}

}  // namespace deepinfer::cpu
