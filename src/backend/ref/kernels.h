// The kernels of the reference backend: one function an op, named like its front end.
//
// linear.cc streams.cc attention.cc compress.cc indexer.cc moe.cc engram.cc hold one family each;
// the contracts are in backend/ops.  Threading: one thread at a time on the same tensors.
#pragma once

#include "backend/op_table.h"

namespace deepinfer::ref {

#define DI_DECLARE_KERNEL(Name, slot) \
  void Name(backend::Stream& stream, const ops::Name##Args& args);
DI_OP_LIST(DI_DECLARE_KERNEL)
#undef DI_DECLARE_KERNEL

}  // namespace deepinfer::ref
