// Stored weights for benchmarks: normal numbers in a checkpoint's format, in as many copies as it
// takes to leave the caches, so that kernels read them from memory.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/cpu/bench/op_bench.h"
#include "backend/ops/common.h"

namespace deepinfer::cpu {

class WeightPool {
 public:
  // Copies of [num_rows, num_cols] weights of `dtype` that fill `min_bytes` at least.
  WeightPool(OpBench& bench, DType dtype, int64_t num_rows, int64_t num_cols,
             int64_t min_bytes = int64_t{256} << 20);

  // The next copy, round and round.
  const ops::WeightView& Next();
  // Bytes of one copy, scales included.
  int64_t num_bytes() const { return num_bytes_; }

 private:
  std::vector<ops::WeightView> copies_;
  size_t next_ = 0;
  int64_t num_bytes_ = 0;
};

}  // namespace deepinfer::cpu
