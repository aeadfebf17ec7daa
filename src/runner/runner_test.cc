#include "runner/runner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backend/all/registry.h"
#include "base/check.h"
#include "model/test_configs.h"
#include "runner/fake_model.h"

namespace deepinfer::runner {
namespace {

using plan::kPendingToken;
using plan::StepKind;
using plan::StepPlan;

class RunnerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto device = backend::CreateDevice({.name = "ref"});
    ASSERT_TRUE(device.ok()) << device.status().ToString();
    device_ = std::move(*device);
    auto config = model::ParseModelConfig(model::testing::BranchesConfigText());
    ASSERT_TRUE(config.ok()) << config.status().ToString();
    model_ = std::make_unique<testing::FakeModel>(
        *config,
        model::ModelOptions{.max_num_tokens = 32, .max_num_logit_rows = 16, .max_model_len = 512});
    auto runner =
        Runner::Create(*model_, *device_,
                       {.max_num_seqs = 4,
                        .max_model_len = 512,
                        .num_blocks = 9,
                        .num_state_slots = 5,
                        .sampler = {.vocab_size = config->vocab_size, .num_token_ids = 1 << 30}});
    ASSERT_TRUE(runner.ok()) << runner.status().ToString();
    runner_ = std::move(*runner);
  }

  // A plan with one sequence, prefilled at once and sampled.
  StepPlan Prefill(int64_t seq_id, std::vector<int32_t> prompt, SamplingParams sampling) {
    StepPlan plan;
    plan.step_id = ++step_id_;
    plan.kind = StepKind::kMixed;
    plan.setups.push_back({.seq_id = seq_id,
                           .state_slot = static_cast<int32_t>(seq_id),
                           .sampling = std::make_shared<SamplingParams>(std::move(sampling)),
                           .seed = 7,
                           .stop_token_ids = std::make_shared<std::vector<int32_t>>(),
                           .token_ids = prompt,
                           .prompt_len = static_cast<int32_t>(prompt.size())});
    AddStep(plan, seq_id, 0, prompt, true);
    return plan;
  }

  // Appends a step of sequence `seq_id`, which uses block seq_id and slot seq_id.
  static void AddStep(StepPlan& plan, int64_t seq_id, int32_t num_computed,
                      std::vector<int32_t> tokens, bool samples) {
    plan.sequences.push_back({.seq_id = seq_id,
                              .state_slot = static_cast<int32_t>(seq_id),
                              .num_computed_tokens = num_computed,
                              .num_new_tokens = static_cast<int32_t>(tokens.size()),
                              .num_blocks = 1,
                              .samples = samples});
    plan.token_ids.insert(plan.token_ids.end(), tokens.begin(), tokens.end());
    plan.block_ids.push_back(static_cast<int32_t>(seq_id));
  }

  StepPlan Decode(int64_t seq_id, int32_t num_computed, int32_t token) {
    StepPlan plan;
    plan.step_id = ++step_id_;
    plan.kind = StepKind::kDecode;
    AddStep(plan, seq_id, num_computed, {token}, true);
    return plan;
  }

  plan::StepResult Run(const StepPlan& plan) {
    plan::StepResult result;
    runner_->Run(plan, result);
    EXPECT_EQ(result.step_id, plan.step_id);
    EXPECT_EQ(result.sequences.size(), plan.sequences.size());
    return result;
  }

  // The greedy continuation of `tokens`.
  int32_t Next(const std::vector<int32_t>& tokens) {
    const auto logits = testing::FakeLogits(tokens, model_->config().vocab_size);
    return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  }

  std::unique_ptr<backend::Device> device_;
  std::unique_ptr<testing::FakeModel> model_;
  std::unique_ptr<Runner> runner_;
  int64_t step_id_ = 0;
};

