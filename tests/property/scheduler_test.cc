// The scheduler under random histories: arrivals, cancellations, failures, stops, one or two steps
// in flight, pools from roomy to barely enough.  After every Plan and Advance its invariants hold;
// in the end each request has ended exactly once and has the text that it gets alone.
#include "sched/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "base/check.h"
#include "property/seeded_rng.h"
#include "sched/fake_runner.h"

namespace deepinfer::sched {
namespace {

using ::deepinfer::testing::SeededRng;
using plan::StepKind;
using plan::StepPlan;

// What the test knows about a request, beside the scheduler.
struct Expectation {
  std::vector<int32_t> prompt;
  std::vector<int32_t> text;  // alone
  FinishReason reason = FinishReason::kLength;
  int32_t num_waited_steps = 0;  // without a row while others had some
  std::vector<int32_t> got;
  std::optional<FinishReason> end;
  bool is_disturbed = false;  // cancelled or failed: the text is a beginning of `text`
  int32_t num_prompt_logprobs = 0;
};

class History {
 public:
  explicit History(SeededRng& rng)
      : rng_(rng),
        options_(RandomOptions(rng)),
        runner_(options_.block_size),
        scheduler_(options_) {
    max_in_flight_ = rng.Coin() ? 2 : 1;
    num_left_ = rng.Uniform(1, 25);
  }

  void Run() {
    for (int32_t turn = 0; turn < 5000; ++turn) {
      if (num_left_ > 0 && rng_.OneIn(3)) Add();
      if (!live_.empty() && rng_.OneIn(25)) Cancel();
      if (static_cast<int32_t>(results_.size()) < max_in_flight_ && rng_.Uniform(0, 3) > 0) Plan();
      if (!results_.empty() && rng_.Coin()) Advance();
      if (::testing::Test::HasFatalFailure()) return;
      if (num_left_ == 0 && live_.empty() && results_.empty()) break;
    }
    ASSERT_TRUE(live_.empty()) << live_.size() << " requests have not ended";
    StepPlan last;
    scheduler_.Plan(scheduler_.Wish(), last);
    ASSERT_TRUE(last.sequences.empty());
    runner_.Run(last);
    EXPECT_EQ(runner_.num_sequences(), 0u);
    EXPECT_EQ(scheduler_.stats().num_free_blocks, options_.num_blocks - 1);
    EXPECT_EQ(scheduler_.stats().num_free_state_slots, options_.num_state_slots - 1);
    CheckEnds();
  }

  int64_t num_preemptions() const { return scheduler_.stats().num_preemptions_total; }

 private:
  static SchedulerOptions RandomOptions(SeededRng& rng) {
    SchedulerOptions o;
    o.block_size = static_cast<int32_t>(rng.Uniform(1, 8));
    o.max_model_len = static_cast<int32_t>(rng.Uniform(8, 60));
    const int32_t blocks_of_one = (o.max_model_len + o.block_size - 1) / o.block_size;
    o.num_blocks = 1 + blocks_of_one * static_cast<int32_t>(rng.Uniform(1, 4)) +
                   static_cast<int32_t>(rng.Uniform(0, 3));
    o.max_num_seqs = static_cast<int32_t>(rng.Uniform(1, 8));
    o.num_state_slots = 1 + o.max_num_seqs + static_cast<int32_t>(rng.Uniform(0, 2));
    o.max_num_batched_tokens = o.max_num_seqs + static_cast<int32_t>(rng.Uniform(0, 20));
    o.max_num_logit_rows = o.max_num_seqs + static_cast<int32_t>(rng.Uniform(0, 5));
    if (rng.OneIn(3)) o.max_prefill_chunk_tokens = static_cast<int32_t>(rng.Uniform(1, 9));
    return o;
  }

  void Add() {
    --num_left_;
    const int64_t seq_id = ++last_id_;
    Expectation e;
    e.prompt.resize(static_cast<size_t>(rng_.Uniform(1, options_.max_model_len)));
    for (int32_t& token : e.prompt) token = static_cast<int32_t>(rng_.Uniform(0, 96));
    SamplingParams sampling{.max_tokens = static_cast<int32_t>(rng_.Uniform(0, 40))};
    if (rng_.OneIn(3)) sampling.prompt_logprobs = 0;
    sampling.min_tokens = static_cast<int32_t>(rng_.Uniform(0, std::max(1, sampling.max_tokens)));
    std::vector<int32_t> stop_ids;
    for (int32_t id = 0; id < 97; ++id) {
      if (rng_.OneIn(40)) stop_ids.push_back(id);
    }
    WriteTextAlone(e, sampling, stop_ids);
    wants_prompt_logprobs_[seq_id] = sampling.prompt_logprobs.has_value();
    scheduler_.Add({.seq_id = seq_id,
                    .prompt_token_ids = e.prompt,
                    .sampling = std::make_shared<SamplingParams>(sampling),
                    .stop_token_ids = std::make_shared<std::vector<int32_t>>(stop_ids)});
    expectations_[seq_id] = std::move(e);
    live_.insert(seq_id);
  }

