// An engine around the fake model, with the tiny model's tokenizer and sizes, for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/all/registry.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "engine/engine_impl.h"
#include "engine/loader.h"
#include "runner/fake_model.h"

namespace deepinfer::engine::testing {

inline const char* TinyFolder() { return DI_SOURCE_DIR "/models/DeepSeek-V4.1-Tiny"; }

// Small limits, so that chunks, batches and preemptions happen.
inline EngineConfig SmallConfig() {
  return {.max_model_len = 512,
          .max_num_seqs = 4,
          .max_num_batched_tokens = 32,
          .max_num_requests = 100,
          .num_kv_blocks = 8};
}

struct TestEngine {
  std::unique_ptr<Engine> engine;
  runner::testing::FakeModel* model = nullptr;  // owned by the engine
  std::unique_ptr<FakeClock> clock;

  ~TestEngine() { engine.reset(); }  // before its clock
  TestEngine() = default;
  TestEngine(TestEngine&&) = default;
  TestEngine& operator=(TestEngine&&) = default;
};

inline TestEngine MakeTestEngine(const EngineConfig& config,
                                 runner::testing::FakeModel::Hook hook = nullptr) {
  const auto fail = [](const Status& status) {
    ADD_FAILURE() << status.ToString();
    return TestEngine();
  };
  FileSystem& fs = PosixFileSystem();
  auto config_text = ReadFile(fs, JoinPath(TinyFolder(), "config.json"), 1 << 20);
  if (!config_text.ok()) return fail(config_text.status());
  auto model_config = model::ParseModelConfig(*config_text);
  if (!model_config.ok()) return fail(model_config.status());
  auto tokenizer = tokenizer::Tokenizer::Load(fs, TinyFolder());
  if (!tokenizer.ok()) return fail(tokenizer.status());
  auto device = backend::CreateDevice({.name = "ref"});
  if (!device.ok()) return fail(device.status());
  auto sizes =
      ComputeSizes(config, {.max_position_embeddings = model_config->max_position_embeddings,
                            .block_bytes = model::CacheLayout(*model_config, 6).block_bytes(),
                            .device_memory_bytes = int64_t{1} << 30});
  if (!sizes.ok()) return fail(sizes.status());

  TestEngine test;
  test.clock = std::make_unique<FakeClock>();
  EngineParts parts;
  parts.device = std::move(*device);
  parts.tokenizer = std::move(*tokenizer);
  parts.sizes = *sizes;
  parts.info.eos_token_ids = model_config->eos_token_id;
  auto model = std::make_unique<runner::testing::FakeModel>(
      *model_config, model::ModelOptions{.max_num_tokens = config.max_num_batched_tokens,
                                         .max_num_logit_rows = sizes->max_num_logit_rows,
                                         .max_model_len = sizes->max_model_len});
  if (hook) model->set_hook(std::move(hook));
  test.model = model.get();
  parts.model = std::move(model);
  auto engine = CreateEngine(config, std::move(parts), *test.clock);
  if (!engine.ok()) return fail(engine.status());
  test.engine = std::move(*engine);
  return test;
}

// The whole output of one request, or of its refusal.
inline RequestOutput Generate(Engine& engine, Request request) {
  RequestOutput output;
  auto handle = engine.Submit(std::move(request));
  if (!handle.ok()) {
    output.error = handle.status();
    return output;
  }
  auto result = handle->Wait(std::chrono::seconds(60));
  EXPECT_TRUE(result.ok()) << result.status().ToString();
  return result.ok() ? *result : output;
}

// Every block and slot is free.
inline void ExpectNothingInUse(const Engine& engine) {
  const EngineMetrics metrics = engine.metrics();
  EXPECT_EQ(metrics.num_free_blocks, metrics.num_blocks);
  EXPECT_EQ(metrics.num_requests_running, 0);
  EXPECT_EQ(metrics.num_requests_waiting, 0);
}

}  // namespace deepinfer::engine::testing
