#include "sched/sequence_state.h"

#include <utility>

namespace deepinfer::sched {

Prefilling Admit(Waiting&&, Storage storage) {
  return {.storage = std::move(storage), .num_computed_tokens = 0};
}

Decoding FinishPrefill(Prefilling&& state) {
  return {.storage = std::move(state.storage), .num_computed_tokens = state.num_computed_tokens};
}

Waiting Preempt(Prefilling&& state, Storage& released) {
  released = std::move(state.storage);
  return {};
}

Waiting Preempt(Decoding&& state, Storage& released) {
  released = std::move(state.storage);
  return {};
}

Finished Finish(Waiting&&, FinishReason reason) { return {reason}; }

Finished Finish(Prefilling&& state, FinishReason reason, Storage& released) {
  released = std::move(state.storage);
  return {reason};
}

Finished Finish(Decoding&& state, FinishReason reason, Storage& released) {
  released = std::move(state.storage);
  return {reason};
}

}  // namespace deepinfer::sched
