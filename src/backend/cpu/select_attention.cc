#include "backend/cpu/select.h"

namespace deepinfer::cpu {

void SelectAttention(Isa, backend::OpTable&) {}

}  // namespace deepinfer::cpu
