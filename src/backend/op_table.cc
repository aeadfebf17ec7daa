#include "backend/op_table.h"

namespace deepinfer::backend {

std::vector<std::string_view> MissingOps(const OpTable& table) {
  std::vector<std::string_view> missing;
#define DI_OP_MISSING(Name, slot) \
  if (table.slot == nullptr) missing.push_back(#Name);
  DI_OP_LIST(DI_OP_MISSING)
#undef DI_OP_MISSING
  return missing;
}

void FillMissingOps(OpTable& table, const OpTable& fallback) {
#define DI_OP_FILL(Name, slot) \
  if (table.slot == nullptr) table.slot = fallback.slot;
  DI_OP_LIST(DI_OP_FILL)
#undef DI_OP_FILL
}

}  // namespace deepinfer::backend
