#include "deepinfer/llm.h"

#include <gtest/gtest.h>

#include <future>

#include "engine/test_engine.h"

namespace deepinfer::engine {
namespace {

using testing::MakeTestEngine;
using testing::SmallConfig;
using testing::TestEngine;

std::vector<Request> Requests(int32_t count, int32_t max_tokens) {
  std::vector<Request> requests;
  for (int32_t i = 0; i < count; ++i) {
    requests.push_back({.prompt_token_ids = {100 + i, 7},
                        .sampling = {.temperature = 0, .max_tokens = max_tokens}});
  }
  return requests;
}

TEST(LLM, OutputsAreInOrderWithFailuresInTheirPlaces) {
  TestEngine test = MakeTestEngine(SmallConfig());
  LLM llm(std::move(test.engine));
  std::vector<Request> requests = Requests(6, 3);
  requests[1].prompt_token_ids = {99999};
  requests[4].prompt_token_ids.clear();
  const std::vector<RequestOutput> outputs = llm.Generate(requests);
  ASSERT_EQ(outputs.size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    const bool is_bad = i == 1 || i == 4;
    EXPECT_EQ(outputs[i].error.ok(), !is_bad) << i;
    EXPECT_EQ(outputs[i].finish_reason, is_bad ? FinishReason::kError : FinishReason::kLength);
    EXPECT_EQ(outputs[i].token_ids.size(), is_bad ? 0u : 3u);
    EXPECT_EQ(outputs[i].prompt_token_ids, requests[i].prompt_token_ids);
  }
}

TEST(LLM, MoreRequestsThanTheEngineTakesStillFinish) {
  EngineConfig config = SmallConfig();
  config.max_num_requests = 3;
  TestEngine test = MakeTestEngine(config);
  LLM llm(std::move(test.engine));
  for (const RequestOutput& output : llm.Generate(Requests(20, 2))) {
    EXPECT_EQ(output.token_ids.size(), 2u);
  }
}

TEST(LLM, NoRequestsGiveNoOutputs) {
  TestEngine test = MakeTestEngine(SmallConfig());
  LLM llm(std::move(test.engine));
  EXPECT_TRUE(llm.Generate({}).empty());
}

TEST(LLM, ProgressEndsWithEverythingFinished) {
  TestEngine test = MakeTestEngine(SmallConfig());
  LLM llm(std::move(test.engine));
  GenerateProgress last;
  llm.Generate(Requests(5, 4), {.on_progress = [&](const GenerateProgress& progress) {
                 EXPECT_GE(progress.num_finished, last.num_finished);
                 last = progress;
                 return true;
               }});
  EXPECT_EQ(last.num_requests, 5);
  EXPECT_EQ(last.num_finished, 5);
  EXPECT_EQ(last.num_output_tokens, 20);
}

TEST(LLM, CallbackThatReturnsFalseCancelsTheRest) {
  std::promise<void> gate;
  std::shared_future<void> opened = gate.get_future().share();
  TestEngine test = MakeTestEngine(
      SmallConfig(), [opened](const std::vector<int32_t>&, float*) { opened.wait(); });
  LLM llm(std::move(test.engine));
  bool is_open = false;
  const std::vector<RequestOutput> outputs =
      llm.Generate(Requests(5, 500), {.on_progress = [&](const GenerateProgress&) {
                     if (!is_open) gate.set_value();
                     is_open = true;
                     return false;
                   }});
  for (const RequestOutput& output : outputs) {
    EXPECT_EQ(output.finish_reason, FinishReason::kCancelled);
  }
}

}  // namespace
}  // namespace deepinfer::engine
