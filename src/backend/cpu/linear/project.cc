#include "backend/cpu/linear/project.h"

#include <cstring>

#include "backend/cpu/linear/gemm_jobs.h"
#include "backend/cpu/linear/stage.h"

namespace deepinfer::cpu {
namespace {

struct F32Output {
  float* y;
  int64_t stride;
};

void StoreF32(const GemmJob& job, const TileResult& tile) {
  const auto& out = *static_cast<const F32Output*>(job.context);
  for (int32_t m = 0; m < tile.m_count; ++m) {
    std::memcpy(out.y + (tile.m_begin + m) * out.stride + tile.n_begin, tile.y + m * kTileRows,
                static_cast<size_t>(tile.n_count) * sizeof(float));
  }
}

}  // namespace

void ProjectF32(CpuStream& stream, Arena& arena, const TensorView& x, const ops::WeightView& weight,
                float* y, int64_t y_stride) {
  const F32Output out{y, y_stride};
  StagedRows rows(stream, arena, RowsOf(x));
  GemmJob job = rows.JobFor(weight);
  job.sink = &StoreF32;
  job.context = &out;
  RunGemmJobs(stream.team(), arena, {&job, 1});
}

}  // namespace deepinfer::cpu
