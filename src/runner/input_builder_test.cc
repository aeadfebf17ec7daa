#include "runner/input_builder.h"

#include <gtest/gtest.h>

#include "backend/all/registry.h"
#include "base/check.h"

namespace deepinfer::runner {
namespace {

std::vector<int32_t> Values(const TensorView& view) {
  return {view.as<int32_t>(), view.as<int32_t>() + view.num_elements()};
}

class InputBuilderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto device = backend::CreateDevice({.name = "ref"});
    ASSERT_TRUE(device.ok()) << device.status().ToString();
    device_ = std::move(*device);
    stream_ = device_->CreateStream();
    auto builder = InputBuilder::Create(
        {.max_num_seqs = 3, .max_num_tokens = 8, .max_num_logit_rows = 4, .max_num_blocks = 5},
        *device_);
    ASSERT_TRUE(builder.ok());
    builder_ = std::move(*builder);
  }

  std::unique_ptr<backend::Device> device_;
  std::unique_ptr<backend::Stream> stream_;
  std::unique_ptr<InputBuilder> builder_;
};

TEST_F(InputBuilderTest, FillsEveryTensorOfARaggedBatch) {
  plan::StepPlan plan;
  plan.kind = plan::StepKind::kMixed;
  plan.sequences = {{.seq_id = 8,
                     .state_slot = 2,
                     .num_computed_tokens = 300,
                     .num_new_tokens = 1,
                     .num_blocks = 3},
                    {.seq_id = 9,
                     .state_slot = 1,
                     .num_computed_tokens = 0,
                     .num_new_tokens = 3,
                     .num_blocks = 1}};
  plan.token_ids = {plan::kPendingToken, 11, 12, 13};
  plan.block_ids = {4, 5, 6, 7};
  const std::vector<int32_t> tokens = {10, 11, 12, 13};
  const std::vector<int32_t> logit_rows = {0, 3};
  const model::ModelInput input = builder_->Build(plan, tokens, logit_rows, *stream_);
  EXPECT_EQ(input.batch.num_tokens, 4);
  EXPECT_EQ(input.batch.num_seqs, 2);
  EXPECT_EQ(Values(input.token_ids), tokens);
  EXPECT_EQ(Values(input.logit_rows), logit_rows);
  EXPECT_EQ(Values(input.batch.positions), (std::vector<int32_t>{300, 0, 1, 2}));
  EXPECT_EQ(Values(input.batch.seq_idx), (std::vector<int32_t>{0, 1, 1, 1}));
  EXPECT_EQ(Values(input.batch.cu_seqlens_q), (std::vector<int32_t>{0, 1, 4}));
  EXPECT_EQ(Values(input.batch.num_computed_tokens), (std::vector<int32_t>{300, 0}));
  EXPECT_EQ(Values(input.batch.state_slot), (std::vector<int32_t>{2, 1}));
  EXPECT_EQ(input.batch.block_table.dim(1), 3);
  EXPECT_EQ(Values(input.batch.block_table), (std::vector<int32_t>{4, 5, 6, 7, 0, 0}));
  EXPECT_EQ(input.max_seqlen_k, 301);
}

TEST_F(InputBuilderTest, LargestStepFits) {
  plan::StepPlan plan;
  plan.kind = plan::StepKind::kMixed;
  for (int32_t s = 0; s < 3; ++s) {
    plan.sequences.push_back({.seq_id = s,
                              .state_slot = 1,
                              .num_computed_tokens = 600,
                              .num_new_tokens = s == 0 ? 6 : 1,
                              .num_blocks = 5});
  }
  plan.token_ids.assign(8, 1);
  plan.block_ids.assign(15, 3);
  const std::vector<int32_t> logit_rows = {4, 5, 6, 7};
  EXPECT_EQ(builder_->Build(plan, plan.token_ids, logit_rows, *stream_).batch.num_tokens, 8);
}

TEST_F(InputBuilderTest, MoreThanTheLimitsIsABug) {
  plan::StepPlan plan;
  plan.sequences = {{.seq_id = 1, .state_slot = 1, .num_new_tokens = 9, .num_blocks = 1}};
  plan.token_ids.assign(9, 1);
  plan.block_ids = {1};
  EXPECT_THROW(builder_->Build(plan, plan.token_ids, {}, *stream_), InternalError);
}

}  // namespace
}  // namespace deepinfer::runner
