// Chooses the next token from a row of logits, and reports log-probabilities.
//
// The order of operations is that of SamplingParams (deepinfer/request.h).  The draw is an inverse
// distribution function in fixed point over ascending ids, with words of Philox keyed by (seed,
// absolute position of the token, purpose): it depends on nothing else, so a row gives the same
// token alone, in any batch and in any order.
//
// Cost: a greedy row without log-probabilities is read once and a half; nothing is sorted.
//
// Threading: owns scratch memory of a few rows: device thread only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "deepinfer/request.h"
#include "deepinfer/status.h"
#include "plan/step_result.h"
#include "runner/kept_prefix.h"
#include "runner/token_counts.h"

namespace deepinfer::runner {

struct SamplerOptions {
  int32_t vocab_size = 0;                 // columns of the logits
  int32_t num_token_ids = 0;              // the tokenizer's; ids from here on are never drawn
  std::vector<int32_t> banned_token_ids;  // for every request; each below vocab_size
};

// One row to sample from.
struct SampleInput {
  std::span<const float> logits;  // [vocab_size]; not changed
  const SamplingParams* sampling = nullptr;
  uint64_t seed = 0;
  int32_t position = 0;                       // of the token that is drawn: tokens before it
  int32_t num_output_tokens = 0;              // before it
  std::span<const int32_t> masked_token_ids;  // not drawn below min_tokens
  const TokenCounts* counts = nullptr;        // needed when a penalty is on
};

class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options);

  // Whether TokenCounts must be kept for these parameters.
  static bool NeedsCounts(const SamplingParams& sampling);

  // Draws a token.  `logprobs` may be null; else it gets what SamplingParams::logprobs asks for.
  // kInternal when the logits are not finite, kInvalidArgument when every id is removed.
  Result<int32_t> Sample(const SampleInput& input, plan::TokenLogprobs* logprobs);

  // The log-probability of prompt token `token_id` under `logits`, with the alternatives that
  // SamplingParams::prompt_logprobs asks for.  Masks, bias and penalties do not apply.  kInternal
  // when the logits are not finite.
  Status PromptLogprob(std::span<const float> logits, const SamplingParams& sampling,
                       int32_t token_id, plan::TokenLogprobs& logprobs);

 private:
  // The distribution that a token is drawn from.
  struct Distribution {
    std::span<const float> row;  // logits after masks, bias and penalties
    float max = 0;
    int32_t argmax = 0;
    bool is_greedy = false;
    double inverse_temperature = 1;
    KeptPrefix kept;
    uint64_t kept_mass = 0;  // of weights_, where removed ids weigh nothing; 0 when greedy
  };

  Result<Distribution> MakeDistribution(std::span<const float> row, float max,
                                        const SamplingParams& sampling);
  void RemoveTail(const SamplingParams& sampling, Distribution& distribution);
  std::span<const float> AdjustedRow(const SampleInput& input);
  int32_t Draw(const Distribution& distribution, uint64_t seed, int32_t position);
  void ReportRaw(std::span<const float> logits, float max, int32_t token_id, int32_t num_top,
                 plan::TokenLogprobs& out);
  void ReportProcessed(const Distribution& distribution, int32_t token_id, int32_t num_top,
                       plan::TokenLogprobs& out);
  float ProcessedLogprob(const Distribution& distribution, int32_t token_id) const;
  void TopIds(std::span<const float> row, int32_t count);

  const SamplerOptions options_;
  KeptPrefixFinder finder_;
  std::vector<float> adjusted_;       // [vocab_size]
  std::vector<float> weights_;        // [vocab_size]
  std::vector<uint64_t> block_sums_;  // of the draw
  std::vector<int32_t> top_ids_;      // result of TopIds
};

}  // namespace deepinfer::runner
