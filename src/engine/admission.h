// Turns a caller's Request into a sequence, or says what is wrong with it.
//
// Everything that depends on the model is checked here: ids inside the vocabulary, the prompt's
// length against the context.  What is only resolved here, too: the seed, the stopping ids, max_tokens.
// Threading: thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "deepinfer/request.h"
#include "deepinfer/status.h"
#include "sched/scheduler.h"

namespace deepinfer::engine {

struct AdmissionLimits {
  int32_t vocab_size = 0;     // ids of prompts are below
  int32_t max_model_len = 0;  // tokens of a prompt
  std::vector<int32_t> eos_token_ids;
};

class Admission {
 public:
  // `seed_key` makes the seeds of requests that name none; each request gets another one.
  Admission(AdmissionLimits limits, uint64_t seed_key)
      : limits_(std::move(limits)), seed_key_(seed_key) {}

  // `request` has its prompt_token_ids.  kInvalidArgument as "field: expected range, got value"; a
  // prompt that is too long as "prompt_length_exceeded: ...".  The result lacks its seq_id.
  Result<sched::NewSequence> Admit(const Request& request);

 private:
  Status CheckIds(const Request& request) const;
  uint64_t NextSeed();

  const AdmissionLimits limits_;
  const uint64_t seed_key_;
  std::atomic<uint64_t> num_seeds_ = 0;
};

}  // namespace deepinfer::engine