  // The oracle: one request, token by token, without a scheduler.
  void WriteTextAlone(Expectation& e, const SamplingParams& sampling,
                      const std::vector<int32_t>& stop_ids) const {
    std::vector<int32_t> tokens = e.prompt;
    const int32_t max_tokens = std::max(sampling.max_tokens, 1);
    while (true) {
      tokens.push_back(runner_.NextToken(tokens));
      e.text.push_back(tokens.back());
      const int32_t num_output = static_cast<int32_t>(e.text.size());
      if (num_output >= sampling.min_tokens &&
          std::binary_search(stop_ids.begin(), stop_ids.end(), tokens.back())) {
        e.reason = FinishReason::kStop;
        return;
      }
      if (static_cast<int32_t>(tokens.size()) > options_.max_model_len ||
          num_output == max_tokens) {
        return;
      }
    }
  }

  void Cancel() {
    const int64_t seq_id = *rng_.Pick(live_);
    ASSERT_TRUE(scheduler_.Finish(seq_id, FinishReason::kCancelled));
    ASSERT_FALSE(scheduler_.Finish(seq_id, FinishReason::kCancelled));
    expectations_[seq_id].is_disturbed = true;
    End(seq_id, FinishReason::kCancelled);
    scheduler_.CheckInvariants();
  }

  void End(int64_t seq_id, FinishReason reason) {
    ASSERT_FALSE(expectations_[seq_id].end.has_value()) << "seq " << seq_id << " ends twice";
    expectations_[seq_id].end = reason;
    live_.erase(seq_id);
  }

  void Plan() {
    StepPlan plan;
    const StepKind kind = rng_.OneIn(10) ? StepKind::kDecode : scheduler_.Wish();
    scheduler_.Plan(kind, plan);
    scheduler_.CheckInvariants();
    ASSERT_TRUE(kind != StepKind::kDecode || plan.kind != StepKind::kMixed);
    CheckPlan(plan, kind == StepKind::kMixed);
    plan::StepResult result = runner_.Run(plan);
    if (plan.sequences.empty()) {
      // Somebody can always get on, unless results are missing or prompts had to wait.
      ASSERT_TRUE(!results_.empty() || live_.empty() || kind == StepKind::kDecode);
      return;
    }
    if (rng_.OneIn(60)) {
      plan::SequenceResult& bad = *rng_.Pick(result.sequences);
      bad.status = Internal("the logits are not finite");
      bad.num_tokens = 0;
    }
    results_.push_back(std::move(result));
  }

  void CheckPlan(const StepPlan& plan, bool is_unrestricted) {
    ASSERT_LE(plan.num_tokens(), options_.max_num_batched_tokens);
    ASSERT_LE(static_cast<int32_t>(plan.sequences.size()), options_.max_num_seqs);
    int32_t num_logit_rows = 0;
    std::map<int32_t, int64_t> owner;  // of writable blocks
    std::set<int64_t> seen;
    size_t block = 0;
    for (const plan::SequenceStep& step : plan.sequences) {
      ASSERT_TRUE(live_.count(step.seq_id) == 1) << "work for ended seq " << step.seq_id;
      ASSERT_TRUE(seen.insert(step.seq_id).second);
      num_logit_rows += step.wants_prompt_logprobs ? step.num_new_tokens : step.samples ? 1 : 0;
      for (int32_t b = 0; b < step.num_blocks; ++b) {
        ASSERT_TRUE(owner.emplace(plan.block_ids[block++], step.seq_id).second);
      }
      expectations_[step.seq_id].num_waited_steps = 0;
    }
    ASSERT_LE(num_logit_rows, options_.max_num_logit_rows);
    // The oldest request gets on in every step, but for those that are already on their way.
    if (!plan.sequences.empty() && is_unrestricted) {
      for (const int64_t seq_id : live_) ++expectations_[seq_id].num_waited_steps;
      ASSERT_LE(expectations_[*live_.begin()].num_waited_steps, 1 + max_in_flight_);
    }
  }

