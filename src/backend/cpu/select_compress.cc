#include "backend/cpu/select.h"

namespace deepinfer::cpu {

void SelectCompress(Isa, backend::OpTable&) {}

}  // namespace deepinfer::cpu
