#include "runner/input_builder.h"

#include <algorithm>

#include "base/check.h"

namespace deepinfer::runner {
namespace {

// Every tensor starts at a multiple of 64 bytes.
constexpr size_t kAlignment = 16;

size_t Aligned(int64_t num_elements) {
  return (static_cast<size_t>(num_elements) + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

Result<std::unique_ptr<InputBuilder>> InputBuilder::Create(const InputLimits& limits,
                                                           backend::Device& device) {
  DI_CHECK(limits.max_num_seqs >= 1 && limits.max_num_tokens >= 1 && limits.max_num_blocks >= 1,
           "seqs=", limits.max_num_seqs, " tokens=", limits.max_num_tokens);
  std::unique_ptr<InputBuilder> builder(new InputBuilder(limits));
  const size_t size = 3 * Aligned(limits.max_num_tokens) +
                      3 * Aligned(int64_t{limits.max_num_seqs} + 1) +
                      Aligned(int64_t{limits.max_num_seqs} * limits.max_num_blocks) +
                      Aligned(limits.max_num_logit_rows);
  builder->host_.resize(size);
  DI_ASSIGN_OR_RETURN(builder->device_, device.Allocate(size * sizeof(int32_t)));
  return builder;
}

InputBuilder::Piece InputBuilder::Take(int64_t num_elements) {
  const Piece piece{.offset = used_, .host = host_.data() + used_};
  used_ += Aligned(num_elements);
  DI_CHECK(used_ <= host_.size(), "used=", used_, " size=", host_.size());
  return piece;
}

TensorView InputBuilder::OnDevice(const Piece& piece, std::initializer_list<int64_t> shape) const {
  return TensorView(static_cast<int32_t*>(device_.data()) + piece.offset, DType::kI32, shape);
}

void InputBuilder::FillRows(const plan::StepPlan& plan, int32_t* positions, int32_t* seq_idx) {
  int32_t row = 0;
  for (size_t s = 0; s < plan.sequences.size(); ++s) {
    const plan::SequenceStep& step = plan.sequences[s];
    for (int32_t i = 0; i < step.num_new_tokens; ++i, ++row) {
      positions[row] = step.num_computed_tokens + i;
      seq_idx[row] = static_cast<int32_t>(s);
    }
  }
}

model::ModelInput InputBuilder::Build(const plan::StepPlan& plan,
                                      std::span<const int32_t> token_ids,
                                      std::span<const int32_t> logit_rows,
                                      backend::Stream& stream) {
  const int32_t num_tokens = plan.num_tokens();
  const int32_t num_seqs = static_cast<int32_t>(plan.sequences.size());
  DI_CHECK(num_tokens <= limits_.max_num_tokens && num_seqs <= limits_.max_num_seqs,
           "tokens=", num_tokens, " seqs=", num_seqs);
  DI_CHECK(static_cast<int32_t>(logit_rows.size()) <= limits_.max_num_logit_rows,
           "logit rows=", logit_rows.size());
  DI_CHECK(static_cast<int32_t>(token_ids.size()) == num_tokens, "tokens=", token_ids.size());
  model::ModelInput input;
  int32_t max_blocks = 1;
  for (const plan::SequenceStep& step : plan.sequences) {
    max_blocks = std::max(max_blocks, step.num_blocks);
    input.max_seqlen_k =
        std::max(input.max_seqlen_k, step.num_computed_tokens + step.num_new_tokens);
  }
  DI_CHECK(max_blocks <= limits_.max_num_blocks, "blocks=", max_blocks);

  used_ = 0;
  const Piece tokens = Take(num_tokens);
  const Piece positions = Take(num_tokens);
  const Piece seq_idx = Take(num_tokens);
  const Piece cu_seqlens_q = Take(int64_t{num_seqs} + 1);
  const Piece num_computed = Take(num_seqs);
  const Piece state_slot = Take(num_seqs);
  const Piece logits = Take(static_cast<int64_t>(logit_rows.size()));
  const Piece block_table = Take(int64_t{num_seqs} * max_blocks);

  std::copy(token_ids.begin(), token_ids.end(), tokens.host);
  std::copy(logit_rows.begin(), logit_rows.end(), logits.host);
  FillRows(plan, positions.host, seq_idx.host);
  cu_seqlens_q.host[0] = 0;
  const int32_t* blocks = plan.block_ids.data();
  for (int32_t s = 0; s < num_seqs; ++s) {
    const plan::SequenceStep& step = plan.sequences[static_cast<size_t>(s)];
    cu_seqlens_q.host[s + 1] = cu_seqlens_q.host[s] + step.num_new_tokens;
    num_computed.host[s] = step.num_computed_tokens;
    state_slot.host[s] = step.state_slot;
    int32_t* const row = block_table.host + int64_t{s} * max_blocks;
    std::fill(std::copy(blocks, blocks + step.num_blocks, row), row + max_blocks, 0);
    blocks += step.num_blocks;
  }
  stream.CopyToDevice(device_.data(), host_.data(), used_ * sizeof(int32_t));

  input.batch = {.num_tokens = num_tokens,
                 .num_seqs = num_seqs,
                 .positions = OnDevice(positions, {num_tokens}),
                 .seq_idx = OnDevice(seq_idx, {num_tokens}),
                 .cu_seqlens_q = OnDevice(cu_seqlens_q, {num_seqs + 1}),
                 .num_computed_tokens = OnDevice(num_computed, {num_seqs}),
                 .state_slot = OnDevice(state_slot, {num_seqs}),
                 .block_table = OnDevice(block_table, {num_seqs, max_blocks})};
  input.token_ids = OnDevice(tokens, {num_tokens});
  input.logit_rows = OnDevice(logits, {static_cast<int64_t>(logit_rows.size())});
  return input;
}

}  // namespace deepinfer::runner
