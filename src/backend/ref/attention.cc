// Attention of one layer (backend/ops/attention.h).
#include "backend/ops/attention.h"

#include <algorithm>
#include <cmath>

#include "backend/ref/kernels.h"
#include "backend/ref/scalar.h"
#include "tensor/bf16.h"
#include "tensor/quantize.h"

namespace deepinfer::ref {
namespace {

// RoPE on each of the x.size() / width vectors in `x`, rounded to act.
void RopeHeads(std::vector<float>& x, int64_t width, const TensorView& cos_sin, int64_t token,
               DType act) {
  for (size_t begin = 0; begin < x.size(); begin += width) {
    Rope(x.data() + begin, width, cos_sin, token, Rotation::kForward);
  }
  RoundTo(act, x);
}

// The keys of one row, dequantised, [num_keys, C]: window ascending, then selected entries.
std::vector<float> GatherKeys(const ops::SparseAttentionArgs& args, int64_t token) {
  const BatchArrays batch(args.batch);
  const int64_t width = args.q.dim(2), record_bytes = ops::Fp8RecordBytes(width);
  const int32_t seq = batch.seq_idx[token];
  const int64_t position = batch.positions[token];
  const int64_t step_begin = batch.num_computed_tokens[seq];
  std::vector<float> keys, key(width);
  for (int64_t p = std::max<int64_t>(0, position - args.window + 1); p <= position; ++p) {
    const uint8_t* record = p < step_begin
                                ? RingRecord(args.ring, batch.state_slot[seq], p, record_bytes)
                                : args.kv_record.as<uint8_t>() +
                                      (batch.cu_seqlens_q[seq] + (p - step_begin)) * record_bytes;
    LoadFp8Record(record, width, key.data());
    keys.insert(keys.end(), key.begin(), key.end());
  }
  if (args.pages.pool.empty()) return keys;
  const int32_t* sel = args.sel.as<int32_t>() + token * args.sel.dim(1);
  for (int32_t i = 0; i < args.sel_count.as<int32_t>()[token]; ++i) {
    LoadMainRecord(MainRecord(args.pages, args.batch, seq, sel[i], args.format, width), args.format,
                   width, key.data());
    keys.insert(keys.end(), key.begin(), key.end());
  }
  return keys;
}

// Softmax-weighted mean of the keys, with the sink in the denominator (model.md 6.5).
std::vector<float> Attend(const float* q, const std::vector<float>& keys, int64_t width,
                          const ops::SparseAttentionArgs& args, float sink) {
  std::vector<float> o(width, 0.0f);
  const int64_t num_keys = static_cast<int64_t>(keys.size()) / width;
  if (num_keys == 0) return o;
  std::vector<float> scores(num_keys);
  for (int64_t i = 0; i < num_keys; ++i) {
    scores[i] = Dot(q, keys.data() + i * width, width) * args.softmax_scale;
  }
  const float max = *std::max_element(scores.begin(), scores.end());
  float denominator = 0;
  for (int64_t i = 0; i < num_keys; ++i) {
    const float e = std::exp(scores[i] - max);
    denominator += e;
    const float p = args.numerics == Numerics::kFp32 ? e : RoundToBf16(e);
    for (int64_t c = 0; c < width; ++c) o[c] += p * keys[i * width + c];
  }
  denominator += std::exp(sink - max);
  for (float& value : o) value /= denominator;
  return o;
}

}  // namespace

void RopeCosSin(backend::Stream&, const ops::RopeCosSinArgs& args) {
  const int64_t num_pairs = args.freqs.dim(0);
  for (int64_t t = 0; t < args.positions.dim(0); ++t) {
    const int32_t position = args.positions.as<int32_t>()[t] / args.multiple * args.multiple;
    for (int64_t i = 0; i < num_pairs; ++i) {
      // The angle is an fp32 product; its cosine and sine are exact to fp32 for any size of it.
      const float angle = static_cast<float>(position) * args.freqs.as<float>()[i];
      float* out = args.cos_sin.as<float>() + (t * num_pairs + i) * 2;
      out[0] = static_cast<float>(std::cos(static_cast<double>(angle)));
      out[1] = static_cast<float>(std::sin(static_cast<double>(angle)));
    }
  }
}

void QkvA(backend::Stream&, const ops::QkvAArgs& args) {
  const DType act = args.x.dtype();
  for (int64_t t = 0; t < args.x.dim(0); ++t) {
    const std::vector<float> x = LoadRow(args.x, t);

    std::vector<float> qr = Project(x, args.wq_a);
    RoundTo(act, qr);
    RmsNorm(qr, args.q_norm, args.rms_norm_eps);
    RoundTo(act, qr);
    if (args.numerics == Numerics::kProduction) {
      FakeQuantQ8(qr.data(), static_cast<int64_t>(qr.size()));
    }
    StoreRow(args.qr, t, qr);

    std::vector<float> kv = Project(x, args.wkv);
    RoundTo(act, kv);
    RmsNorm(kv, args.kv_norm, args.rms_norm_eps);
    RoundTo(act, kv);
    RopeHeads(kv, static_cast<int64_t>(kv.size()), args.cos_sin, t, act);
    StoreFp8Record(kv, args.kv_record.as<uint8_t>() + t * args.kv_record.row_bytes());
  }
}

void QB(backend::Stream&, const ops::QBArgs& args) {
  const DType act = args.qr.dtype();
  for (int64_t t = 0; t < args.qr.dim(0); ++t) {
    const std::vector<float> qr = LoadRow(args.qr, t);
    std::vector<float> q = Project(qr, args.wq_b);
    RoundTo(act, q);
    RopeHeads(q, args.q.dim(2), args.cos_sin, t, act);
    StoreRow(args.q, t, q);
    if (args.index_q.empty()) continue;

    std::vector<float> index_q = Project(qr, args.index_wq_b);
    RoundTo(act, index_q);
    RopeHeads(index_q, args.index_q.dim(2), args.cos_sin, t, act);
    FakeQuantQ4x(index_q.data(), static_cast<int64_t>(index_q.size()));
    StoreRow(args.index_q, t, index_q);

    std::vector<float> index_w = Project(LoadRow(args.x, t), args.weights_proj);
    RoundTo(act, index_w);
    StoreRow(args.index_w, t, index_w);
  }
}

void SparseAttention(backend::Stream&, const ops::SparseAttentionArgs& args) {
  const int64_t num_heads = args.q.dim(1), width = args.q.dim(2);
  for (int64_t t = 0; t < args.batch.num_tokens; ++t) {
    const std::vector<float> q = LoadRow(args.q, t);
    const std::vector<float> keys = GatherKeys(args, t);
    std::vector<float> out;
    for (int64_t h = 0; h < num_heads; ++h) {
      std::vector<float> o =
          Attend(q.data() + h * width, keys, width, args, args.attn_sink.as<float>()[h]);
      if (args.numerics == Numerics::kBf16) RoundTo(DType::kBF16, o);
      Rope(o.data(), width, args.cos_sin, t, Rotation::kInverse);
      out.insert(out.end(), o.begin(), o.end());
    }
    if (args.numerics == Numerics::kProduction) {
      FakeQuantQ8(out.data(), static_cast<int64_t>(out.size()));
    }
    StoreRow(args.out, t, out);
  }
}

void WindowWrite(backend::Stream&, const ops::WindowWriteArgs& args) {
  const BatchArrays batch(args.batch);
  const int64_t record_bytes = args.kv_record.dim(1);
  for (int32_t seq = 0; seq < args.batch.num_seqs; ++seq) {
    const int32_t end = batch.cu_seqlens_q[seq + 1];
    const int32_t begin = std::max(batch.cu_seqlens_q[seq], end - args.ring.ring_len);
    for (int32_t t = begin; t < end; ++t) {
      const uint8_t* record = args.kv_record.as<uint8_t>() + t * record_bytes;
      std::copy(record, record + record_bytes,
                RingRecord(args.ring, batch.state_slot[seq], batch.positions[t], record_bytes));
    }
  }
}

}  // namespace deepinfer::ref
