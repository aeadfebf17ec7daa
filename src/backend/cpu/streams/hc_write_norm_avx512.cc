#include <algorithm>

#include "backend/cpu/cpu_stream.h"
#include "backend/cpu/streams/streams_kernels.h"
#include "backend/cpu/vec/avx512.h"
#include "base/check.h"

DI_AVX512_BEGIN
#include "backend/cpu/streams/hc_write_norm.inc"
DI_AVX512_END
