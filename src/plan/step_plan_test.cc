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

// Each way to break a plan that was fine.
struct Violation {
  const char* what;
  void (*breaks)(StepPlan&);
};

TEST(StepPlan, CheckRefusesEveryInconsistency) {
  const Violation violations[] = {
      {"a sequence without rows", [](StepPlan& p) { p.sequences[0].num_new_tokens = 0; }},
      {"rows that nobody has", [](StepPlan& p) { p.token_ids.push_back(3); }},
      {"negative rows", [](StepPlan& p) { p.sequences[1].num_new_tokens = -2; }},
      {"a negative position", [](StepPlan& p) { p.sequences[1].num_computed_tokens = -1; }},
      {"blocks that nobody has", [](StepPlan& p) { p.block_ids.push_back(5); }},
      {"a table shorter than its count", [](StepPlan& p) { p.block_ids.pop_back(); }},
      {"no blocks", [](StepPlan& p) { p.sequences[0].num_blocks = 0; }},
      {"a negative block", [](StepPlan& p) { p.block_ids[0] = -4; }},
      {"a negative slot", [](StepPlan& p) { p.sequences[0].state_slot = -1; }},
      {"sequences in an idle step", [](StepPlan& p) { p.kind = StepKind::kIdle; }},
      {"no sequences in a mixed step",
       [](StepPlan& p) {
         p.sequences.clear();
         p.token_ids.clear();
         p.block_ids.clear();
       }},
  };
  for (const Violation& violation : violations) {
    StepPlan plan = MakePlan();
    violation.breaks(plan);
    EXPECT_THROW(CheckPlan(plan, kBlockSize), InternalError) << violation.what;
  }
}

TEST(StepPlan, TableMayEndExactlyWithItsRows) {
  StepPlan plan = MakePlan();
  plan.sequences[1].num_computed_tokens = 6;  // rows 6 and 7 of two blocks of 4
  EXPECT_NO_THROW(CheckPlan(plan, kBlockSize));
  plan.sequences[1].num_computed_tokens = 7;
  EXPECT_THROW(CheckPlan(plan, kBlockSize), InternalError);
}

TEST(StepPlan, DecodeStepHasOneRowASequence) {
  StepPlan plan = MakePlan();
  plan.kind = StepKind::kDecode;
  plan.sequences[1].num_new_tokens = 1;
  plan.token_ids.pop_back();
  EXPECT_NO_THROW(CheckPlan(plan, kBlockSize));
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

TEST(StepPlan, PrintsAnIdleStep) {
  EXPECT_EQ(ToString(StepPlan()), "step=0 kind=idle rows=0 setups=0 releases=0:");
}

TEST(StepPlan, CopiesAreIndependent) {
  const StepPlan plan = MakePlan();
  StepPlan copy = plan;
  copy.token_ids[1] = 99;
  copy.sequences.clear();
  EXPECT_EQ(plan.token_ids[1], 70);
  EXPECT_EQ(plan.sequences.size(), 2u);
}

TEST(StepResult, ClearKeepsMemory) {
  StepResult result;
  result.step_id = 4;
  result.forward_us = 9;
  result.sequences.resize(3);
  const SequenceResult* const before = result.sequences.data();
  result.Clear();
  EXPECT_EQ(result.step_id, 0);
  EXPECT_EQ(result.forward_us, 0);
  EXPECT_TRUE(result.sequences.empty());
  result.sequences.emplace_back();
  EXPECT_EQ(result.sequences.data(), before);
}

TEST(StepResult, NewSequenceResultIsEmptyAndOk) {
  const SequenceResult result;
  EXPECT_TRUE(result.tokens().empty());
  EXPECT_TRUE(result.status.ok());
  EXPECT_EQ(result.logprobs.capacity(), 0u);  // no memory unless log-probabilities are asked for
  EXPECT_EQ(result.prompt_logprobs.capacity(), 0u);
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
