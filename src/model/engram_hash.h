// The constants of the engram hashes: primes, table offsets and multipliers (model.md 13.2, 13.3).
//
// They depend on the config alone.  The hashing itself is the op ops::EngramHash.
#pragma once

#include <cstdint>
#include <vector>

#include "model/model_config.h"

namespace deepinfer::model {

// Constants of one engram layer.  K = engram_rows_per_token(), n-gram size major, head minor.
struct EngramHashLayer {
  std::vector<int64_t> primes;       // [K], each used once in the whole model
  std::vector<int64_t> offsets;      // [K], first table row of each prime's range
  std::vector<int64_t> multipliers;  // [engram_max_ngram_size], odd
  int64_t num_rows = 0;              // sum of the primes = rows of the layer's table
};

// One entry for each of config.engram_layer_ids, in that order.
std::vector<EngramHashLayer> MakeEngramHash(const ModelConfig& config);

// `count` numbers drawn uniformly from [0, bound) as NumPy's default_rng(seed).integers does for
// bounds above 2^32 (SeedSequence, PCG64, Lemire's rejection), because the checkpoint was trained
// with those.  Requires bound > 2^32.
std::vector<uint64_t> DrawBounded(uint64_t seed, uint64_t bound, int32_t count);

// Whether n is prime; exact for all n < 2^62.
bool IsPrime(int64_t n);

}  // namespace deepinfer::model
