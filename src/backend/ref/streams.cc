// Residual streams and hyper-connections (backend/ops/streams.h).
#include "backend/ops/streams.h"

#include <algorithm>
#include <cmath>

#include "backend/ref/kernels.h"
#include "backend/ref/scalar.h"
#include "tensor/quantize.h"

namespace deepinfer::ref {
namespace {

// Row softmax, then num_iters column and num_iters - 1 row normalisations (model.md 4.1).
// `m` is [n][n], first index source stream, second destination stream.
void Sinkhorn(std::vector<float>& m, int64_t n, int32_t num_iters, float hc_eps) {
  for (int64_t j = 0; j < n; ++j) {
    float* row = m.data() + j * n;
    const float max = *std::max_element(row, row + n);
    float sum = 0;
    for (int64_t k = 0; k < n; ++k) sum += row[k] = std::exp(row[k] - max);
    for (int64_t k = 0; k < n; ++k) row[k] = row[k] / sum + hc_eps;
  }
  for (int32_t iter = 0; iter < num_iters; ++iter) {
    if (iter > 0) {
      for (int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < n; ++k) sum += m[j * n + k];
        for (int64_t k = 0; k < n; ++k) m[j * n + k] /= sum + hc_eps;
      }
    }
    for (int64_t k = 0; k < n; ++k) {
      float sum = 0;
      for (int64_t j = 0; j < n; ++j) sum += m[j * n + k];
      for (int64_t j = 0; j < n; ++j) m[j * n + k] /= sum + hc_eps;
    }
  }
}

// round_act( sum_j pre[j] * S[j] ), then RMSNorm, rounded.
std::vector<float> CollapseNorm(const std::vector<float>& streams, const float* pre, int64_t n,
                                const TensorView& norm, float eps, DType act) {
  const int64_t hidden_size = static_cast<int64_t>(streams.size()) / n;
  std::vector<float> x(hidden_size, 0.0f);
  for (int64_t d = 0; d < hidden_size; ++d) {
    for (int64_t j = 0; j < n; ++j) x[d] += pre[j] * streams[j * hidden_size + d];
  }
  RoundTo(act, x);
  RmsNorm(x, norm, eps);
  RoundTo(act, x);
  return x;
}

// The write part of HcWriteNorm for one token.
std::vector<float> WriteBack(const ops::HcWriteNormArgs& args, int64_t token,
                             const std::vector<float>& streams) {
  const int64_t num_slots = args.delta.dim(1), n = args.streams.dim(1);
  const int64_t hidden_size = args.streams.dim(2);
  const DType act = args.streams.dtype();
  const std::vector<float> delta = LoadRow(args.delta, token);
  const float* post = args.post.as<float>() + token * n;
  const float* comb = args.comb.as<float>() + token * n * n;
  std::vector<float> written(streams.size());
  for (int64_t d = 0; d < hidden_size; ++d) {
    float o = 0;
    for (int64_t slot = 0; slot < num_slots; ++slot) o += delta[slot * hidden_size + d];
    o = RoundTo(act, o);
    for (int64_t k = 0; k < n; ++k) {
      float sum = post[k] * o;
      for (int64_t j = 0; j < n; ++j) sum += comb[j * n + k] * streams[j * hidden_size + d];
      written[k * hidden_size + d] = RoundTo(act, sum);
    }
  }
  return written;
}

}  // namespace

void EmbedStreams(backend::Stream&, const ops::EmbedStreamsArgs& args) {
  const int64_t num_tokens = args.streams.dim(0), n = args.streams.dim(1);
  const int64_t hidden_size = args.streams.dim(2);
  for (int64_t t = 0; t < num_tokens; ++t) {
    const int64_t id = args.token_ids.as<int32_t>()[t];
    const bool is_known = id >= 0 && id < args.embed.dim(0);
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t d = 0; d < hidden_size; ++d) {
        const float value = is_known ? Load(args.embed, id * hidden_size + d) : 0.0f;
        Store(args.streams, (t * n + j) * hidden_size + d, value);
      }
      Store(args.pre, t * n + j, j == 0 ? 1.0f : 0.0f);
    }
  }
}

void HcCoeff(backend::Stream&, const ops::HcCoeffArgs& args) {
  const int64_t num_tokens = args.streams.dim(0), n = args.streams.dim(1);
  const float* base = args.base.as<float>();
  const float* scale = args.scale.as<float>();
  for (int64_t t = 0; t < num_tokens; ++t) {
    const std::vector<float> v = LoadRow(args.streams, t);
    const float inverse_rms =
        InverseRms(v.data(), static_cast<int64_t>(v.size()), args.rms_norm_eps);
    std::vector<float> u = Project(v, {args.fn, {}});
    for (float& value : u) value *= inverse_rms;

    std::vector<float> comb(n * n);
    for (int64_t j = 0; j < n; ++j) {
      Store(args.pre, t * n + j, Sigmoid(u[j] * scale[0] + base[j]) + args.hc_eps);
      Store(args.post, t * n + j, 2.0f * Sigmoid(u[n + j] * scale[1] + base[n + j]));
    }
    for (int64_t i = 0; i < n * n; ++i) comb[i] = u[2 * n + i] * scale[2] + base[2 * n + i];
    Sinkhorn(comb, n, args.num_sinkhorn_iters, args.hc_eps);
    StoreRow(args.comb, t, comb);
  }
}

void HcWriteNorm(backend::Stream&, const ops::HcWriteNormArgs& args) {
  const int64_t num_tokens = args.streams.dim(0), n = args.streams.dim(1);
  for (int64_t t = 0; t < num_tokens; ++t) {
    std::vector<float> streams = LoadRow(args.streams, t);
    if (!args.delta.empty()) {
      streams = WriteBack(args, t, streams);
      StoreRow(args.streams, t, streams);
    }
    if (args.x.empty()) continue;
    std::vector<float> x = CollapseNorm(streams, args.pre.as<float>() + t * n, n, args.norm,
                                        args.rms_norm_eps, args.streams.dtype());
    StoreRow(args.x, t, x);
    if (args.x_quant.empty()) continue;
    FakeQuantQ8(x.data(), static_cast<int64_t>(x.size()));
    StoreRow(args.x_quant, t, x);
  }
}

void FinalNormHead(backend::Stream&, const ops::FinalNormHeadArgs& args) {
  const int64_t n = args.streams.dim(1);
  for (int64_t r = 0; r < args.row_idx.dim(0); ++r) {
    const int64_t t = args.row_idx.as<int32_t>()[r];
    const std::vector<float> hidden =
        CollapseNorm(LoadRow(args.streams, t), args.pre.as<float>() + t * n, n, args.norm,
                     args.rms_norm_eps, args.streams.dtype());
    StoreRow(args.hidden, r, hidden);
    StoreRow(args.logits, r, Project(hidden, args.head));
  }
}

}  // namespace deepinfer::ref
