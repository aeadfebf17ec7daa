// The life of a sequence as types: what it holds depends on the state it is in.
//
//   Waiting -> Prefilling -> Decoding -> Finished
//      ^           |            |
//      +-- Preempt +------------+        and from every state to Finished
//
// A sequence counts as Decoding from the moment its last known token is planned, even while the
// result is still missing.
// Ownership: only Prefilling and Decoding hold storage.  A transition that gives it up moves it to
//   the caller, who drops it at once or hands it to the steps in flight that still write it.
// Threading: engine thread only.
#pragma once

#include <cstdint>
#include <variant>

#include "deepinfer/output.h"
#include "kv/block_table.h"
#include "kv/state_slots.h"

namespace deepinfer::sched {

// What the cache holds of one sequence.
struct Storage {
  kv::BlockTable blocks;
  kv::StateSlotRef state_slot;
};

struct Waiting {};

struct Prefilling {
  Storage storage;
  int32_t num_computed_tokens = 0;  // planned ones included
};

struct Decoding {
  Storage storage;
  int32_t num_computed_tokens = 0;  // planned ones included
};

struct Finished {
  FinishReason reason = FinishReason::kStop;
};

using SequenceState = std::variant<Waiting, Prefilling, Decoding, Finished>;

// The legal transitions, and no others: Preempt(Waiting) and Finish(Finished) do not compile.
Prefilling Admit(Waiting&&, Storage storage);
Decoding FinishPrefill(Prefilling&&);
Waiting Preempt(Prefilling&&, Storage& released);
Waiting Preempt(Decoding&&, Storage& released);
Finished Finish(Waiting&&, FinishReason reason);
Finished Finish(Prefilling&&, FinishReason reason, Storage& released);
Finished Finish(Decoding&&, FinishReason reason, Storage& released);

}  // namespace deepinfer::sched
