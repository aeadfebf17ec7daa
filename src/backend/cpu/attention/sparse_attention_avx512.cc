#include <algorithm>
#include <numeric>

#include "backend/cpu/attention/attention_kernels.h"
#include "backend/cpu/attention/row_keys.h"
#include "backend/cpu/cpu_stream.h"
#include "backend/cpu/vec/avx512.h"
#include "backend/cpu/vec/tables.h"
#include "tensor/float8.h"

DI_AVX512_BEGIN
#include "backend/cpu/attention/sparse_attention.inc"
DI_AVX512_END
