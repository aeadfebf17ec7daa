#include "backend/cpu/linear/linear_kernels.h"
#include "backend/cpu/select.h"

namespace deepinfer::cpu {

// The instruction set is chosen inside, by tile kernel and row functions (select_kernels.cc).
void SelectLinear(Isa, backend::OpTable& table) {
  table.linear = Linear;
  table.grouped_linear = GroupedLinear;
  table.qkv_a = QkvA;
  table.q_b = QB;
  table.final_norm_head = FinalNormHead;
}

}  // namespace deepinfer::cpu
