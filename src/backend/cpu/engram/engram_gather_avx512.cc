#include "backend/cpu/cpu_stream.h"
#include "backend/cpu/engram/engram_kernels.h"
#include "backend/cpu/vec/avx512.h"
#include "base/check.h"
#include "tensor/float8.h"

DI_AVX512_BEGIN
#include "backend/cpu/engram/engram_gather.inc"
DI_AVX512_END
