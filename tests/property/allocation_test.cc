// The step loop allocates nothing in the steady state: counted over steps of 64 decoding sequences,
// from the plan to the sampled tokens.  A program of its own, because it replaces operator new.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <numeric>

#include "backend/all/registry.h"
#include "runner/input_builder.h"
#include "runner/sampler.h"
#include "sched/scheduler.h"

namespace {
std::atomic<int64_t> num_allocations = 0;
}  // namespace

void* operator new(size_t num_bytes) {
  ++num_allocations;
  void* const data = std::malloc(num_bytes == 0 ? 1 : num_bytes);
  if (data == nullptr) throw std::bad_alloc();
  return data;
}
void operator delete(void* data) noexcept { std::free(data); }
void operator delete(void* data, size_t) noexcept { std::free(data); }

namespace deepinfer {
namespace {

constexpr int32_t kNumSequences = 64;
constexpr int32_t kVocabSize = 4096;

// One decode step without a model: plan, device tensors, a token of each row, result.
class Loop {
 public:
  Loop()
      : scheduler_({.num_blocks = 4 * kNumSequences + 1,
                    .num_state_slots = kNumSequences + 1,
                    .max_model_len = 512,
                    .max_num_seqs = kNumSequences,
                    .max_num_batched_tokens = 256,
                    .max_num_logit_rows = kNumSequences}),
        sampler_({.vocab_size = kVocabSize, .num_token_ids = kVocabSize}),
        device_(*backend::CreateDevice({.name = "ref"})),
        stream_(device_->CreateStream()),
        builder_(*runner::InputBuilder::Create({.max_num_seqs = kNumSequences,
                                                .max_num_tokens = 256,
                                                .max_num_logit_rows = kNumSequences,
                                                .max_num_blocks = 4},
                                               *device_)),
        logits_(kVocabSize) {
    for (size_t i = 0; i < logits_.size(); ++i) logits_[i] = static_cast<float>(i * 7919 % 101);
    for (int64_t id = 1; id <= kNumSequences; ++id) {
      scheduler_.Add({.seq_id = id,
                      .prompt_token_ids = {1, 2, 3},
                      .sampling = std::make_shared<SamplingParams>(
                          SamplingParams{.top_k = 40, .top_p = 0.95, .max_tokens = 500}),
                      .stop_token_ids = std::make_shared<std::vector<int32_t>>()});
    }
  }

  void Step() {
    scheduler_.Plan(scheduler_.Wish(), plan_);
    token_ids_.assign(plan_.token_ids.begin(), plan_.token_ids.end());
    logit_rows_.clear();
    result_.Clear();
    result_.step_id = plan_.step_id;
    int32_t row = 0;
    for (const plan::SequenceStep& step : plan_.sequences) {
      row += step.num_new_tokens;
      logit_rows_.push_back(row - 1);
      plan::SequenceResult& sequence = result_.sequences.emplace_back();
      sequence.seq_id = step.seq_id;
      sequence.num_tokens = 1;
      const auto token = sampler_.Sample({.logits = logits_,
                                          .sampling = &sampling_,
                                          .seed = static_cast<uint64_t>(step.seq_id),
                                          .position = step.num_computed_tokens},
                                         nullptr);
      sequence.token_ids[0] = *token;
    }
    builder_->Build(plan_, token_ids_, logit_rows_, *stream_);
    updates_.clear();
    scheduler_.Advance(result_, updates_);
  }

 private:
  sched::Scheduler scheduler_;
  runner::Sampler sampler_;
  std::unique_ptr<backend::Device> device_;
  std::unique_ptr<backend::Stream> stream_;
  std::unique_ptr<runner::InputBuilder> builder_;
  const SamplingParams sampling_{.top_k = 40, .top_p = 0.95};
  std::vector<float> logits_;
  plan::StepPlan plan_;
  plan::StepResult result_;
  std::vector<int32_t> token_ids_;
  std::vector<int32_t> logit_rows_;
  std::vector<sched::SequenceUpdate> updates_;
};

TEST(Allocation, DecodeStepsAllocateNothing) {
  Loop loop;
  for (int32_t step = 0; step < 10; ++step) loop.Step();
  const int64_t before = num_allocations;
  for (int32_t step = 0; step < 100; ++step) loop.Step();  // no block ends: 3 + 110 tokens
  EXPECT_EQ(num_allocations - before, 0);
}

TEST(Allocation, NewBlocksAllocateNoMoreThanTheirTables) {
  Loop loop;
  for (int32_t step = 0; step < 120; ++step) loop.Step();
  const int64_t before = num_allocations;
  for (int32_t step = 0; step < 10; ++step) loop.Step();  // every sequence starts its second block
  EXPECT_LE(num_allocations - before, kNumSequences + 2);
}

}  // namespace
}  // namespace deepinfer
