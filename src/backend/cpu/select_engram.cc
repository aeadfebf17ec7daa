#include "backend/cpu/select.h"

namespace deepinfer::cpu {

void SelectEngram(Isa, backend::OpTable&) {}

}  // namespace deepinfer::cpu
