// MoeUp and MoeDown (contract: backend/ops/moe.h; mathematics: model.md 11.2).
//
// Rows are grouped by expert, so that the weights of an expert are read once for all its rows.  A
// group is a job of its own and every result goes to its own place, so neither the grouping nor the
// order of the work shows in the results.
//
// Bound: reading the weights of the chosen experts for few rows, multiply-adds for many.
#include <cstring>

#include "backend/cpu/cpu_stream.h"
#include "backend/cpu/linear/gemm_jobs.h"
#include "backend/cpu/linear/row_math.h"
#include "backend/cpu/linear/stage.h"
#include "backend/cpu/moe/moe_kernels.h"
#include "base/check.h"
#include "tensor/quantize.h"

namespace deepinfer::cpu {
namespace {

static_assert(kTileRows == kQ8Group, "a tile holds whole groups of Q8");

constexpr int64_t kSharedTag = -1;

// Slots (row * A + place in the row) by expert: those of expert e are slots[begin[e] .. begin[e +
// 1]), ascending.
struct SlotsByExpert {
  const int32_t* slots;
  const int32_t* begin;
  int64_t num_experts;
  int64_t num_used;  // experts with a slot
};

SlotsByExpert GroupByExpert(Arena& arena, const TensorView& expert_idx, int64_t num_experts) {
  const int64_t num_slots = expert_idx.num_elements();
  const int32_t* idx = expert_idx.as<int32_t>();
  int32_t* slots = arena.AllocArray<int32_t>(num_slots);
  int32_t* begin = arena.AllocArray<int32_t>(num_experts + 1);
  int32_t* next = arena.AllocArray<int32_t>(num_experts);
  std::memset(begin, 0, static_cast<size_t>(num_experts + 1) * sizeof(int32_t));
  for (int64_t i = 0; i < num_slots; ++i) {
    DI_CHECK(idx[i] >= 0 && idx[i] < num_experts, "expert_idx=", idx[i]);
    ++begin[idx[i] + 1];
  }
  int64_t num_used = 0;
  for (int64_t e = 0; e < num_experts; ++e) {
    num_used += begin[e + 1] > 0;
    begin[e + 1] += begin[e];
    next[e] = begin[e];
  }
  for (int64_t i = 0; i < num_slots; ++i) slots[next[idx[i]]++] = static_cast<int32_t>(i);
  return {slots, begin, num_experts, num_used};
}

// Fills `jobs` with one job for each expert that has slots: its weight and the rows at
// row_of(slot); the tag is where its slots begin.
template <typename Rows, typename RowOf>
int64_t MakeJobs(Arena& arena, const SlotsByExpert& groups,
                 std::span<const ops::ExpertWeights> experts,
                 const ops::WeightView ops::ExpertWeights::*weight, Rows& staged,
                 const RowOf& row_of, GemmJob* jobs) {
  const void** rows = arena.AllocArray<const void*>(groups.begin[groups.num_experts]);
  int64_t num_jobs = 0;
  for (int64_t e = 0; e < groups.num_experts; ++e) {
    const int32_t begin = groups.begin[e], end = groups.begin[e + 1];
    if (begin == end) continue;
    GemmJob job = staged.JobFor(experts[e].*weight);
    const void* const* all_rows = job.rows;
    for (int32_t i = begin; i < end; ++i) rows[i] = all_rows[row_of(groups.slots[i])];
    job.rows = rows + begin;
    job.num_rows = end - begin;
    job.tag = begin;
    jobs[num_jobs++] = job;
  }
  return num_jobs;
}

void* ElementAt(const TensorView& t, int64_t row, int64_t column, int64_t row_elements) {
  return t.as<char>() + (row * row_elements + column) * BitsOf(t.dtype()) / 8;
}

struct UpContext {
  const ops::MoeUpArgs* args;
  const RowMath* math;
  const int32_t* slots;
};

void StoreUpTile(const GemmJob& job, const TileResult& tile) {
  const auto& context = *static_cast<const UpContext*>(job.context);
  const ops::MoeUpArgs& args = *context.args;
  const bool is_shared = job.tag == kSharedTag;
  const TensorView& out = is_shared ? args.a_shared : args.a;
  const int64_t width = is_shared ? out.dim(1) : out.dim(2);
  for (int32_t m = 0; m < tile.m_count; ++m) {
    const int64_t row = is_shared ? tile.m_begin + m : context.slots[job.tag + tile.m_begin + m];
    alignas(64) float a[kTileRows];
    context.math->swiglu({.gate = tile.y + m * kTileRows,
                          .up = tile.y2 + m * kTileRows,
                          .n = tile.n_count,
                          .weight = is_shared ? 1.0f : args.expert_weight.as<float>()[row],
                          .limit = args.swiglu_limit,
                          .act = args.x.dtype()},
                         a);
    if (args.numerics == Numerics::kProduction) context.math->quantize_q8(a, tile.n_count);
    context.math->store(a, tile.n_count, out.dtype(), ElementAt(out, row, tile.n_begin, width));
  }
}

struct DownContext {
  const ops::MoeDownArgs* args;
  const RowMath* math;
  const int32_t* slots;
};

void StoreDownTile(const GemmJob& job, const TileResult& tile) {
  const auto& context = *static_cast<const DownContext*>(job.context);
  const TensorView& y = context.args->y;
  const int64_t num_chosen = y.dim(1) - 1;
  for (int32_t m = 0; m < tile.m_count; ++m) {
    int64_t row = (tile.m_begin + m) * (num_chosen + 1) + num_chosen;
    if (job.tag != kSharedTag) {
      const int64_t slot = context.slots[job.tag + tile.m_begin + m];
      row = slot / num_chosen * (num_chosen + 1) + slot % num_chosen;
    }
    context.math->store(tile.y + m * kTileRows, tile.n_count, y.dtype(),
                        ElementAt(y, row, tile.n_begin, y.dim(2)));
  }
}

}  // namespace

void MoeUp(backend::Stream& stream, const ops::MoeUpArgs& args) {
  CpuStream& cpu = CpuStream::From(stream);
  Arena& arena = cpu.NewOpArena();
  const int64_t num_chosen = args.a.dim(1);
  const SlotsByExpert groups =
      GroupByExpert(arena, args.expert_idx, static_cast<int64_t>(args.experts.size()));
  const UpContext context{&args, &RowMathOf(cpu.isa()), groups.slots};

  StagedRows x(cpu, arena, RowsOf(args.x));
  GemmJob* jobs = arena.AllocArray<GemmJob>(groups.num_used + 1);
  int64_t num_jobs = MakeJobs(
      arena, groups, args.experts, &ops::ExpertWeights::w1, x,
      [&](int32_t slot) { return slot / num_chosen; }, jobs);
  for (int64_t i = 0; i < num_jobs; ++i) {
    const int32_t first_slot = groups.slots[jobs[i].tag];
    jobs[i].weight2 = &args.experts[args.expert_idx.as<int32_t>()[first_slot]].w3;
  }
  jobs[num_jobs] = x.JobFor(args.shared->w1);
  jobs[num_jobs].weight2 = &args.shared->w3;
  jobs[num_jobs].tag = kSharedTag;
  ++num_jobs;
  for (int64_t i = 0; i < num_jobs; ++i) {
    jobs[i].sink = &StoreUpTile;
    jobs[i].context = &context;
  }
  RunGemmJobs(cpu.team(), arena, {jobs, static_cast<size_t>(num_jobs)});
}

void MoeDown(backend::Stream& stream, const ops::MoeDownArgs& args) {
  CpuStream& cpu = CpuStream::From(stream);
  Arena& arena = cpu.NewOpArena();
  const SlotsByExpert groups =
      GroupByExpert(arena, args.expert_idx, static_cast<int64_t>(args.experts.size()));
  const DownContext context{&args, &RowMathOf(cpu.isa()), groups.slots};

  const int64_t width = args.a.dim(2);
  StagedRows a(cpu, arena,
               {args.a.data(), args.a.dtype(), args.a.dim(0) * args.a.dim(1), width, width});
  StagedRows a_shared(cpu, arena, RowsOf(args.a_shared));
  GemmJob* jobs = arena.AllocArray<GemmJob>(groups.num_used + 1);
  int64_t num_jobs = MakeJobs(
      arena, groups, args.experts, &ops::ExpertWeights::w2, a, [](int32_t slot) { return slot; },
      jobs);
  jobs[num_jobs] = a_shared.JobFor(args.shared->w2);
  jobs[num_jobs].tag = kSharedTag;
  ++num_jobs;
  for (int64_t i = 0; i < num_jobs; ++i) {
    jobs[i].sink = &StoreDownTile;
    jobs[i].context = &context;
  }
  RunGemmJobs(cpu.team(), arena, {jobs, static_cast<size_t>(num_jobs)});
}

}  // namespace deepinfer::cpu
