// One row of the parity table: an op (or a few that belong together) with all its tensors.
//
// A case is data plus one function that calls front ends.  The suite (suite.cc) runs it on every
// backend and compares, and it cuts the case into pieces to check that rows do not depend on each
// other.  Ownership: a case owns its host tensors.  Threading: values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backend/ops/common.h"
#include "backend/stream.h"
#include "parity/host_tensor.h"
#include "parity/tolerance.h"

namespace deepinfer::parity {

// The tokens of one sequence in a step.
struct HostSequence {
  int32_t num_computed_tokens = 0;
  int32_t num_new_tokens = 0;
  int32_t state_slot = 0;
  std::vector<int32_t> block_table;
};

// Tensors of a case on a device, and the batch of the rows that run.
class Bound {
 public:
  TensorView operator[](const std::string& name) const;  // empty when the case has no such tensor
  ops::WeightView Weight(const std::string& name) const;
  const ops::BatchView& batch() const { return batch_; }
  int64_t num_rows() const { return num_rows_; }

 private:
  friend class BoundBuilder;
  std::map<std::string, TensorView> views_;
  ops::BatchView batch_;
  int64_t num_rows_ = 0;
};

// Records of numbers inside a byte tensor (a cache).
struct Region {
  enum class Kind { kFp8, kFp4Main, kIndexKey, kF32 };
  Kind kind = Kind::kFp8;
  int64_t begin = 0;         // byte offset of the data
  int64_t scales_begin = 0;  // byte offset of the scales
  int64_t width = 0;         // channels
};

// How an output is compared with that of `ref`.
struct Compare {
  enum class Kind {
    kBitwise,
    kNumbers,  // f32 or bf16
    kRecords,  // u8: the regions as numbers, all other bytes bitwise
  };
  Kind kind = Kind::kBitwise;
  Tolerance tolerance;
  std::vector<Region> regions;
};
inline Compare Numbers(Tolerance tolerance) { return {Compare::Kind::kNumbers, tolerance, {}}; }

inline constexpr int32_t kShared = -1;  // a tensor that is the same for all rows

enum class Role { kIn, kWeight, kOut, kInOut };

struct Arg {
  Role role = Role::kIn;
  HostTensor tensor;           // kOut: its dtype and shape; the suite fills it with a pattern
  int32_t row_axis = kShared;  // the axis that runs over the rows of the case
  Compare compare;             // kOut and kInOut
  std::vector<bool> ignored;   // elements that the contract leaves unspecified; empty: none
};

struct ParityCase {
  std::vector<std::string_view> ops;  // which front ends `run` calls
  int64_t num_rows = 0;
  std::map<std::string, Arg> args;
  std::vector<HostSequence> sequences;  // empty: rows have no order and no state
  std::function<void(backend::Stream&, const Bound&)> run;

  void In(const std::string& name, HostTensor tensor, int32_t row_axis);
  void Weight(const std::string& name, HostWeight weight);
  Arg& Out(const std::string& name, DType dtype, std::vector<int64_t> shape, Compare compare,
           int32_t row_axis = 0);
  Arg& InOut(const std::string& name, HostTensor tensor, int32_t row_axis, Compare compare);

  // Sets the rows: tokens of `sequences` in order.
  void Batch(std::vector<HostSequence> batch);
};

// A named row of the table; `make` draws the case with a generator seeded by the name.
struct CaseSpec {
  std::string name;  // "<family>/<what>"
  std::function<ParityCase(Rng&)> make;
};

std::vector<CaseSpec> LinearCases();
std::vector<CaseSpec> StreamsCases();
std::vector<CaseSpec> AttentionCases();
std::vector<CaseSpec> CompressCases();
std::vector<CaseSpec> IndexerCases();
std::vector<CaseSpec> MoeCases();
std::vector<CaseSpec> EngramCases();

}  // namespace deepinfer::parity
