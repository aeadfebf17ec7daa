#include "sched/scheduler.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace deepinfer::sched {

// One token timeline.
struct Scheduler::Sequence {
  NewSequence request;             // its prompt has moved to token_ids
  std::vector<int32_t> token_ids;  // prompt and output, as far as known
  int32_t prompt_len = 0;
  int32_t num_pending_tokens = 0;       // steps in flight sample them
  int32_t num_prompt_logprob_rows = 0;  // rows of the prompt whose log-probabilities were planned
  int32_t num_rows = 0;                 // scratch of Plan
  int64_t last_step_id = 0;             // newest step that writes its storage
  bool is_set_up = false;               // the runner knows it
  SequenceState state = Waiting{};

  int64_t seq_id() const { return request.seq_id; }
  const SamplingParams& sampling() const { return *request.sampling; }
  int32_t num_known_tokens() const { return static_cast<int32_t>(token_ids.size()); }
  int32_t num_output_tokens() const { return num_known_tokens() - prompt_len; }

  // Of Prefilling and Decoding.
  Storage& storage() {
    if (auto* prefilling = std::get_if<Prefilling>(&state)) return prefilling->storage;
    return std::get<Decoding>(state).storage;
  }
  const Storage& storage() const { return const_cast<Sequence*>(this)->storage(); }
  int32_t& num_computed_tokens() {
    if (auto* prefilling = std::get_if<Prefilling>(&state)) return prefilling->num_computed_tokens;
    return std::get<Decoding>(state).num_computed_tokens;
  }
};

namespace {

// Whether the chunk that starts at `num_computed_tokens` reports prompt log-probabilities.
bool WantsPromptLogprobs(const SamplingParams& sampling, int32_t num_computed_tokens,
                         int32_t num_rows_done, int32_t prompt_len) {
  return sampling.prompt_logprobs.has_value() && num_computed_tokens >= num_rows_done &&
         num_computed_tokens < prompt_len - 1;
}

}  // namespace

Scheduler::Scheduler(const SchedulerOptions& options)
    : options_(options), blocks_(options.num_blocks), state_slots_(options.num_state_slots) {
  DI_CHECK(options.max_num_seqs >= 1 && options.block_size >= 1, "seqs=", options.max_num_seqs);
  DI_CHECK(options.max_num_batched_tokens >= options.max_num_seqs,
           "rows=", options.max_num_batched_tokens, " seqs=", options.max_num_seqs);
  DI_CHECK(options.max_num_logit_rows >= options.max_num_seqs,
           "logit rows=", options.max_num_logit_rows, " seqs=", options.max_num_seqs);
  DI_CHECK(kv::BlockTable::NumBlocksFor(options.max_model_len, options.block_size) <=
               options.num_blocks - 1,
           "max_model_len=", options.max_model_len, " blocks=", options.num_blocks);
}

Scheduler::~Scheduler() = default;

void Scheduler::Add(NewSequence sequence) {
  const int64_t prompt_len = static_cast<int64_t>(sequence.prompt_token_ids.size());
  DI_CHECK(sequence.seq_id > last_seq_id_, "seq=", sequence.seq_id, " last=", last_seq_id_);
  DI_CHECK(prompt_len >= 1 && prompt_len <= options_.max_model_len, "prompt_len=", prompt_len);
  last_seq_id_ = sequence.seq_id;
  auto added = std::make_unique<Sequence>();
  added->token_ids = std::move(sequence.prompt_token_ids);
  added->prompt_len = static_cast<int32_t>(prompt_len);
  added->request = std::move(sequence);
  waiting_.push_back(added.get());
  sequences_.emplace(added->seq_id(), std::move(added));
}

