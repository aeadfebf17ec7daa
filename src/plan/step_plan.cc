#include "plan/step_plan.h"

#include <algorithm>

#include "base/check.h"
#include "base/strings.h"

namespace deepinfer::plan {
namespace {

const char* KindName(StepKind kind) {
  switch (kind) {
    case StepKind::kIdle:
      return "idle";
    case StepKind::kDecode:
      return "decode";
    case StepKind::kMixed:
      return "mixed";
  }
  return "?";
}

}  // namespace

std::string ToString(const StepPlan& plan) {
  std::string out =
      StrCat("step=", plan.step_id, " kind=", KindName(plan.kind), " rows=", plan.num_tokens(),
             " setups=", plan.setups.size(), " releases=", plan.releases.size(), ":");
  for (const SequenceStep& s : plan.sequences) {
    out += StrCat(" seq ", s.seq_id, " [", s.num_computed_tokens, "..",
                  s.num_computed_tokens + s.num_new_tokens, ")", s.samples ? " samples" : "",
                  " slot ", s.state_slot, " blocks ", s.num_blocks);
  }
  return out;
}

void CheckPlan(const StepPlan& plan, int32_t block_size) {
  int64_t num_rows = 0;
  int64_t num_blocks = 0;
  for (const SequenceStep& s : plan.sequences) {
    DI_CHECK(s.num_new_tokens >= 1 && s.num_computed_tokens >= 0, "seq=", s.seq_id,
             " computed=", s.num_computed_tokens, " new=", s.num_new_tokens);
    DI_CHECK(s.state_slot >= 1, "seq=", s.seq_id, " state_slot=", s.state_slot);
    const int64_t capacity = static_cast<int64_t>(s.num_blocks) * block_size;
    DI_CHECK(capacity >= int64_t{s.num_computed_tokens} + s.num_new_tokens, "seq=", s.seq_id,
             " blocks=", s.num_blocks, " computed=", s.num_computed_tokens,
             " new=", s.num_new_tokens);
    num_rows += s.num_new_tokens;
    num_blocks += s.num_blocks;
  }
  DI_CHECK(num_rows == plan.num_tokens(), "rows=", num_rows, " token_ids=", plan.num_tokens());
  DI_CHECK(num_blocks == static_cast<int64_t>(plan.block_ids.size()), "blocks=", num_blocks,
           " block_ids=", plan.block_ids.size());
  for (const int32_t block : plan.block_ids) DI_CHECK(block >= 1, "block=", block);
  DI_CHECK((plan.kind == StepKind::kIdle) == plan.sequences.empty(), "kind=", plan.kind);
  DI_CHECK(plan.kind != StepKind::kDecode ||
               plan.num_tokens() == static_cast<int32_t>(plan.sequences.size()),
           "a decode step has one row a sequence, rows=", plan.num_tokens());
}

}  // namespace deepinfer::plan
