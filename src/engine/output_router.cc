#include "engine/output_router.h"

#include <algorithm>
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
  StreamUpdate& out = entry.update;
  out = {.finish_reason = update.finish_reason, .error = result.status};
  entry.text.clear();
  int32_t num_tokens = 0;
  bool is_stopped = false;
  while (num_tokens < update.num_tokens && !is_stopped) {
    const int32_t token = result.token_ids[static_cast<size_t>(num_tokens++)];
    ++entry.num_output_tokens;
    const StopStrings::Released released = entry.stop.Push(
        entry.decoder.Push(token), entry.num_output_tokens >= entry.sampling->min_tokens);
    entry.text += released.text;
    is_stopped = released.is_stopped;
  }
  if (is_stopped) {
    out.finish_reason = FinishReason::kStop;
  } else if (update.finish_reason.has_value()) {
    entry.text += HeldText(entry);
  }
  out.token_ids = result.tokens().first(static_cast<size_t>(num_tokens));
  if (!result.logprobs.empty()) {
    out.logprobs = std::span(result.logprobs).first(static_cast<size_t>(num_tokens));
  }
  out.prompt_logprobs = result.prompt_logprobs;
  if (!out.token_ids.empty() || !out.prompt_logprobs.empty() || out.finish_reason.has_value()) {
    prepared_.push_back(update.seq_id);
  }
  return out.finish_reason.has_value();
}

void OutputRouter::Flush() {
  for (const int64_t seq_id : prepared_) {
    const auto found = requests_.find(seq_id);
    Entry& entry = found->second;
    entry.update.text = entry.text;
    entry.stream->Publish(entry.update);
    if (entry.update.finish_reason.has_value()) requests_.erase(found);
  }
  prepared_.clear();
}

// What decoder and stop strings hold back, at the end of the text.
std::string OutputRouter::HeldText(Entry& entry) {
  const StopStrings::Released released = entry.stop.Push(entry.decoder.Finish());
  return released.is_stopped ? released.text : released.text + entry.stop.Finish();
}

void OutputRouter::End(int64_t seq_id, FinishReason reason, Status error) {
  const auto found = requests_.find(seq_id);
  DI_CHECK(found != requests_.end(), "end of unknown seq ", seq_id);
  const std::string text = HeldText(found->second);
  found->second.stream->Publish({.text = text, .finish_reason = reason, .error = std::move(error)});
  requests_.erase(found);
}

void OutputRouter::EndAll(FinishReason reason, const Status& error) {
  for (const int64_t seq_id : seq_ids()) End(seq_id, reason, error);
}

std::vector<int64_t> OutputRouter::seq_ids() const {
  std::vector<int64_t> ids;
  for (const auto& [seq_id, entry] : requests_) ids.push_back(seq_id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace deepinfer::engine
