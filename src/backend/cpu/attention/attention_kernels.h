// The attention kernels of this backend, by instruction set (contracts: backend/ops/attention.h).
#pragma once

#include "backend/ops/attention.h"
#include "backend/stream.h"

namespace deepinfer::cpu {

void RopeCosSin(backend::Stream& stream, const ops::RopeCosSinArgs& args);
void WindowWrite(backend::Stream& stream, const ops::WindowWriteArgs& args);

namespace avx2 {
void SparseAttention(backend::Stream& stream, const ops::SparseAttentionArgs& args);
}
namespace avx512 {
void SparseAttention(backend::Stream& stream, const ops::SparseAttentionArgs& args);
}
namespace avx512vnni {
void SparseAttention(backend::Stream& stream, const ops::SparseAttentionArgs& args);
}

}  // namespace deepinfer::cpu
