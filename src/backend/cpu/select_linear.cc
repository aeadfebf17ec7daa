#include "backend/cpu/select.h"

namespace deepinfer::cpu {

void SelectLinear(Isa, backend::OpTable&) {}

}  // namespace deepinfer::cpu
