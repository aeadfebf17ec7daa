// The kernels of the residual streams, by instruction set (contracts: backend/ops/streams.h).
#pragma once

#include "backend/ops/streams.h"
#include "backend/stream.h"

namespace deepinfer::cpu {

void EmbedStreams(backend::Stream& stream, const ops::EmbedStreamsArgs& args);

namespace avx2 {
void HcCoeff(backend::Stream& stream, const ops::HcCoeffArgs& args);
void HcWriteNorm(backend::Stream& stream, const ops::HcWriteNormArgs& args);
}  // namespace avx2

namespace avx512 {
void HcCoeff(backend::Stream& stream, const ops::HcCoeffArgs& args);
void HcWriteNorm(backend::Stream& stream, const ops::HcWriteNormArgs& args);
}  // namespace avx512

}  // namespace deepinfer::cpu
