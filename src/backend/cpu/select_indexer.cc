#include "backend/cpu/indexer/indexer_kernels.h"
#include "backend/cpu/select.h"

namespace deepinfer::cpu {

void SelectIndexer(Isa isa, backend::OpTable& table) {
  switch (isa) {
    case Isa::kAuto:
    case Isa::kAvx2:
      table.index_score = avx2::IndexScore;
      table.index_top_k = avx2::IndexTopK;
      return;
    case Isa::kAvx512:
      table.index_score = avx512::IndexScore;
      table.index_top_k = avx512::IndexTopK;
      return;
    case Isa::kAvx512Bf16:
    case Isa::kAmx:
      table.index_score = avx512vnni::IndexScore;
      table.index_top_k = avx512::IndexTopK;
      return;
  }
}

}  // namespace deepinfer::cpu
