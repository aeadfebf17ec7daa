// QkvA and QB (contract: backend/ops/attention.h; mathematics: model.md 6.1, 6.2, 8).
//
// Bound: reading the weights for few rows, multiply-adds for many.  QB rotates and rounds tile by
// tile; QkvA needs whole rows for its norms and finishes them in a second pass.
#include <algorithm>
#include <cstring>

#include "backend/cpu/cpu_stream.h"
#include "backend/cpu/linear/gemm_jobs.h"
#include "backend/cpu/linear/linear_kernels.h"
#include "backend/cpu/linear/row_math.h"
#include "backend/cpu/linear/stage.h"
#include "tensor/quantize.h"

namespace deepinfer::cpu {
namespace {

// Rows of one tensor of activations.
struct Rows {
  char* data = nullptr;
  DType dtype = DType::kF32;
  int64_t row_elements = 0;

  void* At(int64_t row, int64_t column) const {
    return data + (row * row_elements + column) * BitsOf(dtype) / 8;
  }
};

Rows RowsIn(const TensorView& t) { return {t.as<char>(), t.dtype(), t.row_elements()}; }

// Rotates the pairs among `n` channels that start at channel `first` of a vector of `width`; both
// are even (model.md 5).
void Rotate(float* x, int64_t first, int64_t n, int64_t width, const float* cos_sin,
            int64_t num_pairs) {
  const int64_t rope_begin = width - 2 * num_pairs;
  for (int64_t i = first < rope_begin ? rope_begin - first : 0; i < n; i += 2) {
    const float* cs = cos_sin + (first + i - rope_begin);
    const float a = x[i], b = x[i + 1];
    x[i] = a * cs[0] - b * cs[1];
    x[i + 1] = a * cs[1] + b * cs[0];
  }
}

const float* CosSinOf(const TensorView& cos_sin, int64_t row) {
  return cos_sin.as<float>() + row * cos_sin.row_elements();
}

// --- QkvA ---------------------------------------------------------------------------------------

struct QkvAContext {
  const RowMath* math;
  DType act;
  float* rows;  // [T, Qr + C], rounded
  int64_t row_elements;
};

// `tag` is the column where the job's weight begins in the row.
void StoreQkvATile(const GemmJob& job, const TileResult& tile) {
  const auto& context = *static_cast<const QkvAContext*>(job.context);
  for (int32_t m = 0; m < tile.m_count; ++m) {
    float* out = context.rows + (tile.m_begin + m) * context.row_elements + job.tag + tile.n_begin;
    std::memcpy(out, tile.y + m * kTileRows, static_cast<size_t>(tile.n_count) * sizeof(float));
    context.math->round(out, tile.n_count, context.act);
  }
}

void FinishQr(const ops::QkvAArgs& args, const RowMath& math, int64_t t, float* qr) {
  const int64_t n = args.wq_a.num_rows();
  const Rows out = RowsIn(args.qr);
  math.norm(qr, n, args.q_norm.as<uint16_t>(), args.rms_norm_eps, out.dtype);
  if (args.numerics == Numerics::kProduction && n % kQ8Group == 0) math.quantize_q8(qr, n);
  math.store(qr, n, out.dtype, out.At(t, 0));
}

void FinishKv(const ops::QkvAArgs& args, const RowMath& math, int64_t t, float* kv) {
  const int64_t n = args.wkv.num_rows();
  const DType act = args.x.dtype();
  math.norm(kv, n, args.kv_norm.as<uint16_t>(), args.rms_norm_eps, act);
  Rotate(kv, 0, n, n, CosSinOf(args.cos_sin, t), args.cos_sin.dim(1));
  math.round(kv, n, act);
  uint8_t* record =
      args.kv_record.as<uint8_t>() + static_cast<size_t>(t) * args.kv_record.row_bytes();
  QuantizeQ8(kv, n, record, record + n);
}

// --- QB -----------------------------------------------------------------------------------------

struct QBContext {
  const RowMath* math = nullptr;
  const TensorView* cos_sin = nullptr;  // null: no rotation
  int64_t width = 0;                    // of a head
  bool is_index_q = false;              // quantised with Q4x
  DType act = DType::kF32;
  Rows out;
};

void StoreQBTile(const GemmJob& job, const TileResult& tile) {
  const auto& context = *static_cast<const QBContext*>(job.context);
  for (int32_t m = 0; m < tile.m_count; ++m) {
    const int64_t row = tile.m_begin + m;
    alignas(64) float y[kTileRows];
    std::memcpy(y, tile.y + m * kTileRows, sizeof(y));
    context.math->round(y, tile.n_count, context.act);
    if (context.cos_sin != nullptr) {
      // A tile may hold the end of one head and the beginning of the next.
      const float* cos_sin = CosSinOf(*context.cos_sin, row);
      for (int64_t i = 0; i < tile.n_count;) {
        const int64_t first = (tile.n_begin + i) % context.width;
        const int64_t n = std::min<int64_t>(tile.n_count - i, context.width - first);
        Rotate(y + i, first, n, context.width, cos_sin, context.cos_sin->dim(1));
        i += n;
      }
      context.math->round(y, tile.n_count, context.act);
    }
    if (context.is_index_q) FakeQuantQ4x(y, tile.n_count);
    context.math->store(y, tile.n_count, context.out.dtype, context.out.At(row, tile.n_begin));
  }
}

}  // namespace

void QkvA(backend::Stream& stream, const ops::QkvAArgs& args) {
  CpuStream& cpu = CpuStream::From(stream);
  Arena& arena = cpu.NewOpArena();
  const RowMath& math = RowMathOf(cpu.isa());
  const int64_t num_rows = args.x.dim(0);
  const int64_t q_width = args.wq_a.num_rows(), kv_width = args.wkv.num_rows();
  QkvAContext context{&math, args.x.dtype(), nullptr, q_width + kv_width};
  context.rows = arena.AllocArray<float>(num_rows * context.row_elements);

  StagedRows staged(cpu, arena, RowsOf(args.x));
  GemmJob jobs[2] = {staged.JobFor(args.wq_a), staged.JobFor(args.wkv)};
  for (GemmJob& job : jobs) {
    job.sink = &StoreQkvATile;
    job.context = &context;
  }
  jobs[1].tag = q_width;
  RunGemmJobs(cpu.team(), arena, jobs);

  // Half a row an item, so that one row keeps two threads busy.
  const auto finish = [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t i = begin; i < end; ++i) {
      float* row = context.rows + i / 2 * context.row_elements;
      if (i % 2 == 0) {
        FinishQr(args, math, i / 2, row);
      } else {
        FinishKv(args, math, i / 2, row + q_width);
      }
    }
  };
  constexpr int64_t kInlineElements = 4 << 10;
  if (num_rows * context.row_elements <= kInlineElements) {
    finish(0, num_rows * 2, 0);
  } else {
    cpu.team().ParallelFor(num_rows * 2, finish);
  }
}

