#include <cstring>

#include "backend/cpu/linear/row_math_of.h"
#include "backend/cpu/vec/avx2.h"

DI_AVX2_BEGIN
#include "backend/cpu/linear/row_math.inc"
DI_AVX2_END
