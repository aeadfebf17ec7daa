// Fills the op table by instruction set: one function and one select_<family>.cc for each family.
#pragma once

#include "backend/cpu/isa.h"
#include "backend/op_table.h"

namespace deepinfer::cpu {

// `isa` is never kAuto and HasIsa(isa) holds.  A slot that is left null has no kernel.
void SelectLinear(Isa isa, backend::OpTable& table);   // Linear GroupedLinear QkvA QB FinalNormHead
void SelectMoe(Isa isa, backend::OpTable& table);      // Route MoeUp MoeDown
void SelectStreams(Isa isa, backend::OpTable& table);  // EmbedStreams HcCoeff HcWriteNorm
void SelectAttention(Isa isa, backend::OpTable& table);  // RopeCosSin SparseAttention WindowWrite
void SelectCompress(Isa isa, backend::OpTable& table);   // CompressKv
void SelectIndexer(Isa isa, backend::OpTable& table);    // IndexScore IndexTopK
void SelectEngram(Isa isa, backend::OpTable& table);     // EngramHash EngramGather EngramInject

}  // namespace deepinfer::cpu