void QB(backend::Stream& stream, const ops::QBArgs& args) {
  CpuStream& cpu = CpuStream::From(stream);
  Arena& arena = cpu.NewOpArena();
  const DType act = args.qr.dtype();
  QBContext q;
  q.math = &RowMathOf(cpu.isa());
  q.cos_sin = &args.cos_sin;
  q.width = args.q.dim(2);
  q.act = act;
  q.out = RowsIn(args.q);

  StagedRows qr(cpu, arena, RowsOf(args.qr));
  GemmJob jobs[3];
  int32_t num_jobs = 0;
  const auto add = [&](const GemmJob& job, const QBContext& context) {
    jobs[num_jobs] = job;
    jobs[num_jobs].sink = &StoreQBTile;
    jobs[num_jobs].context = &context;
    ++num_jobs;
  };
  add(qr.JobFor(args.wq_b), q);

  QBContext index_q = q, index_w = q;
  if (!args.index_q.empty()) {
    index_q.width = args.index_q.dim(2);
    index_q.is_index_q = true;
    index_q.out = RowsIn(args.index_q);
    add(qr.JobFor(args.index_wq_b), index_q);

    index_w.cos_sin = nullptr;
    index_w.out = RowsIn(args.index_w);
    StagedRows x(cpu, arena, RowsOf(args.x));
    add(x.JobFor(args.weights_proj), index_w);
  }
  RunGemmJobs(cpu.team(), arena, {jobs, static_cast<size_t>(num_jobs)});
}

}  // namespace deepinfer::cpu
