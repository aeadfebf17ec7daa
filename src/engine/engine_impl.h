// The engine behind the public interface: admission on the callers' threads, one engine thread, one
// device thread.
//
// Ownership: owns the parts and the threads; requests may outlive it.
// Threading: thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "deepinfer/config.h"
#include "deepinfer/engine.h"
#include "engine/admission.h"
#include "engine/engine_loop.h"
#include "engine/inbox.h"
#include "engine/loader.h"

namespace deepinfer::engine {

// Makes an engine of loaded parts.  `clock` must outlive it.
Result<std::unique_ptr<Engine>> CreateEngine(const EngineConfig& config, EngineParts parts,
                                             Clock& clock);

class EngineImpl final : public Engine {
 public:
  EngineImpl(const EngineConfig& config, EngineParts parts, uint64_t seed_key, Clock& clock);
  ~EngineImpl() override;

  // Allocates the cache and starts the threads; called once.
  Status Start();

  Result<RequestHandle> Submit(Request request) override;
  Status health() const override { return loop_->health(); }
  EngineMetrics metrics() const override { return loop_->metrics(); }
  const ModelInfo& model_info() const override { return parts_.info; }
  Result<std::vector<int32_t>> Encode(std::string_view text) const override;
  Result<std::vector<int32_t>> EncodeChat(std::string_view text) const override;
  Result<std::string> Decode(const std::vector<int32_t>& token_ids) const override;

 private:
  const EngineConfig config_;
  EngineParts parts_;
  Clock& clock_;
  Admission admission_;
  std::shared_ptr<Inbox> inbox_;  // owners: see Inbox
  std::unique_ptr<EngineLoop> loop_;
  std::thread thread_;
  std::atomic<int64_t> num_named_ = 0;  // requests that got their id here
};

}  // namespace deepinfer::engine
