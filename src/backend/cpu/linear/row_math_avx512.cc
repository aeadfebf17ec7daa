#include <cstring>

#include "backend/cpu/linear/row_math_of.h"
#include "backend/cpu/vec/avx512.h"

DI_AVX512_BEGIN
#include "backend/cpu/linear/row_math.inc"
DI_AVX512_END
