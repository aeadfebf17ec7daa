#include "backend/cpu/select.h"

namespace deepinfer::cpu {

void SelectIndexer(Isa, backend::OpTable&) {}

}  // namespace deepinfer::cpu
