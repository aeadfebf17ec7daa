#include "sched/scheduler.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <numeric>

#include "base/check.h"
#include "sched/fake_runner.h"

namespace deepinfer::sched {
namespace {

using plan::StepKind;
using plan::StepPlan;

SchedulerOptions Options() {
  return {.block_size = 4,
          .num_blocks = 33,
          .num_state_slots = 10,
          .max_model_len = 64,
          .max_num_seqs = 8,
          .max_num_batched_tokens = 16,
          .max_num_logit_rows = 8};
}

std::vector<int32_t> Prompt(int32_t length, int32_t first = 1) {
  std::vector<int32_t> prompt(static_cast<size_t>(length));
  std::iota(prompt.begin(), prompt.end(), first);
  return prompt;
}

// A scheduler with a fake runner behind it, driven step by step.
class Driver {
 public:
  explicit Driver(const SchedulerOptions& options)
      : scheduler(options), runner(options.block_size) {}

  int64_t Add(std::vector<int32_t> prompt, SamplingParams sampling,
              std::vector<int32_t> stop_ids = {}) {
    const int64_t seq_id = ++last_id_;
    texts[seq_id] = {};
    scheduler.Add({.seq_id = seq_id,
                   .prompt_token_ids = std::move(prompt),
                   .sampling = std::make_shared<SamplingParams>(std::move(sampling)),
                   .stop_token_ids = std::make_shared<std::vector<int32_t>>(std::move(stop_ids))});
    return seq_id;
  }

  // Plans one step and runs it; the result waits for Advance.
  StepPlan Plan() { return Plan(scheduler.Wish()); }
  StepPlan Plan(StepKind kind) {
    StepPlan plan;
    scheduler.Plan(kind, plan);
    scheduler.CheckInvariants();
    plan::StepResult result = runner.Run(plan);
    if (!plan.sequences.empty()) results_.push_back(std::move(result));
    return plan;
  }

  std::vector<SequenceUpdate> Advance() {
    std::vector<SequenceUpdate> updates;
    scheduler.Advance(results_.front(), updates);
    scheduler.CheckInvariants();
    for (const SequenceUpdate& update : updates) {
      const auto& result = results_.front().sequences[static_cast<size_t>(update.result_idx)];
      for (int32_t i = 0; i < update.num_tokens; ++i) {
        texts[update.seq_id].push_back(result.token_ids[static_cast<size_t>(i)]);
      }
      if (update.finish_reason.has_value()) reasons[update.seq_id] = *update.finish_reason;
    }
    results_.pop_front();
    return updates;
  }

  StepPlan Step() {
    StepPlan plan = Plan();
    if (!plan.sequences.empty()) Advance();
    return plan;
  }

  // Runs until nothing is left; returns the number of steps.
  int32_t Drain(int32_t max_steps = 1000) {
    int32_t num_steps = 0;
    while (scheduler.has_sequences()) {
      EXPECT_LT(num_steps, max_steps) << "no progress";
      if (num_steps++ >= max_steps) break;
      Step();
    }
    return num_steps;
  }

  Scheduler scheduler;
  testing::FakeRunner runner;
  std::map<int64_t, std::vector<int32_t>> texts;
  std::map<int64_t, FinishReason> reasons;

