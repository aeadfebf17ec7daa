// Router and experts (contracts: backend/ops/moe.h).
#pragma once

#include "backend/ops/moe.h"

namespace deepinfer::cpu {

void Route(backend::Stream& stream, const ops::RouteArgs& args);
void MoeUp(backend::Stream& stream, const ops::MoeUpArgs& args);
void MoeDown(backend::Stream& stream, const ops::MoeDownArgs& args);

}  // namespace deepinfer::cpu
