#include <algorithm>
#include <numeric>

#include "backend/cpu/attention/attention_kernels.h"
#include "backend/cpu/attention/row_keys.h"
#include "backend/cpu/cpu_stream.h"
#include "backend/cpu/vec/avx512.h"
#include "backend/cpu/vec/tables.h"
#include "tensor/float8.h"

DI_AVX512_BEGIN

#include "backend/cpu/attention/attend.inc"
#include "backend/cpu/attention/panel_f32.inc"

void SparseAttention(backend::Stream& stream, const ops::SparseAttentionArgs& args) {
  Team& team = CpuStream::From(stream).team();
  if (args.numerics == Numerics::kFp32) {
    Attend<float, PanelF32<float>>(team, args);
  } else {
    Attend<uint16_t, PanelF32<uint16_t>>(team, args);
  }
}

DI_AVX512_END