bool Scheduler::Finish(int64_t seq_id, FinishReason reason) {
  const auto found = sequences_.find(seq_id);
  if (found == sequences_.end()) return false;
  Sequence& sequence = *found->second;
  if (std::holds_alternative<Waiting>(sequence.state)) {
    const auto by_id = [](const Sequence* s, int64_t id) { return s->seq_id() < id; };
    waiting_.erase(std::lower_bound(waiting_.begin(), waiting_.end(), seq_id, by_id));
    sequence.state = sched::Finish(std::move(std::get<Waiting>(sequence.state)), reason);
  } else {
    running_.erase(std::find(running_.begin(), running_.end(), &sequence));
    Storage storage;
    if (auto* prefilling = std::get_if<Prefilling>(&sequence.state)) {
      sequence.state = sched::Finish(std::move(*prefilling), reason, storage);
    } else {
      sequence.state =
          sched::Finish(std::move(std::get<Decoding>(sequence.state)), reason, storage);
    }
    Retire(sequence, std::move(storage));
  }
  if (sequence.is_set_up) to_release_.push_back(seq_id);
  sequences_.erase(found);
  return true;
}

plan::StepKind Scheduler::Wish() const {
  if (!waiting_.empty() && static_cast<int32_t>(running_.size()) < options_.max_num_seqs) {
    return plan::StepKind::kMixed;
  }
  plan::StepKind wish = plan::StepKind::kIdle;
  for (const Sequence* sequence : running_) {
    if (std::holds_alternative<Prefilling>(sequence->state)) return plan::StepKind::kMixed;
    if (CanDecode(*sequence)) wish = plan::StepKind::kDecode;
  }
  return wish;
}

void Scheduler::Plan(plan::StepKind kind, plan::StepPlan& plan) {
  plan.Clear();
  plan.releases.assign(to_release_.begin(), to_release_.end());
  to_release_.clear();
  plan.step_id = next_step_id_;
  if (kind != plan::StepKind::kIdle) {
    BatchBudget budget({.max_num_rows = options_.max_num_batched_tokens,
                        .max_num_logit_rows = options_.max_num_logit_rows,
                        .max_chunk_rows = options_.max_prefill_chunk_tokens});
    PlanRunning(kind, budget, plan);
    if (kind == plan::StepKind::kMixed) PlanWaiting(budget, plan);
  }
  if (!plan.empty()) ++next_step_id_;
  if (!plan.sequences.empty()) {
    in_flight_.push_back(
        {.step_id = plan.step_id, .num_sequences = static_cast<int32_t>(plan.sequences.size())});
  }
}

// Gives rows to the running sequences, then blocks in order of arrival.
void Scheduler::PlanRunning(plan::StepKind kind, BatchBudget& budget, plan::StepPlan& plan) {
  for (Sequence* sequence : running_) {
    const bool decodes = std::holds_alternative<Decoding>(sequence->state) && CanDecode(*sequence);
    sequence->num_rows = decodes && budget.TakeDecodeRow() ? 1 : 0;
  }
  if (kind == plan::StepKind::kMixed) {
    for (Sequence* sequence : running_) {
      const auto* prefilling = std::get_if<Prefilling>(&sequence->state);
      if (prefilling == nullptr) continue;
      const ChunkWish wish = WishOf(*sequence, prefilling->num_computed_tokens);
      sequence->num_rows = budget.OfferChunk(wish);
      budget.TakeChunk(wish, sequence->num_rows);
    }
  }
  // A preemption shortens running_ behind i, so what is emitted stays.
  for (size_t i = 0; i < running_.size(); ++i) {
    const int32_t num_rows = FitBlocks(i, running_[i]->num_rows);
    if (num_rows > 0) Emit(*running_[i], num_rows, plan);
  }
}

