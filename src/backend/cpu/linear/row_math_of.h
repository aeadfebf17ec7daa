// The row functions of each width of vector; RowMathOf picks from them.
#pragma once

#include "backend/cpu/linear/row_math.h"

namespace deepinfer::cpu {

namespace avx2 {
extern const RowMath kRowMath;
}
namespace avx512 {
extern const RowMath kRowMath;
}

}  // namespace deepinfer::cpu