TEST_F(RunnerTest, PrefillAndDecodeGiveTheModelsText) {
  std::vector<int32_t> tokens = {3, 1, 4, 1, 5};
  plan::StepResult result = Run(Prefill(1, tokens, {.temperature = 0}));
  for (int i = 0; i < 5; ++i) {
    const int32_t expected = Next(tokens);
    ASSERT_EQ(result.sequences[0].tokens().size(), 1u);
    EXPECT_EQ(result.sequences[0].token_ids[0], expected);
    tokens.push_back(expected);
    result = Run(Decode(1, static_cast<int32_t>(tokens.size()) - 1, expected));
  }
}

TEST_F(RunnerTest, PendingTokenIsTheOneSampledBefore) {
  const std::vector<int32_t> prompt = {3, 1, 4};
  Run(Prefill(1, prompt, {.temperature = 0}));
  const plan::StepResult result = Run(Decode(1, 3, kPendingToken));
  std::vector<int32_t> tokens = prompt;
  tokens.push_back(Next(prompt));
  EXPECT_EQ(result.sequences[0].token_ids[0], Next(tokens));
}

TEST_F(RunnerTest, ChunksWithoutSamplingReportNothing) {
  StepPlan plan = Prefill(1, {3, 1, 4}, {.temperature = 0});
  plan.sequences[0].num_new_tokens = 2;
  plan.sequences[0].samples = false;
  plan.token_ids = {3, 1};
  EXPECT_EQ(Run(plan).sequences[0].num_tokens, 0);
  EXPECT_EQ(Run(Decode(1, 2, 4)).sequences[0].token_ids[0], Next({3, 1, 4}));
}

TEST_F(RunnerTest, BatchGivesEachSequenceWhatItGetsAlone) {
  StepPlan plan = Prefill(1, {3, 1, 4}, {.temperature = 0});
  const StepPlan other = Prefill(2, {9, 9}, {.temperature = 0});
  plan.setups.push_back(other.setups[0]);
  AddStep(plan, 2, 0, {9, 9}, true);
  const plan::StepResult result = Run(plan);
  EXPECT_EQ(result.sequences[0].token_ids[0], Next({3, 1, 4}));
  EXPECT_EQ(result.sequences[1].token_ids[0], Next({9, 9}));
}

TEST_F(RunnerTest, SlotIsClearedForItsNextSequence) {
  Run(Prefill(1, {3, 1, 4}, {.temperature = 0}));
  StepPlan plan = Prefill(1, {2, 2}, {.temperature = 0});  // the model checks the slot's count
  plan.releases.push_back(1);
  EXPECT_EQ(Run(plan).sequences[0].token_ids[0], Next({2, 2}));
}

TEST_F(RunnerTest, PromptLogprobsAreThoseOfTheNextPromptToken) {
  const std::vector<int32_t> prompt = {3, 1, 4, 1, 5};
  StepPlan plan = Prefill(1, prompt, {.temperature = 0, .logprobs = 1, .prompt_logprobs = 2});
  plan.sequences[0].wants_prompt_logprobs = true;
  const plan::StepResult result = Run(plan);
  const plan::SequenceResult& sequence = result.sequences[0];
  EXPECT_EQ(sequence.first_prompt_logprob, 1);
  ASSERT_EQ(sequence.prompt_logprobs.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const std::vector<int32_t> context(prompt.begin(), prompt.begin() + static_cast<int>(i) + 1);
    const auto logits = testing::FakeLogits(context, model_->config().vocab_size);
    double sum = 0;
    for (const float z : logits) sum += std::exp(static_cast<double>(z));
    EXPECT_EQ(sequence.prompt_logprobs[i].token_id, prompt[i + 1]);
    EXPECT_NEAR(sequence.prompt_logprobs[i].logprob,
                logits[static_cast<size_t>(prompt[i + 1])] - std::log(sum), 1e-5);
    EXPECT_EQ(sequence.prompt_logprobs[i].top.size(), 2u);
  }
  ASSERT_EQ(sequence.logprobs.size(), 1u);
  EXPECT_EQ(sequence.logprobs[0].token_id, sequence.token_ids[0]);
}

