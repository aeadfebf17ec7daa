#include <algorithm>

#include "backend/cpu/cpu_stream.h"
#include "backend/cpu/streams/streams_kernels.h"
#include "backend/cpu/vec/avx2.h"
#include "base/check.h"

DI_AVX2_BEGIN
#include "backend/cpu/streams/hc_write_norm.inc"
DI_AVX2_END
