#include "backend/cpu/cpu_stream.h"
#include "backend/cpu/engram/engram_kernels.h"
#include "backend/cpu/vec/avx2.h"

DI_AVX2_BEGIN
#include "backend/cpu/engram/engram_inject.inc"
DI_AVX2_END