 private:
  int64_t last_id_ = 0;
  std::deque<plan::StepResult> results_;
};

void ExpectEverythingFree(const Driver& driver) {
  const SchedulerStats stats = driver.scheduler.stats();
  EXPECT_EQ(stats.num_free_blocks, driver.scheduler.options().num_blocks - 1);
  EXPECT_EQ(stats.num_free_state_slots, driver.scheduler.options().num_state_slots - 1);
}

TEST(Scheduler, IdleEngineGivesTheFirstTokenAfterOneStep) {
  Driver driver(Options());
  const int64_t id = driver.Add(Prompt(5), {.max_tokens = 3});
  const StepPlan plan = driver.Step();
  EXPECT_EQ(plan.kind, StepKind::kMixed);
  EXPECT_EQ(plan.num_tokens(), 5);
  EXPECT_EQ(driver.texts[id].size(), 1u);
}

TEST(Scheduler, RunsToMaxTokensAndFreesEverything) {
  Driver driver(Options());
  const int64_t id = driver.Add(Prompt(5), {.max_tokens = 3});
  EXPECT_EQ(driver.Drain(), 3);
  EXPECT_EQ(driver.texts[id].size(), 3u);
  EXPECT_EQ(driver.reasons[id], FinishReason::kLength);
  ExpectEverythingFree(driver);
}

TEST(Scheduler, ZeroMaxTokensCountsAsOne) {
  Driver driver(Options());
  const int64_t id = driver.Add(Prompt(2), {.max_tokens = 0});
  driver.Drain();
  EXPECT_EQ(driver.texts[id].size(), 1u);
}

TEST(Scheduler, LongPromptIsCutIntoChunksThatSampleAtTheEndOnly) {
  Driver driver(Options());
  driver.Add(Prompt(35), {.max_tokens = 1});
  std::vector<int32_t> rows;
  std::vector<bool> samples;
  while (driver.scheduler.has_sequences()) {
    const StepPlan plan = driver.Step();
    rows.push_back(plan.sequences.at(0).num_new_tokens);
    samples.push_back(plan.sequences.at(0).samples);
  }
  EXPECT_EQ(rows, (std::vector<int32_t>{16, 16, 3}));
  EXPECT_EQ(samples, (std::vector<bool>{false, false, true}));
}

TEST(Scheduler, ChunkLimitOfAPromptHolds) {
  SchedulerOptions options = Options();
  options.max_prefill_chunk_tokens = 3;
  Driver driver(options);
  driver.Add(Prompt(7), {.max_tokens = 1});
  EXPECT_EQ(driver.Drain(), 3);
}

TEST(Scheduler, BlocksAreTakenChunkByChunk) {
  Driver driver(Options());
  driver.Add(Prompt(35), {.max_tokens = 1});
  driver.Step();
  EXPECT_EQ(driver.scheduler.stats().num_free_blocks, 32 - 4);
}

TEST(Scheduler, PrefillRunsBesideDecode) {
  Driver driver(Options());
  const int64_t first = driver.Add(Prompt(4), {.max_tokens = 10});
  driver.Step();
  driver.Add(Prompt(30), {.max_tokens = 2});
  const StepPlan plan = driver.Step();
  ASSERT_EQ(plan.sequences.size(), 2u);
  EXPECT_EQ(plan.kind, StepKind::kMixed);
  EXPECT_EQ(plan.sequences[0].num_new_tokens, 1);
  EXPECT_EQ(plan.sequences[1].num_new_tokens, 15);
  EXPECT_EQ(driver.texts[first].size(), 2u);
}

TEST(Scheduler, DecodeOnlyStepLeavesPromptsAlone) {
  Driver driver(Options());
  driver.Add(Prompt(4), {.max_tokens = 10});
  driver.Step();
  driver.Add(Prompt(4), {.max_tokens = 2});
  EXPECT_EQ(driver.scheduler.Wish(), StepKind::kMixed);
  const StepPlan plan = driver.Plan(StepKind::kDecode);
  EXPECT_EQ(plan.kind, StepKind::kDecode);
  EXPECT_EQ(plan.sequences.size(), 1u);
}

TEST(Scheduler, IdlePlanHasNoRows) {
  Driver driver(Options());
  driver.Add(Prompt(4), {.max_tokens = 10});
  const StepPlan plan = driver.Plan(StepKind::kIdle);
  EXPECT_TRUE(plan.empty());
  EXPECT_EQ(driver.scheduler.stats().num_steps_in_flight, 0);
}

TEST(Scheduler, SequenceLimitHolds) {
  SchedulerOptions options = Options();
  options.max_num_seqs = 2;
  Driver driver(options);
  for (int i = 0; i < 5; ++i) driver.Add(Prompt(2), {.max_tokens = 3});
  EXPECT_EQ(driver.Step().sequences.size(), 2u);
  driver.Drain();
  EXPECT_EQ(driver.reasons.size(), 5u);
}

TEST(Scheduler, StopIdEndsTheSequenceAndIsPartOfIt) {
  Driver driver(Options());
  const int32_t first_token = driver.runner.NextToken(Prompt(3));
  const int64_t id = driver.Add(Prompt(3), {.max_tokens = 10}, {first_token});
  driver.Drain();
  EXPECT_EQ(driver.texts[id], (std::vector<int32_t>{first_token}));
  EXPECT_EQ(driver.reasons[id], FinishReason::kStop);
}

TEST(Scheduler, StopIdBelowMinTokensDoesNotEnd) {
  Driver driver(Options());
  const int32_t first_token = driver.runner.NextToken(Prompt(3));
  const int64_t id = driver.Add(Prompt(3), {.max_tokens = 3, .min_tokens = 2}, {first_token});
  driver.Drain();
  EXPECT_GE(driver.texts[id].size(), 2u);
}

// RegressionContextEdge: a prompt of exactly the limit runs and gives one token; the total never
// exceeds limit + 1.
TEST(Scheduler, ContextEdge) {
  for (const int32_t prompt_len : {64, 63, 62}) {
    Driver driver(Options());
    const int64_t id = driver.Add(Prompt(prompt_len), {.max_tokens = 100});
    driver.Drain();
    EXPECT_EQ(driver.texts[id].size(), static_cast<size_t>(64 - prompt_len + 1)) << prompt_len;
    EXPECT_EQ(driver.reasons[id], FinishReason::kLength);
    ExpectEverythingFree(driver);
  }
}

TEST(Scheduler, FinishWorksInEveryState) {
  SchedulerOptions options = Options();
  options.max_num_seqs = 2;
  Driver driver(options);
  const int64_t decoding = driver.Add(Prompt(3), {.max_tokens = 20});
  const int64_t prefilling = driver.Add(Prompt(40), {.max_tokens = 20});
  const int64_t waiting = driver.Add(Prompt(3), {.max_tokens = 20});
  driver.Step();
  EXPECT_TRUE(driver.scheduler.Finish(waiting, FinishReason::kCancelled));
  EXPECT_TRUE(driver.scheduler.Finish(prefilling, FinishReason::kCancelled));
  EXPECT_TRUE(driver.scheduler.Finish(decoding, FinishReason::kCancelled));
  EXPECT_FALSE(driver.scheduler.Finish(decoding, FinishReason::kCancelled));
  driver.scheduler.CheckInvariants();
  EXPECT_FALSE(driver.scheduler.has_sequences());
  ExpectEverythingFree(driver);
}

TEST(Scheduler, RunnerIsToldToForgetWhatItKnew) {
  Driver driver(Options());
  const int64_t id = driver.Add(Prompt(3), {.max_tokens = 1});
  driver.Step();
  EXPECT_EQ(driver.runner.num_sequences(), 1u);
  const StepPlan plan = driver.Plan();
  EXPECT_EQ(plan.releases, (std::vector<int64_t>{id}));
  EXPECT_TRUE(plan.sequences.empty());
  EXPECT_EQ(driver.runner.num_sequences(), 0u);
}

TEST(Scheduler, CancelledWhileItRunsKeepsItsStorageUntilTheStepIsDone) {
  Driver driver(Options());
  const int64_t id = driver.Add(Prompt(4), {.max_tokens = 20});
  driver.Plan();
  EXPECT_TRUE(driver.scheduler.Finish(id, FinishReason::kCancelled));
  EXPECT_EQ(driver.scheduler.stats().num_free_blocks, 31);  // the step still writes one
  EXPECT_TRUE(driver.Advance().empty());                    // nobody is told anything
  ExpectEverythingFree(driver);
}

TEST(Scheduler, TwoStepsInFlightDecodeTheTokenThatIsStillMissing) {
  Driver driver(Options());
  const int64_t id = driver.Add(Prompt(3), {.max_tokens = 4});
  driver.Plan();
  const StepPlan second = driver.Plan();
  EXPECT_EQ(second.token_ids, (std::vector<int32_t>{plan::kPendingToken}));
  EXPECT_EQ(second.sequences.at(0).num_computed_tokens, 3);
  driver.Advance();
  driver.Plan();
  driver.Advance();
  driver.Plan();
  driver.Advance();
  EXPECT_TRUE(driver.Plan().empty());  // the fourth token is on its way: no work behind it
  driver.Advance();
  EXPECT_EQ(driver.texts[id].size(), 4u);
  EXPECT_FALSE(driver.scheduler.has_sequences());
}

TEST(Scheduler, LateStopDropsTheStepThatRanOn) {
  Driver driver(Options());
  const int32_t first_token = driver.runner.NextToken(Prompt(3));
  const int64_t id = driver.Add(Prompt(3), {.max_tokens = 10}, {first_token});
  driver.Plan();
  driver.Plan();
  const auto updates = driver.Advance();
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_EQ(updates[0].finish_reason, FinishReason::kStop);
  EXPECT_LT(driver.scheduler.stats().num_free_blocks, 32);  // the second step still writes
  EXPECT_TRUE(driver.Advance().empty());
  EXPECT_EQ(driver.texts[id].size(), 1u);
  ExpectEverythingFree(driver);
}

TEST(Scheduler, FailedSequenceLeavesTheOthersAlone) {
  Driver driver(Options());
  const int64_t bad = driver.Add(Prompt(3), {.max_tokens = 3});
  const int64_t good = driver.Add(Prompt(4), {.max_tokens = 3});
  StepPlan plan;
  driver.scheduler.Plan(StepKind::kMixed, plan);
  plan::StepResult result = driver.runner.Run(plan);
  result.sequences[0].status = Internal("logits are not finite");
  result.sequences[0].num_tokens = 0;
  std::vector<SequenceUpdate> updates;
  driver.scheduler.Advance(result, updates);
  ASSERT_EQ(updates.size(), 2u);
  EXPECT_EQ(updates[0].seq_id, bad);
  EXPECT_EQ(updates[0].finish_reason, FinishReason::kError);
  driver.Drain();
  EXPECT_EQ(driver.reasons[good], FinishReason::kLength);
}

TEST(Scheduler, ResultsOutOfOrderAreABug) {
  Driver driver(Options());
  driver.Add(Prompt(3), {.max_tokens = 3});
  StepPlan plan;
  driver.scheduler.Plan(StepKind::kMixed, plan);
  plan::StepResult result = driver.runner.Run(plan);
  result.step_id += 1;
  std::vector<SequenceUpdate> updates;
  EXPECT_THROW(driver.scheduler.Advance(result, updates), InternalError);
}

TEST(Scheduler, NewestIsPreemptedAndEndsWithTheSameTokens) {
  std::map<int64_t, std::vector<int32_t>> expected;
  {
    Driver roomy(Options());
    for (int i = 0; i < 4; ++i) roomy.Add(Prompt(6, 10 * i), {.max_tokens = 20});
    roomy.Drain();
    EXPECT_EQ(roomy.scheduler.stats().num_preemptions_total, 0);
    expected = roomy.texts;
  }
  SchedulerOptions options = Options();
  options.num_blocks = 18;  // 4 sequences of 26 tokens would take 28
  Driver driver(options);
  for (int i = 0; i < 4; ++i) driver.Add(Prompt(6, 10 * i), {.max_tokens = 20});
  driver.Drain();
  EXPECT_GT(driver.scheduler.stats().num_preemptions_total, 0);
  EXPECT_EQ(driver.texts, expected);
  ExpectEverythingFree(driver);
}

// RegressionEndlessPreemption: a pool that holds one full sequence only still serves everybody.
TEST(Scheduler, PoolForOneSequenceMakesProgress) {
  SchedulerOptions options = Options();
  options.num_blocks = 17;  // exactly max_model_len
  Driver driver(options);
  for (int i = 0; i < 5; ++i) driver.Add(Prompt(20), {.max_tokens = 40});
  driver.Drain();
  for (const auto& [id, text] : driver.texts) EXPECT_EQ(text.size(), 40u) << id;
}

TEST(Scheduler, PreemptedUnderWayLosesAndRepeatsNoToken) {
  SchedulerOptions options = Options();
  options.num_blocks = 17;
  Driver driver(options);
  for (int i = 0; i < 3; ++i) driver.Add(Prompt(12, 7 * i), {.max_tokens = 30});
  int32_t num_steps = 0;
  driver.Plan();
  while (driver.scheduler.has_sequences() && ++num_steps < 1000) {
    driver.Plan();
    driver.Advance();
    if (driver.scheduler.stats().num_steps_in_flight == 0) driver.Plan();
  }
  EXPECT_GT(driver.scheduler.stats().num_preemptions_total, 0);
  for (const auto& [id, text] : driver.texts) {
    std::vector<int32_t> tokens = Prompt(12, 7 * static_cast<int32_t>(id - 1));
    for (const int32_t token : text) {
      ASSERT_EQ(token, driver.runner.NextToken(tokens)) << id;
      tokens.push_back(token);
    }
    EXPECT_EQ(text.size(), 30u);
  }
}

TEST(Scheduler, NobodyOvertakesAnOlderPrompt) {
  SchedulerOptions options = Options();
  options.num_blocks = 17;
  Driver driver(options);
  driver.Add(Prompt(40), {.max_tokens = 5});
  const int64_t big = driver.Add(Prompt(60), {.max_tokens = 2});
  const int64_t small = driver.Add(Prompt(1), {.max_tokens = 1});
  while (driver.reasons.count(small) == 0) driver.Step();
  EXPECT_EQ(driver.texts[big].empty(), false);
}

TEST(Scheduler, PromptLogprobsOfARowAreReportedOnce) {
  SchedulerOptions options = Options();
  options.max_num_logit_rows = 8;
  Driver driver(options);
  driver.Add(Prompt(21), {.max_tokens = 1, .prompt_logprobs = 0});
  std::vector<int32_t> rows;
  while (driver.scheduler.has_sequences()) {
    const StepPlan plan = driver.Step();
    EXPECT_TRUE(plan.sequences.at(0).wants_prompt_logprobs);
    rows.push_back(plan.sequences.at(0).num_new_tokens);
  }
  EXPECT_EQ(rows, (std::vector<int32_t>{8, 8, 5}));  // limited by rows with logits
}

TEST(Scheduler, RecomputedRowsDoNotReportPromptLogprobsAgain) {
  SchedulerOptions options = Options();
  options.num_blocks = 17;
  options.max_prefill_chunk_tokens = 2;  // so that the preemption falls into the prompt
  Driver driver(options);
  const int64_t first = driver.Add(Prompt(30), {.max_tokens = 30});
  while (driver.texts[first].empty()) driver.Step();
  driver.Add(Prompt(28), {.max_tokens = 8, .prompt_logprobs = 0});
  std::map<int32_t, int32_t> num_reports;  // prompt token -> times
  for (int32_t i = 0; i < 500 && driver.scheduler.has_sequences(); ++i) {
    StepPlan plan;
    driver.scheduler.Plan(StepKind::kMixed, plan);
    const plan::StepResult result = driver.runner.Run(plan);
    std::vector<SequenceUpdate> updates;
    driver.scheduler.Advance(result, updates);
    for (const plan::SequenceResult& sequence : result.sequences) {
      for (size_t k = 0; k < sequence.prompt_logprobs.size(); ++k) {
        ++num_reports[sequence.first_prompt_logprob + static_cast<int32_t>(k)];
      }
    }
  }
  EXPECT_GT(driver.scheduler.stats().num_preemptions_total, 0);
  EXPECT_EQ(num_reports.size(), 27u);
  for (const auto& [token, times] : num_reports) EXPECT_EQ(times, 1) << token;
}

TEST(Scheduler, SameEventsGiveTheSamePlans) {
  const auto run = [] {
    SchedulerOptions options = Options();
    options.num_blocks = 20;
    Driver driver(options);
    std::string log;
    for (int i = 0; i < 6; ++i) driver.Add(Prompt(3 + 5 * i), {.max_tokens = 12});
    for (int i = 0; i < 200 && driver.scheduler.has_sequences(); ++i) {
      const StepPlan plan = driver.Step();
      log += plan::ToString(plan);
      for (const int32_t block : plan.block_ids) log += StrCat(" ", block);
    }
    return log;
  };
  EXPECT_EQ(run(), run());
}

TEST(Scheduler, RefusesOptionsThatCouldStall) {
  SchedulerOptions options = Options();
  options.max_num_batched_tokens = 7;  // below max_num_seqs
  EXPECT_THROW(Scheduler{options}, InternalError);
  options = Options();
  options.num_blocks = 16;  // below one full sequence
  EXPECT_THROW(Scheduler{options}, InternalError);
}

}  // namespace
}  // namespace deepinfer::sched
