// Turns the rows of a StepPlan into the device tensors of a ModelInput.
//
// The host image of all tensors is one piece of memory, filled front to back and copied to the
// device at once; both live as long as the builder, so a step allocates nothing.
// Ownership: the tensors belong to the builder and are valid until the next Build.
// Threading: device thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/device.h"
#include "backend/stream.h"
#include "deepinfer/status.h"
#include "model/model.h"
#include "plan/step_plan.h"
#include "tensor/buffer.h"

namespace deepinfer::runner {

struct InputLimits {
  int32_t max_num_seqs = 0;
  int32_t max_num_tokens = 0;
  int32_t max_num_logit_rows = 0;
  int32_t max_num_blocks = 0;  // of one sequence
};

class InputBuilder {
 public:
  static Result<std::unique_ptr<InputBuilder>> Create(const InputLimits& limits,
                                                      backend::Device& device);

  // `token_ids` are the plan's with every pending token resolved, `logit_rows` the rows whose
  // logits are wanted, ascending.  DI_CHECK when the plan exceeds the limits.
  model::ModelInput Build(const plan::StepPlan& plan, std::span<const int32_t> token_ids,
                          std::span<const int32_t> logit_rows, backend::Stream& stream);

 private:
  // A tensor in the image.
  struct Piece {
    size_t offset = 0;  // in i32
    int32_t* host = nullptr;
  };

  explicit InputBuilder(const InputLimits& limits) : limits_(limits) {}
  Piece Take(int64_t num_elements);
  void FillRows(const plan::StepPlan& plan, int32_t* positions, int32_t* seq_idx);
  TensorView OnDevice(const Piece& piece, std::initializer_list<int64_t> shape) const;

  const InputLimits limits_;
  std::vector<int32_t> host_;
  Buffer device_;
  size_t used_ = 0;  // i32 of the image
};

}  // namespace deepinfer::runner
