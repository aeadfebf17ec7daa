// LLM: answers a list of prompts and returns when all are done.
//
//   DI_ASSIGN_OR_RETURN(auto llm, LLM::Create({.model = "models/DeepSeek-V4.1-Tiny"}));
//   auto outputs = llm->Generate({{.prompt = "Hello", .sampling = {.temperature = 0}}});
//
// It is a thin loop over an Engine, which it owns and which other threads may use at the same time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "deepinfer/config.h"
#include "deepinfer/engine.h"
#include "deepinfer/output.h"
#include "deepinfer/request.h"
#include "deepinfer/status.h"

namespace deepinfer {

// How far a Generate is.
struct GenerateProgress {
  int64_t num_requests = 0;       // of this call
  int64_t num_finished = 0;       // of them, with or without success
  int64_t num_output_tokens = 0;  // of all of them, so far
};

struct GenerateOptions {
  // Called on the caller's thread, at most ten times a second and once at the end.  Returning false
  // cancels what is left.  Empty: no progress.
  std::function<bool(const GenerateProgress&)> on_progress;
};

// Ownership: owns its engine; outputs are values and outlive it.
// Threading: thread-safe; calls of several threads share the batch.
class LLM {
 public:
  // Loads the model (Engine::Create) and is ready when it returns.
  static Result<std::unique_ptr<LLM>> Create(const EngineConfig& config);
  // Takes over an engine that is there already.
  explicit LLM(std::unique_ptr<Engine> engine);
  // Ends what runs, see Engine.
  ~LLM();

  // One output for each request, in the order of `requests`, none missing.  A request that is
  // refused or fails has finish_reason kError and its `error`; the others are not touched by it.
  // Any number of requests: the engine gets as many at a time as it takes.
  std::vector<RequestOutput> Generate(std::vector<Request> requests,
                                      const GenerateOptions& options = {});

  // For streaming, cancelling, metrics and the tokenizer.
  Engine& engine() { return *engine_; }

 private:
  std::unique_ptr<Engine> engine_;
};

}  // namespace deepinfer
