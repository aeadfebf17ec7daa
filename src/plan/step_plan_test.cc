#include "plan/step_plan.h"

#include <gtest/gtest.h>

#include "base/check.h"
#include "plan/step_result.h"

namespace deepinfer::plan {
namespace {

constexpr int32_t kBlockSize = 4;

// Sequence 3 prefills rows [4, 6) of its prompt, sequence 5 decodes its pending token.
StepPlan MakePlan() {
  StepPlan plan;
  plan.step_id = 9;
  plan.kind = StepKind::kMixed;
  plan.sequences = {{.seq_id = 5,
                     .state_slot = 1,
                     .num_computed_tokens = 3,
                     .num_new_tokens = 1,
                     .num_blocks = 1,
                     .samples = true},
                    {.seq_id = 3,
                     .state_slot = 2,
                     .num_computed_tokens = 4,
                     .num_new_tokens = 2,
                     .num_blocks = 2}};
  plan.token_ids = {kPendingToken, 70, 71};
  plan.block_ids = {7, 1, 2};
  return plan;
}

TEST(StepPlan, ConsistentPlanPasses) {
  const StepPlan plan = MakePlan();
  EXPECT_NO_THROW(CheckPlan(plan, kBlockSize));
  EXPECT_EQ(plan.num_tokens(), 3);
}

TEST(StepPlan, CheckRefusesRowsWithoutTokens) {
  StepPlan plan = MakePlan();
  plan.token_ids.pop_back();
  EXPECT_THROW(CheckPlan(plan, kBlockSize), InternalError);
}

TEST(StepPlan, CheckRefusesATableThatDoesNotCoverItsRows) {
  StepPlan plan = MakePlan();
  plan.sequences[1].num_blocks = 1;
  plan.block_ids.pop_back();
  EXPECT_THROW(CheckPlan(plan, kBlockSize), InternalError);
}

TEST(StepPlan, CheckRefusesTheReservedBlockAndSlot) {
  StepPlan plan = MakePlan();
  plan.block_ids[1] = 0;
  EXPECT_THROW(CheckPlan(plan, kBlockSize), InternalError);
  plan = MakePlan();
  plan.sequences[0].state_slot = 0;
  EXPECT_THROW(CheckPlan(plan, kBlockSize), InternalError);
}

TEST(StepPlan, CheckRefusesAKindThatDoesNotFitTheRows) {
  StepPlan plan = MakePlan();
  plan.kind = StepKind::kDecode;  // but sequence 3 has two rows
  EXPECT_THROW(CheckPlan(plan, kBlockSize), InternalError);
  plan.kind = StepKind::kIdle;
  EXPECT_THROW(CheckPlan(plan, kBlockSize), InternalError);
}

TEST(StepPlan, ClearKeepsMemory) {
  StepPlan plan = MakePlan();
  const int32_t* const before = plan.token_ids.data();
  plan.Clear();
  EXPECT_TRUE(plan.empty());
  EXPECT_EQ(plan.num_tokens(), 0);
  plan.token_ids.push_back(1);
  EXPECT_EQ(plan.token_ids.data(), before);
}

TEST(StepPlan, PlanWithOnlyReleasesIsNotEmpty) {
  StepPlan plan;
  plan.releases.push_back(3);
  EXPECT_FALSE(plan.empty());
  EXPECT_NO_THROW(CheckPlan(plan, kBlockSize));
}

TEST(StepPlan, PrintsRowsOfEachSequence) {
  EXPECT_EQ(ToString(MakePlan()),
            "step=9 kind=mixed rows=3 setups=0 releases=0: seq 5 [3..4) samples slot 1 blocks 1 "
            "seq 3 [4..6) slot 2 blocks 2");
}

TEST(StepResult, TokensAreTheFirstOfTheArray) {
  SequenceResult result;
  result.num_tokens = 2;
  result.token_ids = {4, 5, 6};
  EXPECT_EQ(std::vector<int32_t>(result.tokens().begin(), result.tokens().end()),
            (std::vector<int32_t>{4, 5}));
}

}  // namespace
}  // namespace deepinfer::plan
