#include "backend/cpu/select.h"
#include "backend/cpu/streams/streams_kernels.h"

namespace deepinfer::cpu {

void SelectStreams(Isa isa, backend::OpTable& table) {
  const bool is_avx2 = isa == Isa::kAvx2;
  table.embed_streams = EmbedStreams;
  table.hc_coeff = is_avx2 ? avx2::HcCoeff : avx512::HcCoeff;
  table.hc_write_norm = is_avx2 ? avx2::HcWriteNorm : avx512::HcWriteNorm;
}

}  // namespace deepinfer::cpu