// Admits waiting sequences in order of arrival until one does not fit.
void Scheduler::PlanWaiting(BatchBudget& budget, plan::StepPlan& plan) {
  int32_t num_committed = NumCommittedBlocks();
  while (!waiting_.empty() && static_cast<int32_t>(running_.size()) < options_.max_num_seqs) {
    Sequence& sequence = *waiting_.front();
    if (sequence.num_pending_tokens > 0) return;  // preempted; its last token is still to come
    const ChunkWish wish = WishOf(sequence, 0);
    const int32_t num_rows = budget.OfferChunk(wish);
    const int32_t num_blocks =
        kv::BlockTable::NumBlocksFor(sequence.num_known_tokens(), options_.block_size);
    const int32_t reserve = ReserveBlocks(static_cast<int32_t>(running_.size()));
    if (num_rows == 0 || num_blocks + reserve > blocks_.num_free() - num_committed) return;
    std::optional<kv::StateSlotRef> slot = state_slots_.Acquire();
    if (!slot.has_value()) return;

    waiting_.pop_front();
    running_.push_back(&sequence);
    Storage storage;
    storage.state_slot = std::move(*slot);
    const int32_t num_blocks_now = kv::BlockTable::NumBlocksFor(num_rows, options_.block_size);
    DI_CHECK(storage.blocks.GrowTo(blocks_, num_blocks_now), "free=", blocks_.num_free());
    num_committed += num_blocks - num_blocks_now;
    budget.TakeChunk(wish, num_rows);
    plan.setups.push_back({.seq_id = sequence.seq_id(),
                           .state_slot = storage.state_slot.id(),
                           .sampling = sequence.request.sampling,
                           .seed = sequence.request.seed,
                           .masked_token_ids = sequence.request.masked_token_ids,
                           .token_ids = sequence.token_ids,
                           .prompt_len = sequence.prompt_len});
    // Its tokens are not to move while it decodes.
    sequence.token_ids.reserve(static_cast<size_t>(MaxNumTokens(sequence)));
    sequence.is_set_up = true;
    sequence.state = Admit(std::move(std::get<Waiting>(sequence.state)), std::move(storage));
    Emit(sequence, num_rows, plan);
  }
}

// Tokens that the sequence can have in the end.
int32_t Scheduler::MaxNumTokens(const Sequence& sequence) const {
  const int64_t by_request = int64_t{sequence.prompt_len} + sequence.sampling().max_tokens;
  return static_cast<int32_t>(std::min<int64_t>(by_request, int64_t{options_.max_model_len} + 1));
}

// Whether the sequence has a token to run that the limits leave room for.
bool Scheduler::CanDecode(const Sequence& sequence) const {
  const int32_t num_output = sequence.num_output_tokens() + sequence.num_pending_tokens;
  const int32_t num_tokens = sequence.num_known_tokens() + sequence.num_pending_tokens;
  return num_output < std::max(sequence.sampling().max_tokens, 1) &&
         num_tokens <= options_.max_model_len;
}

ChunkWish Scheduler::WishOf(const Sequence& sequence, int32_t num_computed_tokens) const {
  ChunkWish wish{.num_remaining_rows = sequence.num_known_tokens() - num_computed_tokens};
  if (!sequence.sampling().prompt_logprobs.has_value()) return wish;
  const int32_t num_done = sequence.num_prompt_logprob_rows;
  wish.logits_of_all_rows =
      WantsPromptLogprobs(sequence.sampling(), num_computed_tokens, num_done, sequence.prompt_len);
  // After a preemption the rows that have reported run again without reporting: a chunk ends there.
  if (num_computed_tokens < num_done && num_done < sequence.prompt_len - 1) {
    wish.num_remaining_rows = num_done - num_computed_tokens;
  }
  return wish;
}

// Makes room for `num_rows` more tokens of running_[running_idx], preempting newer sequences where
// it must.  Returns the rows that have room.
int32_t Scheduler::FitBlocks(size_t running_idx, int32_t num_rows) {
  if (num_rows == 0) return 0;
  Sequence& sequence = *running_[running_idx];
  const int32_t num_computed = sequence.num_computed_tokens();
  kv::BlockTable& table = sequence.storage().blocks;
  const int32_t num_blocks =
      kv::BlockTable::NumBlocksFor(int64_t{num_computed} + num_rows, options_.block_size);
  while (!table.GrowTo(blocks_, num_blocks)) {
    const int32_t num_missing = num_blocks - table.num_blocks();
    const bool is_newest = running_idx + 1 == running_.size();
    // Blocks of steps in flight come without a further victim.
    if (!is_newest && blocks_.num_free() + NumComingBlocks() < num_missing) {
      PreemptNewest();
      continue;
    }
    const int64_t capacity =
        (int64_t{table.num_blocks()} + blocks_.num_free()) * options_.block_size;
    num_rows = static_cast<int32_t>(std::min<int64_t>(num_rows, capacity - num_computed));
    if (num_rows <= 0) return 0;
    DI_CHECK(table.GrowTo(blocks_, kv::BlockTable::NumBlocksFor(int64_t{num_computed} + num_rows,
                                                                options_.block_size)),
             "free=", blocks_.num_free());
    break;
  }
  return num_rows;
}

