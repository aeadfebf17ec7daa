#include <algorithm>
#include <functional>
#include <numeric>

#include "backend/cpu/cpu_stream.h"
#include "backend/cpu/indexer/indexer_kernels.h"
#include "backend/cpu/vec/avx2.h"

DI_AVX2_BEGIN
#include "backend/cpu/indexer/index_top_k.inc"
DI_AVX2_END
