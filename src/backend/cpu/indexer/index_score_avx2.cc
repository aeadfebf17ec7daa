#include <algorithm>

#include "backend/cpu/cpu_stream.h"
#include "backend/cpu/indexer/indexer_kernels.h"
#include "backend/cpu/indexer/key_panel.h"
#include "backend/cpu/vec/avx2.h"
#include "tensor/float8.h"

DI_AVX2_BEGIN
#include "backend/cpu/indexer/index_score.inc"
DI_AVX2_END