void Scheduler::PreemptNewest() {
  Sequence& sequence = *running_.back();
  running_.pop_back();
  Storage storage;
  if (auto* prefilling = std::get_if<Prefilling>(&sequence.state)) {
    sequence.state = Preempt(std::move(*prefilling), storage);
  } else {
    sequence.state = Preempt(std::move(std::get<Decoding>(sequence.state)), storage);
  }
  Retire(sequence, std::move(storage));
  DI_CHECK(waiting_.empty() || waiting_.front()->seq_id() > sequence.seq_id(), "order of arrival");
  waiting_.push_front(&sequence);
  ++num_preemptions_;
}

// Gives storage to the newest step in flight that writes it, or lets it go.
void Scheduler::Retire(const Sequence& sequence, Storage storage) {
  for (InFlightStep& step : in_flight_) {
    if (step.step_id == sequence.last_step_id) {
      step.retired.push_back(std::move(storage));
      return;
    }
  }
}

// Appends the sequence's next rows to the plan.  The blocks are there.
void Scheduler::Emit(Sequence& sequence, int32_t num_rows, plan::StepPlan& plan) {
  int32_t& num_computed = sequence.num_computed_tokens();
  const int32_t num_known = sequence.num_known_tokens();
  const Storage& storage = sequence.storage();
  const bool decodes = std::holds_alternative<Decoding>(sequence.state);
  plan::SequenceStep step{.seq_id = sequence.seq_id(),
                          .state_slot = storage.state_slot.id(),
                          .num_computed_tokens = num_computed,
                          .num_new_tokens = num_rows,
                          .num_blocks = storage.blocks.num_blocks(),
                          .samples = num_computed + num_rows >= num_known};
  if (!decodes && WantsPromptLogprobs(sequence.sampling(), num_computed,
                                      sequence.num_prompt_logprob_rows, sequence.prompt_len)) {
    step.wants_prompt_logprobs = true;
    sequence.num_prompt_logprob_rows = std::min(num_computed + num_rows, sequence.prompt_len - 1);
  }
  storage.blocks.AppendIds(plan.block_ids);
  for (int32_t p = num_computed; p < num_computed + num_rows; ++p) {
    plan.token_ids.push_back(p < num_known ? sequence.token_ids[static_cast<size_t>(p)]
                                           : plan::kPendingToken);
  }
  if (step.samples) ++sequence.num_pending_tokens;
  num_computed += num_rows;
  sequence.last_step_id = plan.step_id;
  if (!decodes) {
    plan.kind = plan::StepKind::kMixed;
    if (step.samples) {
      sequence.state = FinishPrefill(std::move(std::get<Prefilling>(sequence.state)));
    }
  } else if (plan.kind == plan::StepKind::kIdle) {
    plan.kind = plan::StepKind::kDecode;
  }
  plan.sequences.push_back(step);
}

void Scheduler::Advance(const plan::StepResult& result, std::vector<SequenceUpdate>& updates) {
  DI_CHECK(!in_flight_.empty() && in_flight_.front().step_id == result.step_id, "result of step ",
           result.step_id, " is not the oldest in flight");
  DI_CHECK(in_flight_.front().num_sequences == static_cast<int32_t>(result.sequences.size()),
           "step=", result.step_id, " sequences=", result.sequences.size());
  // The step is over: its storage goes, and sequences that end below free theirs at once unless a
  // later step writes it.
  in_flight_.erase(in_flight_.begin());
  for (size_t i = 0; i < result.sequences.size(); ++i) {
    const plan::SequenceResult& sequence_result = result.sequences[i];
    const auto found = sequences_.find(sequence_result.seq_id);
    if (found == sequences_.end()) continue;  // ended under way
    SequenceUpdate update{.seq_id = sequence_result.seq_id, .result_idx = static_cast<int32_t>(i)};
    Apply(*found->second, sequence_result, update);
    if (update.finish_reason.has_value()) Finish(update.seq_id, *update.finish_reason);
    updates.push_back(update);
  }
}

