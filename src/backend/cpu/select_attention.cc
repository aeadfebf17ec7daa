#include "backend/cpu/attention/attention_kernels.h"
#include "backend/cpu/select.h"

namespace deepinfer::cpu {

void SelectAttention(Isa isa, backend::OpTable& table) {
  table.rope_cos_sin = RopeCosSin;
  table.window_write = WindowWrite;
  table.sparse_attention = isa == Isa::kAvx2 ? avx2::SparseAttention : avx512::SparseAttention;
}

}  // namespace deepinfer::cpu
