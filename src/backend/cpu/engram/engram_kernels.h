// The engram kernels of this backend, by instruction set (contracts: backend/ops/engram.h).
#pragma once

#include "backend/ops/engram.h"
#include "backend/stream.h"

namespace deepinfer::cpu {

void EngramHash(backend::Stream& stream, const ops::EngramHashArgs& args);

namespace avx2 {
void EngramGather(backend::Stream& stream, const ops::EngramGatherArgs& args);
void EngramInject(backend::Stream& stream, const ops::EngramInjectArgs& args);
}  // namespace avx2

namespace avx512 {
void EngramGather(backend::Stream& stream, const ops::EngramGatherArgs& args);
void EngramInject(backend::Stream& stream, const ops::EngramInjectArgs& args);
}  // namespace avx512

}  // namespace deepinfer::cpu