void Scheduler::Apply(Sequence& sequence, const plan::SequenceResult& result,
                      SequenceUpdate& update) {
  if (!result.status.ok()) {
    update.finish_reason = FinishReason::kError;
    return;
  }
  if (result.num_tokens == 0) return;
  DI_CHECK(sequence.num_pending_tokens >= result.num_tokens, "seq=", sequence.seq_id(),
           " pending=", sequence.num_pending_tokens, " tokens=", result.num_tokens);
  sequence.num_pending_tokens -= result.num_tokens;
  for (const int32_t token : result.tokens()) {
    sequence.token_ids.push_back(token);
    ++update.num_tokens;
    update.finish_reason = StopReason(sequence);
    if (update.finish_reason.has_value()) return;
  }
}

// Why the sequence ends with its newest token, if it does.
std::optional<FinishReason> Scheduler::StopReason(const Sequence& sequence) const {
  const SamplingParams& sampling = sequence.sampling();
  const int32_t num_output = sequence.num_output_tokens();
  const std::vector<int32_t>& stop_ids = *sequence.request.stop_token_ids;
  if (num_output >= sampling.min_tokens &&
      std::binary_search(stop_ids.begin(), stop_ids.end(), sequence.token_ids.back())) {
    return FinishReason::kStop;
  }
  // The last position that can be computed is max_model_len - 1, and it samples one token more.
  if (sequence.num_known_tokens() > options_.max_model_len) return FinishReason::kLength;
  if (num_output >= std::max(sampling.max_tokens, 1)) return FinishReason::kLength;
  return std::nullopt;
}

// Blocks that become free when the steps in flight are done.
int32_t Scheduler::NumComingBlocks() const {
  int32_t num_blocks = 0;
  for (const InFlightStep& step : in_flight_) {
    for (const Storage& storage : step.retired) num_blocks += storage.blocks.num_blocks();
  }
  return num_blocks;
}

// Blocks that running prompts still need for what they know.
int32_t Scheduler::NumCommittedBlocks() const {
  int32_t num_blocks = 0;
  for (const Sequence* sequence : running_) {
    const int32_t need =
        kv::BlockTable::NumBlocksFor(sequence->num_known_tokens(), options_.block_size);
    num_blocks += std::max(0, need - sequence->storage().blocks.num_blocks());
  }
  return num_blocks;
}

SchedulerStats Scheduler::stats() const {
  return {.num_running = static_cast<int32_t>(running_.size()),
          .num_waiting = static_cast<int32_t>(waiting_.size()),
          .num_steps_in_flight = static_cast<int32_t>(in_flight_.size()),
          .num_free_blocks = blocks_.num_free(),
          .num_free_state_slots = state_slots_.num_free(),
          .num_preemptions_total = num_preemptions_};
}

void Scheduler::CheckInvariants() const {
  int32_t num_blocks = NumComingBlocks();
  int32_t num_slots = 0;
  for (const InFlightStep& step : in_flight_)
    num_slots += static_cast<int32_t>(step.retired.size());
  int64_t last_id = 0;
  for (const Sequence* sequence : running_) {
    DI_CHECK(sequence->seq_id() > last_id, "running out of order at ", sequence->seq_id());
    last_id = sequence->seq_id();
    num_blocks += sequence->storage().blocks.num_blocks();
    ++num_slots;
  }
  for (const Sequence* sequence : waiting_) {
    DI_CHECK(sequence->seq_id() > last_id, "waiting out of order at ", sequence->seq_id());
    DI_CHECK(std::holds_alternative<Waiting>(sequence->state), "seq=", sequence->seq_id());
    last_id = sequence->seq_id();
  }
  DI_CHECK(num_blocks + blocks_.num_free() == options_.num_blocks - 1, "live=", num_blocks,
           " free=", blocks_.num_free());
  DI_CHECK(num_slots + state_slots_.num_free() == options_.num_state_slots - 1, "live=", num_slots,
           " free=", state_slots_.num_free());
  DI_CHECK(running_.size() + waiting_.size() == sequences_.size(), "known=", sequences_.size());
  DI_CHECK(static_cast<int32_t>(running_.size()) <= options_.max_num_seqs,
           "running=", running_.size());
}

}  // namespace deepinfer::sched
