#include <algorithm>
#include <cstring>

#include "backend/cpu/compress/compress_kernels.h"
#include "backend/cpu/cpu_stream.h"
#include "backend/cpu/linear/project.h"
#include "backend/cpu/records.h"
#include "backend/cpu/vec/avx2.h"
#include "tensor/quantize.h"

DI_AVX2_BEGIN
#include "backend/cpu/compress/compress_kv.inc"
DI_AVX2_END
