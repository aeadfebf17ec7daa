#include "backend/cpu/cpu_stream.h"
#include "backend/cpu/engram/engram_kernels.h"
#include "backend/cpu/vec/avx512.h"

DI_AVX512_BEGIN
#include "backend/cpu/engram/engram_inject.inc"
DI_AVX512_END
