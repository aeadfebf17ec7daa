// Linear and GroupedLinear (contract: backend/ops/linear.h).
//
// Bound: reading the weights for few rows, multiply-adds for many.  Results are rounded or quantised
// tile by tile while they are in the L1 cache.
#include <cstring>

#include "backend/cpu/cpu_stream.h"
#include "backend/cpu/linear/gemm_jobs.h"
#include "backend/cpu/linear/linear_kernels.h"
#include "backend/cpu/linear/row_math.h"
#include "backend/cpu/linear/stage.h"
#include "tensor/quantize.h"

namespace deepinfer::cpu {
namespace {

static_assert(kTileRows == kQ8Group, "a tile holds whole groups of Q8, or a part of one");

struct Output {
  const RowMath* math = nullptr;
  char* data = nullptr;
  DType dtype = DType::kF32;
  int64_t row_elements = 0;
  bool is_quantized = false;
};

char* At(const Output& out, int64_t row, int64_t column) {
  return out.data + (row * out.row_elements + column) * BitsOf(out.dtype) / 8;
}

void StoreTile(const GemmJob& job, const TileResult& tile) {
  const Output& out = *static_cast<const Output*>(job.context);
  for (int32_t m = 0; m < tile.m_count; ++m) {
    const float* y = tile.y + m * kTileRows;
    char* at = At(out, tile.m_begin + m, tile.n_begin);
    if (out.is_quantized) {
      alignas(64) float group[kTileRows];
      std::memcpy(group, y, sizeof(group));
      out.math->quantize_q8(group, kQ8Group);
      out.math->store(group, tile.n_count, out.dtype, at);
    } else {
      out.math->store(y, tile.n_count, out.dtype, at);
    }
  }
}

// Quantises rows that were stored as f32 because their groups straddle the parts of a grouped
// projection.
void QuantizeRows(Team& team, const Output& from, const Output& to, int64_t num_rows) {
  team.ParallelFor(num_rows, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t row = begin; row < end; ++row) {
      float* x = reinterpret_cast<float*>(At(from, row, 0));
      to.math->quantize_q8(x, from.row_elements);
      to.math->store(x, from.row_elements, to.dtype, At(to, row, 0));
    }
  });
}

}  // namespace

void GroupedLinear(backend::Stream& stream, const ops::GroupedLinearArgs& args) {
  CpuStream& cpu = CpuStream::From(stream);
  Arena& arena = cpu.NewOpArena();
  const int64_t num_rows = args.x.dim(0), num_groups = args.num_groups;
  const int64_t num_cols = args.weight.num_cols();
  const int64_t group_rows = args.weight.num_rows() / num_groups;
  const bool is_quantized = args.output == ops::OutputFormat::kQuantized;
  const Output out{&RowMathOf(cpu.isa()), args.y.as<char>(), args.y.dtype(), args.y.dim(1),
                   is_quantized};
  const bool straddles = is_quantized && group_rows % kQ8Group != 0;
  Output target = out;
  if (straddles) {
    target.data = reinterpret_cast<char*>(arena.AllocArray<float>(num_rows * out.row_elements));
    target.dtype = DType::kF32;
    target.is_quantized = false;
  }

  // The parts of a row of x are rows for the kernel: row m, part g is row m * num_groups + g.
  StagedRows parts(cpu, arena,
                   {args.x.data(), args.x.dtype(), num_rows * num_groups, num_cols, num_cols});
  const GemmJob all_parts = parts.JobFor(args.weight);
  GemmJob* jobs = arena.AllocArray<GemmJob>(num_groups);
  const void** rows = arena.AllocArray<const void*>(num_rows * num_groups);
  for (int64_t g = 0; g < num_groups; ++g) {
    for (int64_t m = 0; m < num_rows; ++m)
      rows[g * num_rows + m] = all_parts.rows[m * num_groups + g];
    jobs[g] = all_parts;
    jobs[g].rows = rows + g * num_rows;
    jobs[g].num_rows = num_rows;
    jobs[g].n_begin = g * group_rows;
    jobs[g].n_end = (g + 1) * group_rows;
    jobs[g].sink = &StoreTile;
    jobs[g].context = &target;
  }
  RunGemmJobs(cpu.team(), arena, {jobs, static_cast<size_t>(num_groups)});
  if (straddles) QuantizeRows(cpu.team(), target, out, num_rows);
}

void Linear(backend::Stream& stream, const ops::LinearArgs& args) {
  GroupedLinear(
      stream,
      {.x = args.x, .weight = args.weight, .num_groups = 1, .y = args.y, .output = args.output});
}

}  // namespace deepinfer::cpu
