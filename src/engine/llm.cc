#include "deepinfer/llm.h"

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "base/strings.h"

namespace deepinfer {
namespace {

using std::chrono::milliseconds;

// How often a Generate looks up from a wait.
constexpr milliseconds kTick(100);

// One Generate call: submits as many requests as the engine takes, and collects in order.
class Batch {
 public:
  Batch(Engine& engine, std::vector<Request> requests, const GenerateOptions& options)
      : engine_(engine), requests_(std::move(requests)), options_(options) {
    outputs_.resize(requests_.size());
    handles_.resize(requests_.size());
  }

  std::vector<RequestOutput> Run() {
    last_report_ = std::chrono::steady_clock::now();
    for (size_t i = 0; i < requests_.size(); ++i) {
      SubmitMore();
      Collect(i);
    }
    Report(/*is_last=*/true);
    return std::move(outputs_);
  }

 private:
  // Submits until the engine is full.
  void SubmitMore() {
    for (; num_submitted_ < requests_.size(); ++num_submitted_) {
      Request& request = requests_[num_submitted_];
      RequestOutput& output = outputs_[num_submitted_];
      output.request_id = request.request_id;
      if (is_cancelled_) {
        output.finish_reason = FinishReason::kCancelled;
        continue;
      }
      Result<RequestHandle> handle = engine_.Submit(request);
      if (handle.ok()) {
        handles_[num_submitted_] = std::move(*handle);
        continue;
      }
      // Room comes when a request ends: of this call, or, when it has none under way, of others.
      if (handle.status().code() == StatusCode::kResourceExhausted) return;
      output.prompt_token_ids = std::move(request.prompt_token_ids);
      output.finish_reason = FinishReason::kError;
      output.error = handle.status();
    }
  }

  // Waits for request `i`.
  void Collect(size_t i) {
    while (num_submitted_ <= i) {  // other callers fill the engine
      std::this_thread::sleep_for(kTick / 10);
      SubmitMore();
      Report(/*is_last=*/false);
    }
    if (!handles_[i].has_value()) {
      ++num_finished_;
      return;
    }
    while (true) {
      Result<RequestOutput> output = handles_[i]->Wait(kTick);
      if (output.ok()) {
        num_output_tokens_ += static_cast<int64_t>(output->token_ids.size());
        outputs_[i] = std::move(*output);
        handles_[i].reset();
        ++num_finished_;
        Report(/*is_last=*/false);
        return;
      }
      SubmitMore();
      Report(/*is_last=*/false);
    }
  }

  void Report(bool is_last) {
    if (!options_.on_progress) return;
    const auto now = std::chrono::steady_clock::now();
    if (!is_last && now - last_report_ < kTick) return;
    last_report_ = now;
    GenerateProgress progress{.num_requests = static_cast<int64_t>(requests_.size()),
                              .num_finished = num_finished_,
                              .num_output_tokens = num_output_tokens_};
    for (const std::optional<RequestHandle>& handle : handles_) {
      if (!handle.has_value()) continue;
      progress.num_output_tokens += handle->num_output_tokens();
      if (handle->finished()) ++progress.num_finished;
    }
    if (options_.on_progress(progress) || is_cancelled_) return;
    is_cancelled_ = true;
    for (std::optional<RequestHandle>& handle : handles_) {
      if (handle.has_value()) handle->Cancel();
    }
  }

  Engine& engine_;
  std::vector<Request> requests_;
  const GenerateOptions& options_;
  std::vector<RequestOutput> outputs_;
  std::vector<std::optional<RequestHandle>> handles_;  // of requests under way
  size_t num_submitted_ = 0;
  int64_t num_finished_ = 0;  // collected
  int64_t num_output_tokens_ = 0;
  bool is_cancelled_ = false;
  std::chrono::steady_clock::time_point last_report_;
};

}  // namespace

LLM::LLM(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
LLM::~LLM() = default;

Result<std::unique_ptr<LLM>> LLM::Create(const EngineConfig& config) {
  DI_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, Engine::Create(config));
  return std::make_unique<LLM>(std::move(engine));
}

std::vector<RequestOutput> LLM::Generate(std::vector<Request> requests,
                                         const GenerateOptions& options) {
  return Batch(*engine_, std::move(requests), options).Run();
}

}  // namespace deepinfer
