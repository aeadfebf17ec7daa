#include "backend/cpu/moe/moe_kernels.h"
#include "backend/cpu/select.h"

namespace deepinfer::cpu {

// The instruction set is chosen inside, by tile kernel and row functions.
void SelectMoe(Isa, backend::OpTable& table) {
  table.route = Route;
  table.moe_up = MoeUp;
  table.moe_down = MoeDown;
}

}  // namespace deepinfer::cpu
