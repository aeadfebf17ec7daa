// Request and SamplingParams: what a caller asks of the engine.
//
// Both are plain values that are checked when they are submitted; nothing here runs.  What depends
// on the model (ids inside the vocabulary, prompt length against the context) is checked by
// Engine::Submit, the rest by ValidateSamplingParams.
//
// Threading: values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "deepinfer/status.h"

namespace deepinfer {

// Which log-probabilities are reported.
enum class LogprobsMode : int32_t {
  kRaw,        // log softmax of the model's logits, whatever the sampling parameters are
  kProcessed,  // of the distribution that the token was drawn from: after masks, bias, penalties,
               // temperature and the kept prefix, renormalised; removed ids report -9999
};

// Added to one token's logit before the penalties.
struct LogitBias {
  int32_t token_id = 0;
  double bias = 0;  // finite, |bias| <= 1e6
};

// How the next token is chosen, and when to stop.
//
// The order of operations on a row of logits is fixed:
//   1. raw log-probabilities are taken
//   2. ids above the tokenizer's, banned ids, and (below min_tokens) the stopping ids are removed
//   3. logit_bias is added; then the repetition penalty; then the frequency and presence penalties
//   4. temperature below 1e-5: the largest logit wins, the lowest id on ties.  Else
//      P = softmax(logits / temperature)
//   5. of the ids by falling P (lower id first) min_p, top_p and top_k each keep a prefix; the
//      shortest holds and has at least one id
//   6. one id is drawn from the kept ones with a counter-based generator keyed by (seed, position)
// So the same request gives the same tokens alone, in any batch, and after any preemption.
struct SamplingParams {
  static constexpr int32_t kAllTokens = -1;  // top_k: no limit
  static constexpr int32_t kMaxLogprobs = 1000;
  static constexpr int32_t kMaxStopStrings = 64;
  static constexpr int32_t kMaxStopStringBytes = 1024;
  static constexpr int32_t kFreeToken = -1;  // golden_token_ids: this position is not forced

  double temperature = 1.0;      // finite, >= 0; below 1e-5 means greedy
  int32_t top_k = kAllTokens;    // or >= 1; above the vocabulary means all
  double top_p = 1.0;            // in (0, 1]; 1 means off
  double min_p = 0.0;            // in [0, 1]; relative to the most probable id
  std::optional<uint64_t> seed;  // absent: 64 random bits for each request

  int32_t max_tokens = 16;              // output tokens; 0 counts as 1
  int32_t min_tokens = 0;               // in [0, max_tokens]; nothing stops the text before
  std::vector<std::string> stop;        // the text is cut before the first that appears
  std::vector<int32_t> stop_token_ids;  // end the text like the checkpoint's end-of-sequence ids
  bool ignore_eos = false;              // the checkpoint's end-of-sequence ids do not end the text

  double repetition_penalty = 1.0;        // in (0, 100]; over ids of prompt and output, 1 means off
  double presence_penalty = 0.0;          // in [-2, 2]; over output ids
  double frequency_penalty = 0.0;         // in [-2, 2]; over output ids, times their count
  std::vector<LogitBias> logit_bias;      // entries of one id add up
  std::vector<int32_t> banned_token_ids;  // never drawn

  // Absent: none.  Else the log-probability of the token, and this many of the most probable ids,
  // the token included where it is among them; in [0, kMaxLogprobs].
  std::optional<int32_t> logprobs;         // for each output token
  std::optional<int32_t> prompt_logprobs;  // for each prompt token but the first
  LogprobsMode logprobs_mode = LogprobsMode::kRaw;

  // Teacher forcing: output position i becomes golden_token_ids[i] whatever was drawn; kFreeToken,
  // or a position behind the end, is free.
  std::vector<int32_t> golden_token_ids;

  int32_t n = 1;  // samples of one prompt; only 1 so far, more is refused by name
};

// The first thing that is wrong, as "field: expected range, got value"; ok when nothing is.  NaN is
// never in range.
Status ValidateSamplingParams(const SamplingParams& params);

// The seed of sample `sample_idx` of a request with `seed`.
constexpr uint64_t SampleSeed(uint64_t seed, int32_t sample_idx) {
  return seed + static_cast<uint64_t>(sample_idx) * 0x9E3779B97F4A7C15u;
}

// One prompt to continue.
struct Request {
  // Chosen by the caller or, when empty, by the engine.  It appears in outputs and logs only, and
  // need not be unique.
  std::string request_id;

  // Text, or ids; ids win when both are given.  Text gets the begin-of-sequence id in front where
  // the checkpoint's tokenizer says so; ids are taken as they are.
  std::string prompt;
  std::vector<int32_t> prompt_token_ids;

  SamplingParams sampling;

  // From submission to the last token; past it the request ends with kError and kDeadlineExceeded
  // and keeps what it has.  Absent: EngineConfig::request_timeout_seconds.
  std::optional<std::chrono::milliseconds> timeout;
};

}  // namespace deepinfer
