// The indexer kernels of this backend, by instruction set (contracts: backend/ops/indexer.h).
#pragma once

#include "backend/ops/indexer.h"
#include "backend/stream.h"

namespace deepinfer::cpu {

namespace avx2 {
void IndexScore(backend::Stream& stream, const ops::IndexScoreArgs& args);
void IndexTopK(backend::Stream& stream, const ops::IndexTopKArgs& args);
}  // namespace avx2

namespace avx512 {
void IndexScore(backend::Stream& stream, const ops::IndexScoreArgs& args);
void IndexTopK(backend::Stream& stream, const ops::IndexTopKArgs& args);
}  // namespace avx512

namespace avx512vnni {
void IndexScore(backend::Stream& stream, const ops::IndexScoreArgs& args);
}  // namespace avx512vnni

}  // namespace deepinfer::cpu
