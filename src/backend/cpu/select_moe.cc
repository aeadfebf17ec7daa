#include "backend/cpu/select.h"

namespace deepinfer::cpu {

void SelectMoe(Isa, backend::OpTable&) {}

}  // namespace deepinfer::cpu
