// From tokens to text: takes what sequences gained in a step, and hands it to their callers.
//
// It keeps of each request the decoder (half characters), the stop strings (text that may become
// one) and the stream.  It decides the one kind of stop that the scheduler cannot see: stop strings.
//
// Ownership: shares the streams with the callers' handles; the tokenizer must outlive it.
// Threading: engine thread only.
// Invariant: every request that was added gets exactly one end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "deepinfer/output.h"
#include "engine/request_stream.h"
#include "engine/stop_strings.h"
#include "plan/step_result.h"
#include "sched/scheduler.h"
#include "tokenizer/incremental_decoder.h"
#include "tokenizer/tokenizer.h"

namespace deepinfer::engine {

class OutputRouter {
 public:
  explicit OutputRouter(const tokenizer::Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  void Add(int64_t seq_id, std::shared_ptr<RequestHandle::Stream> stream,
           std::shared_ptr<const SamplingParams> sampling);

  // Prepares what a step gave one sequence; `result` is the one that the update points to.  Returns
  // whether the request ends with it, for whatever reason: with a stop string the scheduler still
  // has to be told.
  bool Route(const sched::SequenceUpdate& update, plan::SequenceResult& result);

  // Delivers what was prepared, moving log-probabilities out of the results, which are still there.
  // A caller that sees its end may count on the engine's books being closed.
  void Flush();

  // Whether the request is known and has not ended.
  bool Contains(int64_t seq_id) const { return requests_.count(seq_id) > 0; }

  // Ends a request from outside; what was held back is delivered.  Requires Contains.
  void End(int64_t seq_id, FinishReason reason, Status error = OkStatus());

  // Ends every request.
  void EndAll(FinishReason reason, const Status& error);

  // Of all requests that have not ended, ascending.
  std::vector<int64_t> seq_ids() const;

 private:
  struct Entry {
    std::shared_ptr<RequestHandle::Stream> stream;   // owners: see RequestHandle
    std::shared_ptr<const SamplingParams> sampling;  // owners: see sched::NewSequence
    tokenizer::IncrementalDecoder decoder;
    StopStrings stop;
    int32_t num_output_tokens = 0;
    StreamUpdate update;  // prepared
    std::string text;     // of the update
  };

  static std::string HeldText(Entry& entry);

  const tokenizer::Tokenizer& tokenizer_;
  std::unordered_map<int64_t, Entry> requests_;
  std::vector<int64_t> prepared_;  // seq_ids
};

}  // namespace deepinfer::engine
