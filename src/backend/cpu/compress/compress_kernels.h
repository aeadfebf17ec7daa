// The compressor kernel of this backend, by instruction set (contract: backend/ops/compress.h).
#pragma once

#include "backend/ops/compress.h"
#include "backend/stream.h"

namespace deepinfer::cpu {

namespace avx2 {
void CompressKv(backend::Stream& stream, const ops::CompressKvArgs& args);
}
namespace avx512 {
void CompressKv(backend::Stream& stream, const ops::CompressKvArgs& args);
}

}  // namespace deepinfer::cpu
