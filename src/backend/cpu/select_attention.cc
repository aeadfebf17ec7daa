#include "backend/cpu/attention/attention_kernels.h"
#include "backend/cpu/select.h"

namespace deepinfer::cpu {

void SelectAttention(Isa isa, backend::OpTable& table) {
  table.rope_cos_sin = RopeCosSin;
  table.window_write = WindowWrite;
  switch (isa) {
    case Isa::kAuto:
    case Isa::kAvx2:
      table.sparse_attention = avx2::SparseAttention;
      return;
    case Isa::kAvx512:
      table.sparse_attention = avx512::SparseAttention;
      return;
    case Isa::kAvx512Bf16:
    case Isa::kAmx:
      table.sparse_attention = avx512vnni::SparseAttention;
      return;
  }
}

}  // namespace deepinfer::cpu
