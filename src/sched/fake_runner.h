// A runner without a model, for tests of the scheduler.
//
// It executes plans on a picture of the cache: each (block, offset) remembers which token of which
// sequence was written last.  Before a row runs, every earlier position of its sequence must still
// be in the blocks of its table, and each block must belong to one sequence only, so a block that
// is handed out too early is found at once.  The token behind a row is a function of the tokens up
// to it alone, so any two correct histories of a request give the same text.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "plan/step_plan.h"
#include "plan/step_result.h"

namespace deepinfer::sched::testing {

class FakeRunner {
 public:
  explicit FakeRunner(int32_t block_size, int32_t vocab_size = 97)
      : block_size_(block_size), vocab_size_(vocab_size) {}

  // What a sequence whose tokens so far are `token_ids` continues with.
  int32_t NextToken(const std::vector<int32_t>& token_ids) const {
    uint64_t hash = 1469598103934665603u;
    for (const int32_t token : token_ids) {
      hash = (hash ^ static_cast<uint64_t>(token)) * 1099511628211u;
    }
    return static_cast<int32_t>((hash >> 20) % static_cast<uint64_t>(vocab_size_));
  }

  plan::StepResult Run(const plan::StepPlan& plan) {
    plan::CheckPlan(plan, block_size_);
    for (const int64_t seq_id : plan.releases) {
      DI_CHECK(sequences_.erase(seq_id) == 1, "release of unknown sequence ", seq_id);
    }
    for (const plan::SequenceSetup& setup : plan.setups) {
      sequences_[setup.seq_id] = {.token_ids = setup.token_ids, .prompt_len = setup.prompt_len};
      slots_[setup.state_slot] = {setup.seq_id, 0};
    }
    plan::StepResult result;
    result.step_id = plan.step_id;
    size_t row = 0;
    size_t block = 0;
    for (const plan::SequenceStep& step : plan.sequences) {
      result.sequences.push_back(RunSequence(step, &plan.token_ids[row], &plan.block_ids[block]));
      row += static_cast<size_t>(step.num_new_tokens);
      block += static_cast<size_t>(step.num_blocks);
    }
    num_rows_ += plan.num_tokens();
    return result;
  }

  int64_t num_rows() const { return num_rows_; }
  size_t num_sequences() const { return sequences_.size(); }

 private:
  struct Sequence {
    std::vector<int32_t> token_ids;
    int32_t prompt_len = 0;
  };
  struct Cell {
    int64_t seq_id = 0;
    int32_t position = -1;
    int32_t token = -1;
  };

  plan::SequenceResult RunSequence(const plan::SequenceStep& step, const int32_t* token_ids,
                                   const int32_t* block_ids) {
    Sequence& sequence = sequences_.at(step.seq_id);
    auto& [slot_owner, slot_position] = slots_[step.state_slot];
    DI_CHECK(slot_owner == step.seq_id && slot_position == step.num_computed_tokens, "slot ",
             step.state_slot, " is of seq ", slot_owner, " at ", slot_position, ", wanted seq ",
             step.seq_id, " at ", step.num_computed_tokens);
    for (int32_t i = 0; i < step.num_new_tokens; ++i) {
      const int32_t position = step.num_computed_tokens + i;
      const int32_t known = sequence.token_ids.at(static_cast<size_t>(position));
      DI_CHECK(token_ids[i] == known || token_ids[i] == plan::kPendingToken, "seq ", step.seq_id,
               " position ", position, " token ", token_ids[i], " expected ", known);
      CellOf(block_ids, position) = {step.seq_id, position, known};
    }
    const int32_t num_tokens = step.num_computed_tokens + step.num_new_tokens;
    for (int32_t position = 0; position < num_tokens; ++position) {
      const Cell& cell = CellOf(block_ids, position);
      DI_CHECK(cell.seq_id == step.seq_id && cell.position == position &&
                   cell.token == sequence.token_ids[static_cast<size_t>(position)],
               "seq ", step.seq_id, " lost position ", position, " to seq ", cell.seq_id);
    }
    slot_position = num_tokens;
    return Answer(step, sequence);
  }

  plan::SequenceResult Answer(const plan::SequenceStep& step, Sequence& sequence) const {
    plan::SequenceResult result{.seq_id = step.seq_id};
    if (step.wants_prompt_logprobs) {
      result.first_prompt_logprob = step.num_computed_tokens + 1;
      for (int32_t i = 0; i < step.num_new_tokens; ++i) {
        const int32_t predicted = step.num_computed_tokens + i + 1;
        if (predicted >= sequence.prompt_len) break;
        result.prompt_logprobs.push_back(
            {.token_id = sequence.token_ids[static_cast<size_t>(predicted)]});
      }
    }
    if (!step.samples) return result;
    DI_CHECK(step.num_computed_tokens + step.num_new_tokens ==
                 static_cast<int32_t>(sequence.token_ids.size()),
             "seq ", step.seq_id, " samples in the middle");
    result.num_tokens = 1;
    result.token_ids[0] = NextToken(sequence.token_ids);
    sequence.token_ids.push_back(result.token_ids[0]);
    return result;
  }

  Cell& CellOf(const int32_t* block_ids, int32_t position) {
    return cells_[{block_ids[position / block_size_], position % block_size_}];
  }

  const int32_t block_size_;
  const int32_t vocab_size_;
  std::map<int64_t, Sequence> sequences_;
  std::map<int32_t, std::pair<int64_t, int32_t>> slots_;  // owner, next position
  std::map<std::pair<int32_t, int32_t>, Cell> cells_;
  int64_t num_rows_ = 0;
};

}  // namespace deepinfer::sched::testing