TEST_F(RunnerTest, PromptLogprobsOfChunksAreThoseOfTheWhole) {
  const std::vector<int32_t> prompt = {3, 1, 4, 1, 5, 9};
  const SamplingParams sampling{.temperature = 0, .prompt_logprobs = 0};
  StepPlan whole = Prefill(1, prompt, sampling);
  whole.sequences[0].wants_prompt_logprobs = true;
  const plan::StepResult expected = Run(whole);
  std::vector<float> chunked;
  StepPlan plan = Prefill(2, prompt, sampling);
  for (int32_t begin = 0; begin < 6; begin += 2) {
    plan.sequences[0] = {.seq_id = 2,
                         .state_slot = 2,
                         .num_computed_tokens = begin,
                         .num_new_tokens = 2,
                         .num_blocks = 1,
                         .samples = begin == 4,
                         .wants_prompt_logprobs = true};
    plan.token_ids = {prompt[static_cast<size_t>(begin)], prompt[static_cast<size_t>(begin) + 1]};
    const plan::StepResult result = Run(plan);
    EXPECT_EQ(result.sequences[0].first_prompt_logprob, begin + 1);
    for (const auto& entry : result.sequences[0].prompt_logprobs) chunked.push_back(entry.logprob);
    plan.setups.clear();
  }
  ASSERT_EQ(chunked.size(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(chunked[i], expected.sequences[0].prompt_logprobs[i].logprob);
  }
}

TEST_F(RunnerTest, PenaltiesCountThePromptAndTheOutput) {
  StepPlan plan = Prefill(1, {3, 1, 4}, {.temperature = 0, .frequency_penalty = 2});
  std::vector<int32_t> output;
  for (int i = 0; i < 20; ++i) {
    const plan::StepResult result = Run(plan);
    output.push_back(result.sequences[0].token_ids[0]);
    plan = Decode(1, 3 + i, output.back());
  }
  // The same history as a preempted sequence that is set up again with what it had.
  std::vector<int32_t> history = {3, 1, 4};
  history.insert(history.end(), output.begin(), output.end() - 1);
  StepPlan again = Prefill(2, history, {.temperature = 0, .frequency_penalty = 2});
  again.setups[0].prompt_len = 3;
  EXPECT_EQ(Run(again).sequences[0].token_ids[0], output.back());
}

TEST_F(RunnerTest, FailedSequenceLeavesTheOthersAlone) {
  model_->set_hook([](const std::vector<int32_t>& tokens, float* logits) {
    if (tokens[0] == 13) logits[5] = std::numeric_limits<float>::quiet_NaN();
  });
  StepPlan plan = Prefill(1, {13, 1}, {.temperature = 0});
  const StepPlan other = Prefill(2, {9, 9}, {.temperature = 0});
  plan.setups.push_back(other.setups[0]);
  AddStep(plan, 2, 0, {9, 9}, true);
  plan::StepResult result = Run(plan);
  EXPECT_EQ(result.sequences[0].status.code(), StatusCode::kInternal);
  EXPECT_EQ(result.sequences[0].num_tokens, 0);
  EXPECT_EQ(result.sequences[1].token_ids[0], Next({9, 9}));
  // A step that was planned before the failure was known still runs, and fails again.
  result = Run(Decode(1, 2, kPendingToken));
  EXPECT_EQ(result.sequences[0].status.code(), StatusCode::kInternal);
}

TEST_F(RunnerTest, ReleasedSequencesAreForgotten) {
  Run(Prefill(1, {3, 1, 4}, {.temperature = 0}));
  EXPECT_EQ(runner_->num_sequences(), 1u);
  StepPlan plan;
  plan.step_id = 5;
  plan.releases.push_back(1);
  Run(plan);
  EXPECT_EQ(runner_->num_sequences(), 0u);
}

TEST_F(RunnerTest, StepOfAnUnknownSequenceIsABug) {
  plan::StepResult result;
  EXPECT_THROW(runner_->Run(Decode(3, 0, 1), result), InternalError);
}

}  // namespace
}  // namespace deepinfer::runner
