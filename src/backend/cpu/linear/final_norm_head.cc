// FinalNormHead (contract: backend/ops/streams.h; mathematics: model.md 3).
//
// Collapse and norm are those of HcWriteNorm, row by row; the head is a projection.
#include "backend/cpu/cpu_stream.h"
#include "backend/cpu/linear/linear_kernels.h"
#include "backend/cpu/linear/project.h"
#include "backend/op_table.h"

namespace deepinfer::cpu {

void FinalNormHead(backend::Stream& stream, const ops::FinalNormHeadArgs& args) {
  for (int64_t r = 0; r < args.row_idx.dim(0); ++r) {
    const int32_t row = args.row_idx.as<int32_t>()[r];
    ops::HcWriteNormArgs norm;
    norm.streams = args.streams.Rows(row, 1);
    norm.pre = args.pre.Rows(row, 1);
    norm.norm = args.norm;
    norm.rms_norm_eps = args.rms_norm_eps;
    norm.x = args.hidden.Rows(r, 1);
    stream.ops().hc_write_norm(stream, norm);
  }
  CpuStream& cpu = CpuStream::From(stream);
  ProjectF32(cpu, cpu.NewOpArena(), args.hidden, args.head, args.logits.as<float>(),
             args.logits.dim(1));
}

}  // namespace deepinfer::cpu
