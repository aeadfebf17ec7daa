// The ops around projections (contracts: backend/ops/linear.h, attention.h, streams.h).
#pragma once

#include "backend/ops/attention.h"
#include "backend/ops/linear.h"
#include "backend/ops/streams.h"

namespace deepinfer::cpu {

// One kernel for every instruction set: what differs between them is chosen inside, by the tile
// kernel and the row functions of the stream's.
void Linear(backend::Stream& stream, const ops::LinearArgs& args);
void GroupedLinear(backend::Stream& stream, const ops::GroupedLinearArgs& args);
void QkvA(backend::Stream& stream, const ops::QkvAArgs& args);
void QB(backend::Stream& stream, const ops::QBArgs& args);
void FinalNormHead(backend::Stream& stream, const ops::FinalNormHeadArgs& args);

}  // namespace deepinfer::cpu
