#include "backend/cpu/cpu_stream.h"
#include "backend/cpu/engram/engram_kernels.h"
#include "backend/cpu/vec/avx2.h"
#include "base/check.h"
#include "tensor/float8.h"

DI_AVX2_BEGIN
#include "backend/cpu/engram/engram_gather.inc"
DI_AVX2_END
