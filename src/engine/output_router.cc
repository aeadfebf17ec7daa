#include "engine/output_router.h"

#include <utility>

#include "base/check.h"

namespace deepinfer::engine {

void OutputRouter::Add(int64_t seq_id, std::shared_ptr<RequestHandle::Stream> stream,
                       std::shared_ptr<const SamplingParams> sampling) {
  Entry entry{.stream = std::move(stream),
              .sampling = sampling,
              .decoder = tokenizer::IncrementalDecoder(tokenizer_, {.skip_special = true}),
              .stop = StopStrings(sampling->stop)};
  DI_CHECK(requests_.emplace(seq_id, std::move(entry)).second, "seq=", seq_id, " is there already");
}

bool OutputRouter::Route(const sched::SequenceUpdate& update, plan::SequenceResult& result) {
  const auto found = requests_.find(update.seq_id);
  DI_CHECK(found != requests_.end(), "update of unknown seq ", update.seq_id);
  Entry& entry = found->second;
  StreamUpdate out{.finish_reason = update.finish_reason, .error = result.status};
  text_.clear();
  int32_t num_tokens = 0;
  bool is_stopped = false;
  while (num_tokens < update.num_tokens && !is_stopped) {
    const int32_t token = result.token_ids[static_cast<size_t>(num_tokens++)];
    ++entry.num_output_tokens;
    const StopStrings::Released released = entry.stop.Push(
        entry.decoder.Push(token), entry.num_output_tokens >= entry.sampling->min_tokens);
    text_ += released.text;
    is_stopped = released.is_stopped;
  }
  if (is_stopped) {
    out.finish_reason = FinishReason::kStop;
  } else if (update.finish_reason.has_value()) {
    const StopStrings::Released released = entry.stop.Push(entry.decoder.Finish());
    text_ += released.text;
    if (!released.is_stopped) text_ += entry.stop.Finish();
  }
  out.token_ids = result.tokens().first(static_cast<size_t>(num_tokens));
  out.text = text_;
  if (!result.logprobs.empty()) {
    out.logprobs = std::span(result.logprobs).first(static_cast<size_t>(num_tokens));
  }
  out.prompt_logprobs = result.prompt_logprobs;
  if (!out.token_ids.empty() || !out.prompt_logprobs.empty() || out.finish_reason.has_value()) {
    entry.stream->Publish(out);
  }
  if (!out.finish_reason.has_value()) return false;
  requests_.erase(found);
  return true;
}

bool OutputRouter::End(int64_t seq_id, FinishReason reason, Status error) {
  const auto found = requests_.find(seq_id);
  if (found == requests_.end()) return false;
  Entry& entry = found->second;
  const StopStrings::Released released = entry.stop.Push(entry.decoder.Finish());
  std::string text = released.text;
  if (!released.is_stopped) text += entry.stop.Finish();
  entry.stream->Publish({.text = text, .finish_reason = reason, .error = std::move(error)});
  requests_.erase(found);
  return true;
}

void OutputRouter::EndAll(FinishReason reason, const Status& error) {
  while (!requests_.empty()) End(requests_.begin()->first, reason, error);
}

}  // namespace deepinfer::engine
