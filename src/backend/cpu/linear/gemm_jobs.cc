#include "backend/cpu/linear/gemm_jobs.h"

#include <algorithm>

namespace deepinfer::cpu {
namespace {

// Weights times (1 + rows of x / 8), about what a decoding kernel's time follows.  A core handles
// some 20 a nanosecond, so this is a microsecond or two: what a region costs.
constexpr int64_t kInlineWork = 24 << 10;

// Chunks of tiles that a thread takes at a time: several a thread, so that none waits long at the
// end, but runs of neighbouring tiles, so that the reads are long.
constexpr int64_t kChunksPerThread = 8;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Tiles along the weight rows: cut at multiples of kTileRows.
int64_t NumTiles(const GemmJob& job) {
  return CeilDiv(job.n_end, kTileRows) - job.n_begin / kTileRows;
}
int64_t NumTokenBlocks(const GemmJob& job) { return CeilDiv(job.num_rows, kMaxTileTokens); }
int64_t NumTasks(const GemmJob& job) { return NumTiles(job) * NumTokenBlocks(job); }

int64_t Work(const GemmJob& job) {
  const int64_t weights = (job.n_end - job.n_begin) * job.weight->num_cols();
  return weights * (job.weight2 == nullptr ? 1 : 2) * (8 + job.num_rows) / 8;
}

struct PackGroup {
  const GemmJob* job;
  int64_t first_row;
  void* out;
};

// Packs the rows of jobs whose kernel wants that.  packed[i] of job i is null where it does not.
void PackRows(Team& team, Arena& arena, std::span<const GemmJob> jobs, bool is_inline,
              void** packed) {
  int64_t num_groups = 0;
  for (const GemmJob& job : jobs) {
    if (job.kernel->pack != nullptr) num_groups += CeilDiv(job.num_rows, kPackTokens);
  }
  if (num_groups == 0) {
    std::fill(packed, packed + jobs.size(), nullptr);
    return;
  }
  PackGroup* groups = arena.AllocArray<PackGroup>(num_groups);
  int64_t filled = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    packed[i] = nullptr;
    if (jobs[i].kernel->pack == nullptr) continue;
    const size_t row_bytes = static_cast<size_t>(StagedCols(jobs[i].weight->num_cols())) * 2;
    packed[i] = arena.Alloc(static_cast<size_t>(jobs[i].num_rows) * row_bytes);
    for (int64_t row = 0; row < jobs[i].num_rows; row += kPackTokens) {
      void* out = static_cast<char*>(packed[i]) + static_cast<size_t>(row) * row_bytes;
      groups[filled++] = {&jobs[i], row, out};
    }
  }
  const auto pack = [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t g = begin; g < end; ++g) {
      const GemmJob& job = *groups[g].job;
      const int64_t count = std::min<int64_t>(job.num_rows - groups[g].first_row, kPackTokens);
      job.kernel->pack(job.rows + groups[g].first_row, static_cast<int32_t>(count),
                       job.weight->num_cols(), groups[g].out);
    }
  };
  if (is_inline) {
    pack(0, num_groups, 0);
  } else {
    team.ParallelFor(num_groups, pack);
  }
}

// Bytes of `cols` elements.
int64_t Bytes(DType dtype, int64_t cols) { return cols * BitsOf(dtype) / 8; }

void RunTask(const GemmJob& job, const void* packed, int64_t task, Scratch& scratch) {
  alignas(64) float y[kMaxTileTokens * kTileRows];
  alignas(64) float y2[kMaxTileTokens * kTileRows];
  const int64_t num_blocks = NumTokenBlocks(job);
  const int64_t num_cols = job.weight->num_cols();
  // Token blocks of one tile follow each other: its weights are read from memory once.
  const int64_t tile_row = (job.n_begin / kTileRows + task / num_blocks) * kTileRows;
  // Blocks of equal size, in whole packing groups.
  const int64_t groups = CeilDiv(job.num_rows, kPackTokens);
  const int64_t block = task % num_blocks;
  TileResult result;
  result.m_begin = groups * block / num_blocks * kPackTokens;
  const int64_t m_end = std::min(groups * (block + 1) / num_blocks * kPackTokens, job.num_rows);
  result.m_count = static_cast<int32_t>(m_end - result.m_begin);
  result.n_begin = std::max(tile_row, job.n_begin);
  result.n_count = static_cast<int32_t>(std::min(tile_row + kTileRows, job.n_end) - result.n_begin);
  result.y = y;

  TileArgs args;
  args.x = job.rows + result.m_begin;
  if (packed != nullptr) {
    args.x_packed = static_cast<const char*>(packed) + result.m_begin * StagedCols(num_cols) * 2;
  }
  args.num_tokens = result.m_count;
  args.num_rows = result.n_count;
  args.num_cols = num_cols;
  const auto run = [&](const ops::WeightView& weight, float* out) {
    const DType dtype = weight.data.dtype();
    args.weight = weight.data.as<uint8_t>() + result.n_begin * Bytes(dtype, num_cols);
    if (dtype == DType::kF8E4M3) {
      args.scale = weight.scale.as<uint8_t>() + result.n_begin / 32 * CeilDiv(num_cols, 32);
    } else if (dtype == DType::kF4E2M1) {
      args.scale = weight.scale.as<uint8_t>() + result.n_begin * (num_cols / 32);
    }
    args.y = out;
    job.kernel->run(args, scratch);
  };
  run(*job.weight, y);
  if (job.weight2 != nullptr) {
    run(*job.weight2, y2);
    result.y2 = y2;
  }
  job.sink(job, result);
}

}  // namespace

void RunGemmJobs(Team& team, Arena& arena, std::span<const GemmJob> jobs) {
  int64_t work = 0;
  // first_task[i] is the first task of job i among all.
  int64_t* first_task = arena.AllocArray<int64_t>(static_cast<int64_t>(jobs.size()) + 1);
  first_task[0] = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    first_task[i + 1] = first_task[i] + NumTasks(jobs[i]);
    work += Work(jobs[i]);
  }
  const int64_t num_tasks = first_task[jobs.size()];
  if (num_tasks == 0) return;
  const bool is_inline = work < kInlineWork || team.num_threads() == 1;
  void** packed = arena.AllocArray<void*>(static_cast<int64_t>(jobs.size()));
  PackRows(team, arena, jobs, is_inline, packed);

  const auto run = [&](int64_t begin, int64_t end, int32_t thread_idx) {
    size_t i = static_cast<size_t>(
        std::upper_bound(first_task, first_task + jobs.size() + 1, begin) - first_task - 1);
    for (int64_t task = begin; task < end; ++task) {
      while (task >= first_task[i + 1]) ++i;
      RunTask(jobs[i], packed[i], task - first_task[i], team.thread_scratch(thread_idx));
    }
  };
  if (is_inline) {
    run(0, num_tasks, 0);
  } else {
    const int64_t chunk = std::max<int64_t>(num_tasks / (team.num_threads() * kChunksPerThread), 1);
    team.ParallelForDynamic(num_tasks, chunk, run);
  }
}

}  // namespace deepinfer::cpu
