// EngramHash (contract: backend/ops/engram.h; mathematics: model.md 13.3).
#include <algorithm>
#include <cstring>

#include "backend/cpu/cpu_stream.h"
#include "backend/cpu/engram/engram_kernels.h"
#include "backend/cpu/records.h"

namespace deepinfer::cpu {
namespace {

constexpr int32_t kDead = -1;
constexpr int64_t kMinParallelHashes = 1 << 11;  // a 64-bit remainder takes some 10 ns

int32_t CompressedId(const ops::EngramHashArgs& args, int32_t token) {
  if (!args.is_image.empty() && args.is_image.as<uint8_t>()[token] != 0) return kDead;
  const int32_t id = args.token_ids.as<int32_t>()[token];
  if (id < 0 || id >= args.compressed_ids.dim(0)) return kDead;
  return std::max(args.compressed_ids.as<int32_t>()[id], kDead);
}

// The compressed id `distance` positions in front of a token, kDead also in front of position 0.
int32_t LookBack(const ops::EngramHashArgs& args, const int32_t* ids, int32_t token,
                 int64_t distance) {
  const int32_t seq = args.batch.seq_idx.as<int32_t>()[token];
  const int64_t position = args.batch.positions.as<int32_t>()[token] - distance;
  if (position < 0) return kDead;
  if (position >= args.batch.num_computed_tokens.as<int32_t>()[seq]) return ids[token - distance];
  int32_t id;
  std::memcpy(&id,
              RingRecord(args.history, args.batch.state_slot.as<int32_t>()[seq],
                         static_cast<int32_t>(position), sizeof(int32_t)),
              sizeof(id));
  return id;
}

void HashToken(const ops::EngramHashArgs& args, const int32_t* ids, int32_t token, int64_t layer) {
  const int64_t max_ngram_size = args.multipliers.dim(1), num_hashes = args.primes.dim(1);
  const int64_t num_heads = num_hashes / (max_ngram_size - 1);
  const int64_t* multipliers = args.multipliers.as<int64_t>() + layer * max_ngram_size;
  const int64_t* primes = args.primes.as<int64_t>() + layer * num_hashes;
  const int64_t* offsets = args.offsets.as<int64_t>() + layer * num_hashes;
  int64_t* row_ids =
      args.row_ids.as<int64_t>() + (layer * args.batch.num_tokens + token) * num_hashes;
  bool is_dead = false;  // sticky: what lies behind a dead position is not looked at
  int64_t hash = 0;
  for (int64_t i = 0; i < max_ngram_size; ++i) {
    int32_t id = is_dead ? kDead : LookBack(args, ids, token, i);
    is_dead = id < 0;
    if (is_dead) id = args.pad_id;
    hash ^= id * multipliers[i];
    if (i == 0) continue;
    for (int64_t k = (i - 1) * num_heads; k < i * num_heads; ++k) {
      row_ids[k] = hash % primes[k] + offsets[k];
    }
  }
}

}  // namespace

void EngramHash(backend::Stream& stream, const ops::EngramHashArgs& args) {
  CpuStream& cpu_stream = CpuStream::From(stream);
  const int32_t num_tokens = args.batch.num_tokens;
  const int64_t num_layers = args.multipliers.dim(0);
  int32_t* ids = cpu_stream.NewOpArena().AllocArray<int32_t>(num_tokens);
  for (int32_t token = 0; token < num_tokens; ++token) ids[token] = CompressedId(args, token);
  const auto tokens = [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t token = begin; token < end; ++token) {
      for (int64_t layer = 0; layer < num_layers; ++layer) {
        HashToken(args, ids, static_cast<int32_t>(token), layer);
      }
    }
  };
  if (args.row_ids.num_elements() < kMinParallelHashes) {
    tokens(0, num_tokens, 0);
  } else {
    cpu_stream.team().ParallelFor(num_tokens, tokens);
  }
  // After all look-backs: a long chunk overwrites what its first tokens looked at.
  const int32_t* seq_idx = args.batch.seq_idx.as<int32_t>();
  for (int32_t token = 0; token < num_tokens; ++token) {
    std::memcpy(RingRecord(args.history, args.batch.state_slot.as<int32_t>()[seq_idx[token]],
                           args.batch.positions.as<int32_t>()[token], sizeof(int32_t)),
                ids + token, sizeof(int32_t));
  }
}

}  // namespace deepinfer::cpu
