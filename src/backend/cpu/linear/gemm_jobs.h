// Runs many products y = x W^T at once: the tiles of all jobs are shared out over the team.
//
// A job multiplies a list of staged rows with one weight, or with two weights of the same shape whose
// results are wanted together (the gate and up projections of an expert).  Results leave tile by tile
// through the job's sink, while they are in the L1 cache; each pair (row of x, weight row) is handed
// out exactly once, in any order, on any thread.
//
// Threading: called outside any region of the team.  Sinks run inside one, on several threads.
#pragma once

#include <cstdint>
#include <span>

#include "backend/cpu/arena.h"
#include "backend/cpu/linear/tile_kernel.h"
#include "backend/cpu/team.h"
#include "backend/ops/common.h"

namespace deepinfer::cpu {

struct GemmJob;

// Results of rows [m_begin, m_begin + m_count) of the job's x and weight rows [n_begin, n_begin +
// n_count): y[m, n] is at y[(m - m_begin) * kTileRows + n - n_begin].  A tile never crosses a
// multiple of kTileRows weight rows.
struct TileResult {
  int64_t m_begin = 0;
  int32_t m_count = 0;
  int64_t n_begin = 0;
  int32_t n_count = 0;
  const float* y = nullptr;
  const float* y2 = nullptr;  // of the second weight
};

struct GemmJob {
  const TileKernel* kernel = nullptr;
  const void* const* rows = nullptr;  // staged for the kernel
  int64_t num_rows = 0;
  const ops::WeightView* weight = nullptr;
  const ops::WeightView* weight2 = nullptr;  // optional; same shape and format
  int64_t n_begin = 0;                       // weight rows to multiply with
  int64_t n_end = 0;

  // Takes a tile.  `context` and `tag` are for the sink's own use.
  void (*sink)(const GemmJob& job, const TileResult& tile) = nullptr;
  const void* context = nullptr;
  int64_t tag = 0;
};

// Small amounts of work run on the caller alone.  `arena` is used for intermediate arrays.
void RunGemmJobs(Team& team, Arena& arena, std::span<const GemmJob> jobs);

}  // namespace deepinfer::cpu
