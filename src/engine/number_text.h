// Numbers in messages to users.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "base/strings.h"

namespace deepinfer::engine {

// Whole numbers without exponent ("1000000"), others in their shortest form ("0.1", "nan").
inline std::string NumberText(double value) {
  if (std::abs(value) < 1e15 && value == std::floor(value)) {
    return StrCat(static_cast<int64_t>(value));
  }
  return StrCat(value);
}

}  // namespace deepinfer::engine
