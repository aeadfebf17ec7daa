#include "runner/runner.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"

namespace deepinfer::runner {
namespace {

// Rows at the start of this step's chunk that report the prompt token behind them.
int32_t NumPromptLogprobs(const plan::SequenceStep& step, int32_t prompt_len) {
  if (!step.wants_prompt_logprobs) return 0;
  return std::clamp(prompt_len - 1 - step.num_computed_tokens, 0, step.num_new_tokens);
}

}  // namespace

Runner::Runner(model::Model& model, const RunnerOptions& options)
    : model_(model), options_(options), sampler_(options.sampler) {}

Result<std::unique_ptr<Runner>> Runner::Create(model::Model& model, backend::Device& device,
                                               const RunnerOptions& options) {
  DI_CHECK(options.sampler.vocab_size == model.config().vocab_size,
           "vocab=", options.sampler.vocab_size);
  std::unique_ptr<Runner> runner(new Runner(model, options));
  runner->stream_ = device.CreateStream();
  DI_ASSIGN_OR_RETURN(runner->storage_, KvStorage::Create(model.cache_layout(), options.num_blocks,
                                                          options.num_state_slots, device));
  const InputLimits limits{.max_num_seqs = options.max_num_seqs,
                           .max_num_tokens = model.options().max_num_tokens,
                           .max_num_logit_rows = model.options().max_num_logit_rows,
                           .max_num_blocks = model::CacheLayout::NumBlocks(options.max_model_len)};
  DI_ASSIGN_OR_RETURN(runner->builder_, InputBuilder::Create(limits, device));
  runner->token_ids_.reserve(static_cast<size_t>(limits.max_num_tokens));
  runner->logit_rows_.reserve(static_cast<size_t>(limits.max_num_logit_rows));
  return runner;
}

void Runner::Run(const plan::StepPlan& plan, plan::StepResult& result) {
  plan::CheckPlan(plan, ops::kBlockSize);
  result.Clear();
  result.step_id = plan.step_id;
  SetUp(plan);
  if (plan.sequences.empty()) return;
  CollectRows(plan);
  const auto start = std::chrono::steady_clock::now();
  Forward(plan);
  const auto end = std::chrono::steady_clock::now();
  result.forward_us = std::chrono::duration_cast<std::chrono::microseconds>(end - start).count();

  const float* logits = logits_.data();
  for (const plan::SequenceStep& step : plan.sequences) {
    plan::SequenceResult& sequence_result = result.sequences.emplace_back();
    sequence_result.seq_id = step.seq_id;
    Finish(step, sequences_.at(step.seq_id), logits, sequence_result);
  }
}

// Forgets what is released, then takes up new sequences.
void Runner::SetUp(const plan::StepPlan& plan) {
  for (const int64_t seq_id : plan.releases) {
    DI_CHECK(sequences_.erase(seq_id) == 1, "release of unknown sequence ", seq_id);
  }
  for (const plan::SequenceSetup& setup : plan.setups) {
    DI_CHECK(setup.state_slot >= 1 && setup.state_slot < options_.num_state_slots,
             "seq=", setup.seq_id, " state_slot=", setup.state_slot);
    storage_->ClearSlot(*stream_, setup.state_slot);
    Sequence sequence{.sampling = setup.sampling,
                      .masked_token_ids = setup.masked_token_ids,
                      .seed = setup.seed,
                      .prompt_len = setup.prompt_len,
                      .token_ids = setup.token_ids};
    // Its tokens are not to move while it decodes.
    const int64_t max_num_tokens = int64_t{setup.prompt_len} + sequence.sampling->max_tokens;
    sequence.token_ids.reserve(static_cast<size_t>(
        std::min<int64_t>(max_num_tokens, int64_t{options_.max_model_len} + 1)));
    if (Sampler::NeedsCounts(*sequence.sampling)) {
      const std::span<const int32_t> tokens(sequence.token_ids);
      sequence.counts.AddPrompt(tokens.first(static_cast<size_t>(setup.prompt_len)));
      for (const int32_t token : tokens.subspan(static_cast<size_t>(setup.prompt_len))) {
        sequence.counts.AddOutput(token);
      }
    }
    sequences_.insert_or_assign(setup.seq_id, std::move(sequence));
  }
}

// Resolves pending tokens and lists the rows whose logits are wanted.
void Runner::CollectRows(const plan::StepPlan& plan) {
  token_ids_.assign(plan.token_ids.begin(), plan.token_ids.end());
  logit_rows_.clear();
  int32_t first_row = 0;
  for (const plan::SequenceStep& step : plan.sequences) {
    const auto found = sequences_.find(step.seq_id);
    DI_CHECK(found != sequences_.end(), "step of unknown sequence ", step.seq_id);
    const Sequence& sequence = found->second;
    for (int32_t i = 0; i < step.num_new_tokens; ++i) {
      int32_t& token = token_ids_[static_cast<size_t>(first_row + i)];
      const size_t position = static_cast<size_t>(step.num_computed_tokens + i);
      if (token == plan::kPendingToken) {
        DI_CHECK(position < sequence.token_ids.size(), "seq=", step.seq_id,
                 " has no token at position ", position);
        token = sequence.token_ids[position];
      }
      DI_CHECK(token >= 0 && token < options_.sampler.vocab_size, "seq=", step.seq_id,
               " token=", token);
    }
    const int32_t num_prompt = NumPromptLogprobs(step, sequence.prompt_len);
    for (int32_t i = 0; i < num_prompt; ++i) logit_rows_.push_back(first_row + i);
    first_row += step.num_new_tokens;
    if (step.samples) {
      DI_CHECK(num_prompt < step.num_new_tokens, "seq=", step.seq_id, " samples inside its prompt");
      logit_rows_.push_back(first_row - 1);
    }
  }
}

// Runs the model; logits_ holds the wanted rows afterwards.
void Runner::Forward(const plan::StepPlan& plan) {
  const model::ModelInput input = builder_->Build(plan, token_ids_, logit_rows_, *stream_);
  const model::ModelOutput output = model_.Forward(*stream_, input, storage_->caches());
  if (!logit_rows_.empty()) {
    const size_t size = logit_rows_.size() * static_cast<size_t>(options_.sampler.vocab_size);
    DI_CHECK(output.logits.num_elements() == static_cast<int64_t>(size),
             "logits=", output.logits.ToString());
    if (logits_.size() < size) logits_.resize(size);
    stream_->CopyToHost(logits_.data(), output.logits.data(), size * sizeof(float));
  }
  stream_->Synchronize();
}

// Reads the sequence's rows of logits, and moves `logits` behind them.
void Runner::Finish(const plan::SequenceStep& step, Sequence& sequence, const float*& logits,
                    plan::SequenceResult& result) {
  const size_t vocab_size = static_cast<size_t>(options_.sampler.vocab_size);
  const int32_t num_prompt = NumPromptLogprobs(step, sequence.prompt_len);
  result.first_prompt_logprob = step.num_computed_tokens + 1;
  result.status = sequence.status;
  for (int32_t i = 0; i < num_prompt; ++i, logits += vocab_size) {
    if (!result.status.ok()) continue;
    const int32_t token = sequence.token_ids[static_cast<size_t>(step.num_computed_tokens + 1 + i)];
    result.status = sampler_.PromptLogprob({logits, vocab_size}, *sequence.sampling, token,
                                           result.prompt_logprobs.emplace_back());
  }
  if (!step.samples) {
    sequence.status = result.status;
    return;
  }
  if (result.status.ok()) SampleToken(step, sequence, {logits, vocab_size}, result);
  logits += vocab_size;
  sequence.status = result.status;
  if (!result.status.ok()) {
    // A step that is planned already may run on; it finds some token and the same status.
    sequence.token_ids.push_back(0);
    result.prompt_logprobs.clear();
  }
}

void Runner::SampleToken(const plan::SequenceStep& step, Sequence& sequence,
                         std::span<const float> logits, plan::SequenceResult& result) {
  const int32_t position = step.num_computed_tokens + step.num_new_tokens;
  DI_CHECK(position == static_cast<int32_t>(sequence.token_ids.size()), "seq=", step.seq_id,
           " samples position ", position, " of ", sequence.token_ids.size());
  const SampleInput input{.logits = logits,
                          .sampling = sequence.sampling.get(),
                          .seed = sequence.seed,
                          .position = position,
                          .num_output_tokens = position - sequence.prompt_len,
                          .masked_token_ids = *sequence.masked_token_ids,
                          .counts = &sequence.counts};
  plan::TokenLogprobs* logprobs = nullptr;
  if (sequence.sampling->logprobs.has_value()) logprobs = &result.logprobs.emplace_back();
  Result<int32_t> token = sampler_.Sample(input, logprobs);
  if (!token.ok()) {
    result.logprobs.clear();
    result.status = token.status();
    return;
  }
  result.num_tokens = 1;
  result.token_ids[0] = *token;
  sequence.token_ids.push_back(*token);
  if (Sampler::NeedsCounts(*sequence.sampling)) sequence.counts.AddOutput(*token);
}

}  // namespace deepinfer::runner
