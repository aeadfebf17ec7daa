// One function pointer an op: what a backend implements.  The front ends in backend/ops check the
// arguments and call through the table of the stream's device, so a kernel may assume its contract.
#pragma once

#include <string_view>
#include <vector>

#include "backend/ops/attention.h"
#include "backend/ops/compress.h"
#include "backend/ops/engram.h"
#include "backend/ops/indexer.h"
#include "backend/ops/linear.h"
#include "backend/ops/moe.h"
#include "backend/ops/streams.h"

// Every op of the engine, once: X(FrontEnd, slot).
#define DI_OP_LIST(X)                  \
  X(Linear, linear)                    \
  X(GroupedLinear, grouped_linear)     \
  X(EmbedStreams, embed_streams)       \
  X(HcCoeff, hc_coeff)                 \
  X(HcWriteNorm, hc_write_norm)        \
  X(FinalNormHead, final_norm_head)    \
  X(RopeCosSin, rope_cos_sin)          \
  X(QkvA, qkv_a)                       \
  X(QB, q_b)                           \
  X(SparseAttention, sparse_attention) \
  X(WindowWrite, window_write)         \
  X(CompressKv, compress_kv)           \
  X(IndexScore, index_score)           \
  X(IndexTopK, index_top_k)            \
  X(Route, route)                      \
  X(MoeUp, moe_up)                     \
  X(MoeDown, moe_down)                 \
  X(EngramHash, engram_hash)           \
  X(EngramGather, engram_gather)       \
  X(EngramInject, engram_inject)

namespace deepinfer::backend {

// A null slot means "no kernel".
struct OpTable {
#define DI_OP_SLOT(Name, slot) void (*slot)(Stream&, const ops::Name##Args&) = nullptr;
  DI_OP_LIST(DI_OP_SLOT)
#undef DI_OP_SLOT
};

// Names of the ops without a kernel, in table order.
std::vector<std::string_view> MissingOps(const OpTable& table);

// Fills null slots of `table` from `fallback`.
void FillMissingOps(OpTable& table, const OpTable& fallback);

}  // namespace deepinfer::backend
