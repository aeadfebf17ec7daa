#include "backend/cpu/select.h"

namespace deepinfer::cpu {

void SelectStreams(Isa, backend::OpTable&) {}

}  // namespace deepinfer::cpu