  void Advance() {
    std::vector<SequenceUpdate> updates;
    const plan::StepResult result = std::move(results_.front());
    results_.pop_front();
    scheduler_.Advance(result, updates);
    scheduler_.CheckInvariants();
    for (const SequenceUpdate& update : updates) {
      ASSERT_TRUE(live_.count(update.seq_id) == 1);
      const auto& sequence = result.sequences[static_cast<size_t>(update.result_idx)];
      ASSERT_EQ(sequence.seq_id, update.seq_id);
      Expectation& e = expectations_[update.seq_id];
      for (int32_t i = 0; i < update.num_tokens; ++i) {
        e.got.push_back(sequence.token_ids[static_cast<size_t>(i)]);
      }
      for (size_t i = 0; i < sequence.prompt_logprobs.size(); ++i) {
        ASSERT_EQ(sequence.first_prompt_logprob + static_cast<int32_t>(i), ++e.num_prompt_logprobs);
      }
      if (!update.finish_reason.has_value()) continue;
      if (*update.finish_reason == FinishReason::kError) e.is_disturbed = true;
      End(update.seq_id, *update.finish_reason);
    }
  }

  void CheckEnds() const {
    for (const auto& [seq_id, e] : expectations_) {
      ASSERT_TRUE(e.end.has_value()) << "seq " << seq_id;
      if (e.is_disturbed) {
        ASSERT_LE(e.got.size(), e.text.size());
        ASSERT_TRUE(std::equal(e.got.begin(), e.got.end(), e.text.begin())) << "seq " << seq_id;
        continue;
      }
      ASSERT_EQ(e.got, e.text) << "seq " << seq_id;
      ASSERT_EQ(*e.end, e.reason) << "seq " << seq_id;
      const int32_t expected =
          wants_prompt_logprobs_.at(seq_id) ? static_cast<int32_t>(e.prompt.size()) - 1 : 0;
      ASSERT_EQ(e.num_prompt_logprobs, expected) << "seq " << seq_id;
    }
  }

  SeededRng& rng_;
  const SchedulerOptions options_;
  testing::FakeRunner runner_;
  Scheduler scheduler_;
  std::map<int64_t, Expectation> expectations_;
  std::map<int64_t, bool> wants_prompt_logprobs_;
  std::set<int64_t> live_;
  std::deque<plan::StepResult> results_;
  int32_t max_in_flight_ = 1;
  int64_t num_left_ = 0;
  int64_t last_id_ = 0;
};

TEST(SchedulerProperty, InvariantsHoldAndTextsAreThoseOfSoloRuns) {
  SeededRng rng(3);
  int64_t num_preemptions = 0;
  for (int32_t round = 0; round < 5000; ++round) {
    SCOPED_TRACE(round);
    History history(rng);
    history.Run();
    if (HasFatalFailure() || HasFailure()) return;
    num_preemptions += history.num_preemptions();
  }
  EXPECT_GT(num_preemptions, 2000);  // the histories do reach the hard part
}

// A stream of short requests never stops a long one.
TEST(SchedulerProperty, NobodyStarves) {
  const SchedulerOptions options{.block_size = 4,
                                 .num_blocks = 17,
                                 .num_state_slots = 5,
                                 .max_model_len = 64,
                                 .max_num_seqs = 3,
                                 .max_num_batched_tokens = 8,
                                 .max_num_logit_rows = 3};
  Scheduler scheduler(options);
  testing::FakeRunner runner(options.block_size);
  int64_t last_id = 0;
  const auto add = [&](int32_t prompt_len, int32_t max_tokens) {
    scheduler.Add(
        {.seq_id = ++last_id,
         .prompt_token_ids = std::vector<int32_t>(static_cast<size_t>(prompt_len), 3),
         .sampling = std::make_shared<SamplingParams>(SamplingParams{.max_tokens = max_tokens}),
         .stop_token_ids = std::make_shared<std::vector<int32_t>>()});
    return last_id;
  };
  for (int32_t i = 0; i < 3; ++i) add(3, 5);
  const int64_t long_id = add(60, 4);
  bool has_ended = false;
  for (int32_t step = 0; step < 100 && !has_ended; ++step) {
    add(3, 5);  // one more in every step
    StepPlan plan;
    scheduler.Plan(scheduler.Wish(), plan);
    std::vector<SequenceUpdate> updates;
    scheduler.Advance(runner.Run(plan), updates);
    for (const SequenceUpdate& update : updates) {
      has_ended |= update.seq_id == long_id && update.finish_reason.has_value();
    }
  }
  EXPECT_TRUE(has_ended);
}

}  // namespace
}  // namespace deepinfer::sched
