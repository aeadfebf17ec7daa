#include "backend/cpu/engram/engram_kernels.h"
#include "backend/cpu/select.h"

namespace deepinfer::cpu {

void SelectEngram(Isa isa, backend::OpTable& table) {
  const bool is_avx2 = isa == Isa::kAvx2;
  table.engram_hash = EngramHash;
  table.engram_gather = is_avx2 ? avx2::EngramGather : avx512::EngramGather;
  table.engram_inject = is_avx2 ? avx2::EngramInject : avx512::EngramInject;
}

}  // namespace deepinfer::cpu
