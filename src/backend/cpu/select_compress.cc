#include "backend/cpu/compress/compress_kernels.h"
#include "backend/cpu/select.h"

namespace deepinfer::cpu {

void SelectCompress(Isa isa, backend::OpTable& table) {
  table.compress_kv = isa == Isa::kAvx2 ? avx2::CompressKv : avx512::CompressKv;
}

}  // namespace deepinfer::cpu
