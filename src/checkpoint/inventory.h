// The list of tensors that a released-format text checkpoint has, from its config.json: names, storage
// formats and shapes (model.md 2.3 and dspark.md 3).  Vision tensors are not in it.
//
// It serves whoever makes a checkpoint (synthesis) or describes one; the model reads tensors by its own
// needs and does not come here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "checkpoint/checkpoint_writer.h"
#include "deepinfer/status.h"

namespace deepinfer::checkpoint {

// How a weight is stored (model.md 2.2).
enum class WeightFormat : uint8_t {
  kF32,
  kBF16,
  kF8Tiles,  // F8 pair: one scale for each 32x32 tile
  kF8Rows,   // engram table: one scale for each row and 32 columns
  kF4Rows,   // F4 pair: one scale for each row and 32 columns, two codes a byte
};

// What its values look like in a trained model, roughly; for synthesis (model.md 22).
struct WeightShape {
  enum class Kind : uint8_t {
    kNormal,   // mean + scale * N(0, 1)
    kUniform,  // mean .. scale
    kHcBase,   // hyper-connection bias: pre -1 + N, post N, comb 3 * eye + 0.5 * N
  };
  Kind kind = Kind::kNormal;
  float mean = 0;
  float scale = 1;
};

// One weight: one tensor, or a pair of codes and scales.
struct Weight {
  std::string name;  // of the (code) tensor, e.g. "layers.0.attn.wq_a.weight"
  WeightFormat format = WeightFormat::kBF16;
  std::vector<int64_t> shape;  // of the values; two axes for the quantised formats
  WeightShape values;

  int64_t num_rows() const { return shape[0]; }
  int64_t num_cols() const;  // elements of a row; 1 for a vector
  bool is_pair() const { return format != WeightFormat::kF32 && format != WeightFormat::kBF16; }
  // The tensor of the codes (or of the plain values).
  TensorSpec Codes() const;
  // The tensor of the scales.  Requires is_pair().
  TensorSpec Scales() const;
};

// Every text weight of the config, layer by layer, draft layers last.  Only the keys that decide shapes are
// read, and only their ranges are checked; whether the model can run it is for the model's own validation.
// Refusals name the key with its path.
Result<std::vector<Weight>> TextInventory(const json::Value& config);

}  // namespace deepinfer::checkpoint
