#include <algorithm>

#include "backend/cpu/cpu_stream.h"
#include "backend/cpu/streams/sinkhorn.h"
#include "backend/cpu/streams/streams_kernels.h"
#include "backend/cpu/vec/avx512.h"

DI_AVX512_BEGIN
#include "backend/cpu/streams/hc_coeff.inc"
DI_AVX512_END
