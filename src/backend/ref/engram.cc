// Engram (backend/ops/engram.h).
#include "backend/ops/engram.h"

#include <algorithm>
#include <cmath>

#include "backend/ref/kernels.h"
#include "backend/ref/scalar.h"
#include "base/check.h"
#include "tensor/quantize.h"

namespace deepinfer::ref {
namespace {

constexpr int32_t kDead = -1;

// Compressed id of each row of the step, kDead where there is none.
std::vector<int32_t> CompressIds(const ops::EngramHashArgs& args) {
  std::vector<int32_t> compressed(args.batch.num_tokens);
  for (int32_t t = 0; t < args.batch.num_tokens; ++t) {
    const int32_t id = args.token_ids.as<int32_t>()[t];
    const bool is_image = !args.is_image.empty() && args.is_image.as<uint8_t>()[t] != 0;
    const bool is_known = !is_image && id >= 0 && id < args.compressed_ids.dim(0);
    compressed[t] = is_known ? std::max(args.compressed_ids.as<int32_t>()[id], kDead) : kDead;
  }
  return compressed;
}

int32_t* HistoryRecord(const ops::EngramHashArgs& args, int32_t slot, int64_t position) {
  return reinterpret_cast<int32_t*>(RingRecord(args.history, slot, position, sizeof(int32_t)));
}

// c_0 .. c_{Ng-1} of one row: pad in front of the sequence and from the first dead position on.
std::vector<int64_t> LookBack(const ops::EngramHashArgs& args, const std::vector<int32_t>& ids,
                              int32_t token) {
  const BatchArrays batch(args.batch);
  const int32_t seq = batch.seq_idx[token];
  std::vector<int64_t> c(args.multipliers.dim(1), args.pad_id);
  for (size_t i = 0; i < c.size(); ++i) {
    const int64_t position = batch.positions[token] - static_cast<int64_t>(i);
    if (position < 0) break;
    const int32_t id = position >= batch.num_computed_tokens[seq]
                           ? ids[token - i]
                           : *HistoryRecord(args, batch.state_slot[seq], position);
    if (id < 0) break;
    c[i] = id;
  }
  return c;
}

// The ids of one row and layer (model.md 13.3).
void HashRow(const ops::EngramHashArgs& args, const std::vector<int64_t>& c, int64_t layer,
             int64_t* row_ids) {
  const int64_t max_ngram_size = args.multipliers.dim(1), num_hashes = args.primes.dim(1);
  const int64_t num_heads = num_hashes / (max_ngram_size - 1);
  const int64_t* multipliers = args.multipliers.as<int64_t>() + layer * max_ngram_size;
  const int64_t* primes = args.primes.as<int64_t>() + layer * num_hashes;
  const int64_t* offsets = args.offsets.as<int64_t>() + layer * num_hashes;
  int64_t hash = c[0] * multipliers[0];
  for (int64_t i = 1; i < max_ngram_size; ++i) {
    hash ^= c[i] * multipliers[i];
    for (int64_t k = (i - 1) * num_heads; k < i * num_heads; ++k) {
      row_ids[k] = hash % primes[k] + offsets[k];
    }
  }
}

}  // namespace

void EngramHash(backend::Stream&, const ops::EngramHashArgs& args) {
  const BatchArrays batch(args.batch);
  const int64_t num_tokens = args.batch.num_tokens, num_hashes = args.primes.dim(1);
  const std::vector<int32_t> ids = CompressIds(args);
  for (int32_t t = 0; t < num_tokens; ++t) {
    const std::vector<int64_t> c = LookBack(args, ids, t);
    for (int64_t layer = 0; layer < args.multipliers.dim(0); ++layer) {
      HashRow(args, c, layer, args.row_ids.as<int64_t>() + (layer * num_tokens + t) * num_hashes);
    }
  }
  for (int32_t t = 0; t < num_tokens; ++t) {
    *HistoryRecord(args, batch.state_slot[batch.seq_idx[t]], batch.positions[t]) = ids[t];
  }
}

void EngramGather(backend::Stream&, const ops::EngramGatherArgs& args) {
  const int64_t width = args.table.dim(1);
  const TensorView out = args.out.Reshaped({args.row_ids.num_elements(), width});
  for (int64_t i = 0; i < args.row_ids.num_elements(); ++i) {
    const int64_t row = args.row_ids.as<int64_t>()[i];
    DI_CHECK(row >= 0 && row < args.table.dim(0), "row=", row, " rows=", args.table.dim(0));
    std::vector<float> values(width);
    DequantizeQ8(args.table.as<uint8_t>() + row * width,
                 args.scale.as<uint8_t>() + row * args.scale.dim(1), width, values.data());
    StoreRow(out, i, values);
  }
}

void EngramInject(backend::Stream&, const ops::EngramInjectArgs& args) {
  const int64_t num_tokens = args.streams.dim(0), n = args.streams.dim(1);
  const int64_t hidden_size = args.streams.dim(2);
  for (int64_t t = 0; t < num_tokens; ++t) {
    if (!args.is_image.empty() && args.is_image.as<uint8_t>()[t] != 0) continue;
    const std::vector<float> kv = LoadRow(args.kv, t);
    const float* value = kv.data() + n * hidden_size;
    std::vector<float> streams = LoadRow(args.streams, t);
    for (int64_t j = 0; j < n; ++j) {
      float* stream = streams.data() + j * hidden_size;
      const float* key = kv.data() + j * hidden_size;
      float dot = 0;
      for (int64_t d = 0; d < hidden_size; ++d) {
        const int64_t i = j * hidden_size + d;
        dot += stream[d] * (Load(args.q_weight, i) * Load(args.k_weight, i)) * key[d];
      }
      dot = dot * InverseRms(stream, hidden_size, args.rms_norm_eps) *
            InverseRms(key, hidden_size, args.rms_norm_eps) /
            std::sqrt(static_cast<float>(hidden_size));
      const float gate = Sigmoid(std::copysign(std::sqrt(std::max(std::fabs(dot), 1e-6f)), dot));
      for (int64_t d = 0; d < hidden_size; ++d) stream[d] += gate * value[d];
    }
    StoreRow(args.streams, t, streams);
  }
}

}  // namespace deepinfer::ref
