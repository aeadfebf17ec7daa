#include "deepinfer/engine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <limits>
#include <numeric>
#include <set>

#include "base/check.h"
#include "engine/test_engine.h"

namespace deepinfer::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ExpectNothingInUse;
using testing::Generate;
using testing::MakeTestEngine;
using testing::SmallConfig;
using testing::TestEngine;

constexpr int32_t kEos = 1;

std::vector<int32_t> Prompt(int32_t length, int32_t first = 100) {
  std::vector<int32_t> prompt(static_cast<size_t>(length));
  std::iota(prompt.begin(), prompt.end(), first);
  return prompt;
}

// A request whose output is the tokens of `text`.
Request Forced(Engine& engine, const std::string& text, SamplingParams sampling = {}) {
  const auto ids = engine.Encode(text);
  EXPECT_TRUE(ids.ok());
  sampling.golden_token_ids = *ids;
  sampling.max_tokens = static_cast<int32_t>(ids->size());
  sampling.min_tokens = std::min(sampling.min_tokens, sampling.max_tokens);
  return {.prompt_token_ids = Prompt(3), .sampling = std::move(sampling)};
}

TEST(Engine, TextIsTheDecodedTokens) {
  TestEngine test = MakeTestEngine(SmallConfig());
  const RequestOutput output =
      Generate(*test.engine, {.prompt_token_ids = Prompt(5), .sampling = {.max_tokens = 7}});
  EXPECT_EQ(output.token_ids.size(), 7u);
  EXPECT_EQ(output.finish_reason, FinishReason::kLength);
  EXPECT_EQ(output.text, *test.engine->Decode(output.token_ids));
  EXPECT_TRUE(output.error.ok());
  EXPECT_TRUE(output.logprobs.empty());
  EXPECT_EQ(output.prompt_token_ids, Prompt(5));
  ExpectNothingInUse(*test.engine);
}

TEST(Engine, TextPromptIsEncoded) {
  TestEngine test = MakeTestEngine(SmallConfig());
  const RequestOutput output =
      Generate(*test.engine, {.prompt = "Hello world", .sampling = {.max_tokens = 1}});
  EXPECT_EQ(output.prompt_token_ids, *test.engine->Encode("Hello world"));
}

TEST(Engine, ChatPromptHasItsMarkersAndTakesNoneFromTheText) {
  TestEngine test = MakeTestEngine(SmallConfig());
  const std::vector<int32_t> ids = *test.engine->EncodeChat("a<｜User｜>b");
  const std::vector<int32_t> markers =
      *test.engine->Encode("<｜begin▁of▁sentence｜><｜User｜><｜Assistant｜></think>");
  ASSERT_EQ(markers.size(), 4u);
  EXPECT_EQ(ids[0], markers[0]);
  EXPECT_EQ(ids[1], markers[1]);
  EXPECT_EQ(ids[ids.size() - 2], markers[2]);
  EXPECT_EQ(ids.back(), markers[3]);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), markers[1]), 1);
}

TEST(Engine, DeltasTogetherAreTheOutput) {
  TestEngine test = MakeTestEngine(SmallConfig());
  auto handle =
      test.engine->Submit({.prompt_token_ids = Prompt(40),
                           .sampling = {.max_tokens = 30, .logprobs = 2, .prompt_logprobs = 1}});
  ASSERT_TRUE(handle.ok()) << handle.status().ToString();
  RequestOutput joined;
  int32_t num_ends = 0;
  while (num_ends == 0) {
    const auto delta = handle->Next(seconds(60));
    ASSERT_TRUE(delta.ok()) << delta.status().ToString();
    joined.Append(*delta);
    if (delta->finish_reason.has_value()) ++num_ends;
  }
  const auto output = handle->Wait(seconds(1));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(joined.token_ids, output->token_ids);
  EXPECT_EQ(joined.text, output->text);
  EXPECT_EQ(joined.logprobs, output->logprobs);
  EXPECT_EQ(joined.prompt_logprobs, output->prompt_logprobs);
  EXPECT_EQ(output->prompt_logprobs.size(), 39u);
  EXPECT_EQ(output->logprobs.size(), 30u);
  EXPECT_EQ(output->top_logprobs[0].size(), 2u);
  EXPECT_EQ(output->prompt_top_logprobs[0].size(), 1u);
  EXPECT_EQ(handle->Next(milliseconds(1)).status().code(), StatusCode::kInvalidArgument);
}

TEST(Engine, NextGivesUpAtItsDeadlineAndTheRequestGoesOn) {
  std::promise<void> gate;
  std::shared_future<void> opened = gate.get_future().share();
  TestEngine test = MakeTestEngine(
      SmallConfig(), [opened](const std::vector<int32_t>&, float*) { opened.wait(); });
  auto handle = test.engine->Submit({.prompt_token_ids = Prompt(3), .sampling = {.max_tokens = 2}});
  ASSERT_TRUE(handle.ok());
  EXPECT_EQ(handle->Next(milliseconds(5)).status().code(), StatusCode::kDeadlineExceeded);
  gate.set_value();
  EXPECT_EQ(handle->Wait(seconds(60))->token_ids.size(), 2u);
}

TEST(Engine, EndOfSequenceStopsAndIsPartOfTheTokensOnly) {
  TestEngine test = MakeTestEngine(SmallConfig());
  const SamplingParams sampling{.max_tokens = 9, .golden_token_ids = {200, 201, 202, kEos}};
  const RequestOutput output =
      Generate(*test.engine, {.prompt_token_ids = Prompt(3), .sampling = sampling});
  EXPECT_EQ(output.token_ids, (std::vector<int32_t>{200, 201, 202, kEos}));
  EXPECT_EQ(output.finish_reason, FinishReason::kStop);
  EXPECT_EQ(output.text, *test.engine->Decode({200, 201, 202}));
}

TEST(Engine, IgnoreEosRunsOn) {
  TestEngine test = MakeTestEngine(SmallConfig());
  const SamplingParams sampling{
      .max_tokens = 5, .ignore_eos = true, .golden_token_ids = {kEos, kEos, 200}};
  const RequestOutput output =
      Generate(*test.engine, {.prompt_token_ids = Prompt(3), .sampling = sampling});
  EXPECT_EQ(output.token_ids.size(), 5u);
  EXPECT_EQ(output.finish_reason, FinishReason::kLength);
}

TEST(Engine, StopIdsOfTheRequestStopEvenWithIgnoreEos) {
  TestEngine test = MakeTestEngine(SmallConfig());
  const SamplingParams sampling{.max_tokens = 5,
                                .stop_token_ids = {300},
                                .ignore_eos = true,
                                .golden_token_ids = {kEos, 300, 200}};
  const RequestOutput output =
      Generate(*test.engine, {.prompt_token_ids = Prompt(3), .sampling = sampling});
  EXPECT_EQ(output.token_ids, (std::vector<int32_t>{kEos, 300}));
  EXPECT_EQ(output.finish_reason, FinishReason::kStop);
}

TEST(Engine, ZeroOneAndFiveTokens) {
  TestEngine test = MakeTestEngine(SmallConfig());
  for (const int32_t max_tokens : {0, 1, 5}) {
    const RequestOutput output = Generate(
        *test.engine, {.prompt_token_ids = Prompt(3), .sampling = {.max_tokens = max_tokens}});
    EXPECT_EQ(output.token_ids.size(), static_cast<size_t>(std::max(max_tokens, 1)));
  }
}

// RegressionContextEdge: a prompt of exactly the limit runs and gives one token; one more is refused
// with both numbers.
TEST(Engine, RegressionContextEdge) {
  TestEngine test = MakeTestEngine(SmallConfig());
  for (const int32_t length : {512, 511, 506}) {
    const RequestOutput output = Generate(
        *test.engine, {.prompt_token_ids = Prompt(length), .sampling = {.max_tokens = 50}});
    EXPECT_EQ(output.token_ids.size(), static_cast<size_t>(512 - length + 1)) << length;
    EXPECT_EQ(output.finish_reason, FinishReason::kLength);
  }
  const RequestOutput output = Generate(*test.engine, {.prompt_token_ids = Prompt(513)});
  EXPECT_EQ(output.error.message(),
            "prompt_length_exceeded: expected at most 512 prompt tokens (max_model_len), got 513");
  EXPECT_EQ(ErrorKind(output.error), "prompt_length_exceeded");
  EXPECT_TRUE(output.token_ids.empty());
}

TEST(Engine, StopStringAcrossTokensIsCutAndNothingLeaks) {
  TestEngine test = MakeTestEngine(SmallConfig());
  const std::string text = "The quick brown fox jumps over the lazy dog";
  for (const std::string stop : {"own fox ju", "T", "dog", "quick", "e quick b"}) {
    auto handle = test.engine->Submit(Forced(*test.engine, text, {.stop = {stop}}));
    ASSERT_TRUE(handle.ok());
    std::string streamed;
    while (true) {
      const auto delta = handle->Next(seconds(60));
      ASSERT_TRUE(delta.ok());
      streamed += delta->text;
      ASSERT_EQ(text.find(stop) >= streamed.size(), true) << "leaked: " << streamed;
      if (!delta->finish_reason.has_value()) continue;
      EXPECT_EQ(*delta->finish_reason, FinishReason::kStop);
      break;
    }
    EXPECT_EQ(streamed, text.substr(0, text.find(stop)));
  }
  ExpectNothingInUse(*test.engine);
}

TEST(Engine, HeldTextIsDeliveredAtTheEnd) {
  TestEngine test = MakeTestEngine(SmallConfig());
  const std::string text = "The quick brown";
  const RequestOutput output =
      Generate(*test.engine, Forced(*test.engine, text, {.stop = {"brown fox"}}));
  EXPECT_EQ(output.text, text);
  EXPECT_EQ(output.finish_reason, FinishReason::kLength);
}

TEST(Engine, StopStringBelowMinTokensDoesNotStop) {
  TestEngine test = MakeTestEngine(SmallConfig());
  const std::string text = "one two one two one two";
  Request request = Forced(*test.engine, text, {.min_tokens = 1 << 20, .stop = {"two"}});
  const RequestOutput output = Generate(*test.engine, request);
  EXPECT_EQ(output.text, text.substr(0, text.rfind("two")));  // its last byte is the last token's
}

TEST(Engine, CharactersAreNeverCut) {
  TestEngine test = MakeTestEngine(SmallConfig());
  const std::string text = "naïve 你好 🙂 end";
  auto handle = test.engine->Submit(Forced(*test.engine, text));
  ASSERT_TRUE(handle.ok());
  std::string streamed;
  bool is_finished = false;
  while (!is_finished) {
    const auto delta = handle->Next(seconds(60));
    ASSERT_TRUE(delta.ok());
    EXPECT_EQ(delta->text.find("\xEF\xBF\xBD"), std::string::npos);
    streamed += delta->text;
    is_finished = delta->finish_reason.has_value();
  }
  EXPECT_EQ(streamed, text);
}

struct BadRequest {
  Request request;
  std::string message;
};

// One clear sentence each, and the other requests of the batch finish with their own tokens.
TEST(Engine, BadRequestsAreRefusedAndTheOthersFinish) {
  TestEngine test = MakeTestEngine(SmallConfig());
  const Request good{.prompt_token_ids = Prompt(9),
                     .sampling = {.temperature = 0, .max_tokens = 12}};
  const RequestOutput expected = Generate(*test.engine, good);
  const BadRequest cases[] = {
      {{}, "prompt: expected text or token ids, got an empty prompt"},
      {{.prompt_token_ids = {5, 4096}}, "prompt_token_ids[1]: expected an id in 0..4095, got 4096"},
      {{.prompt_token_ids = {-1}}, "prompt_token_ids[0]: expected an id in 0..4095, got -1"},
      {{.prompt_token_ids = Prompt(600)},
       "prompt_length_exceeded: expected at most 512 prompt tokens (max_model_len), got 600"},
      {{.prompt_token_ids = {5}, .sampling = {.temperature = -1}},
       "temperature: expected a number in [0, 1000000], got -1"},
      {{.prompt_token_ids = {5}, .sampling = {.top_p = std::numeric_limits<double>::quiet_NaN()}},
       "top_p: expected a number in (0, 1], got nan"},
      {{.prompt_token_ids = {5}, .sampling = {.logprobs = 1000000}},
       "logprobs: expected a number in [0, 1000], got 1000000"},
      {{.prompt_token_ids = {5}, .sampling = {.stop_token_ids = {9999}}},
       "stop_token_ids[0]: expected an id in 0..4095, got 9999"},
      {{.prompt_token_ids = {5}, .sampling = {.logit_bias = {{.token_id = -3, .bias = 1}}}},
       "logit_bias[0]: expected an id in 0..4095, got -3"},
      {{.prompt_token_ids = {5}, .timeout = milliseconds(0)},
       "timeout: expected more than 0 ms, got 0"},
  };
  auto handle = test.engine->Submit(good);
  for (const BadRequest& c : cases) {
    const auto refused = test.engine->Submit(c.request);
    EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(refused.status().message(), c.message);
  }
  const auto several = test.engine->Submit({.prompt_token_ids = {5}, .sampling = {.n = 2}});
  EXPECT_EQ(several.status().code(), StatusCode::kUnimplemented);
  EXPECT_EQ(handle->Wait(seconds(60))->token_ids, expected.token_ids);
}

TEST(Engine, FullEngineRefusesAtTheDoor) {
  std::promise<void> gate;
  std::shared_future<void> opened = gate.get_future().share();
  EngineConfig config = SmallConfig();
  config.max_num_requests = 2;
  TestEngine test =
      MakeTestEngine(config, [opened](const std::vector<int32_t>&, float*) { opened.wait(); });
  auto first = test.engine->Submit({.prompt_token_ids = Prompt(3)});
  auto second = test.engine->Submit({.prompt_token_ids = Prompt(3)});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(test.engine->Submit({.prompt_token_ids = Prompt(3)}).status().code(),
            StatusCode::kResourceExhausted);
  gate.set_value();
  EXPECT_TRUE(first->Wait(seconds(60)).ok() && second->Wait(seconds(60)).ok());
  EXPECT_TRUE(test.engine->Submit({.prompt_token_ids = Prompt(3)}).ok());
}

TEST(Engine, CancelEndsARequestInEveryStateExactlyOnce) {
  EngineConfig config = SmallConfig();
  config.max_num_seqs = 2;
  std::promise<void> gate;
  std::shared_future<void> opened = gate.get_future().share();
  TestEngine test =
      MakeTestEngine(config, [opened](const std::vector<int32_t>&, float*) { opened.wait(); });
  const SamplingParams endless{.max_tokens = 400, .ignore_eos = true};
  auto decoding = test.engine->Submit({.prompt_token_ids = Prompt(4), .sampling = endless});
  auto prefilling = test.engine->Submit({.prompt_token_ids = Prompt(300), .sampling = endless});
  auto waiting = test.engine->Submit({.prompt_token_ids = Prompt(4), .sampling = endless});
  ASSERT_TRUE(decoding.ok() && prefilling.ok() && waiting.ok());
  for (RequestHandle* handle : {&*waiting, &*prefilling, &*decoding}) {
    handle->Cancel();
    handle->Cancel();
  }
  gate.set_value();
  for (RequestHandle* handle : {&*waiting, &*prefilling, &*decoding}) {
    const auto output = handle->Wait(seconds(60));
    ASSERT_TRUE(output.ok());
    EXPECT_EQ(output->finish_reason, FinishReason::kCancelled);
    EXPECT_TRUE(output->error.ok());
    handle->Cancel();  // after the end: nothing
  }
  const RequestOutput after = Generate(*test.engine, {.prompt_token_ids = Prompt(3)});
  EXPECT_EQ(after.finish_reason, FinishReason::kLength);
  ExpectNothingInUse(*test.engine);
  EXPECT_EQ(test.engine->metrics().num_requests_finished_total, 4);
}

TEST(Engine, RequestEndsAtItsTimeoutWithWhatItHas) {
  std::atomic<int32_t> num_rows = 0;
  FakeClock* clock = nullptr;
  TestEngine test = MakeTestEngine(SmallConfig(), [&](const std::vector<int32_t>&, float*) {
    if (++num_rows == 5) clock->Advance(seconds(2));
  });
  clock = test.clock.get();
  const RequestOutput output =
      Generate(*test.engine, {.prompt_token_ids = Prompt(3),
                              .sampling = {.max_tokens = 400, .ignore_eos = true},
                              .timeout = milliseconds(1500)});
  EXPECT_EQ(output.finish_reason, FinishReason::kError);
  EXPECT_EQ(output.error.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(output.token_ids.size(), 5u);
}

TEST(Engine, DefaultTimeoutComesFromTheConfig) {
  EngineConfig config = SmallConfig();
  config.request_timeout_seconds = 1;
  FakeClock* clock = nullptr;
  TestEngine test = MakeTestEngine(
      config, [&](const std::vector<int32_t>&, float*) { clock->Advance(seconds(2)); });
  clock = test.clock.get();
  const RequestOutput output =
      Generate(*test.engine, {.prompt_token_ids = Prompt(3), .sampling = {.max_tokens = 9}});
  EXPECT_EQ(output.error.code(), StatusCode::kDeadlineExceeded);
}

TEST(Engine, OneRequestsFailureHarmsNobody) {
  TestEngine test =
      MakeTestEngine(SmallConfig(), [](const std::vector<int32_t>& tokens, float* logits) {
        if (tokens[0] == 666 && tokens.size() == 6) {
          logits[7] = std::numeric_limits<float>::quiet_NaN();
        }
      });
  const Request good{.prompt_token_ids = Prompt(9), .sampling = {.seed = 4, .max_tokens = 20}};
  const RequestOutput expected = Generate(*test.engine, good);
  auto bad = test.engine->Submit(
      {.prompt_token_ids = {666, 5, 5}, .sampling = {.max_tokens = 20, .ignore_eos = true}});
  auto other = test.engine->Submit(good);
  const auto failed = bad->Wait(seconds(60));
  EXPECT_EQ(failed->finish_reason, FinishReason::kError);
  EXPECT_EQ(failed->error.code(), StatusCode::kInternal);
  EXPECT_EQ(failed->token_ids.size(), 3u);
  EXPECT_EQ(other->Wait(seconds(60))->token_ids, expected.token_ids);
  EXPECT_TRUE(test.engine->health().ok());
  ExpectNothingInUse(*test.engine);
}

TEST(Engine, LostDeviceFailsEveryRequestAndRefusesNewOnes) {
  TestEngine test = MakeTestEngine(SmallConfig(), [](const std::vector<int32_t>& tokens, float*) {
    if (tokens.size() == 8) throw DeviceError("the device is gone");
  });
  const SamplingParams sampling{.max_tokens = 50, .ignore_eos = true};
  auto first = test.engine->Submit({.prompt_token_ids = Prompt(3), .sampling = sampling});
  auto second = test.engine->Submit({.prompt_token_ids = Prompt(2), .sampling = sampling});
  for (RequestHandle* handle : {&*first, &*second}) {
    const auto output = handle->Wait(seconds(60));
    ASSERT_TRUE(output.ok());
    EXPECT_EQ(output->error.code(), StatusCode::kUnavailable);
    EXPECT_NE(output->error.message().find("the device is gone"), std::string::npos);
  }
  EXPECT_EQ(test.engine->health().code(), StatusCode::kUnavailable);
  EXPECT_EQ(test.engine->Submit({.prompt_token_ids = Prompt(3)}).status().code(),
            StatusCode::kUnavailable);
}

TEST(Engine, BrokenInvariantFailsTheEngineToo) {
  TestEngine test = MakeTestEngine(
      SmallConfig(), [](const std::vector<int32_t>&, float*) { DI_CHECK(false, "a bug"); });
  const RequestOutput output = Generate(*test.engine, {.prompt_token_ids = Prompt(3)});
  EXPECT_EQ(output.error.code(), StatusCode::kUnavailable);
}

TEST(Engine, StepThatHangsFailsTheEngine) {
  std::promise<void> gate;
  std::shared_future<void> opened = gate.get_future().share();
  EngineConfig config = SmallConfig();
  config.step_timeout_seconds = 0.02;  // below what the options allow
  TestEngine test =
      MakeTestEngine(config, [opened](const std::vector<int32_t>&, float*) { opened.wait(); });
  const RequestOutput output = Generate(*test.engine, {.prompt_token_ids = Prompt(3)});
  EXPECT_EQ(output.error.code(), StatusCode::kUnavailable);
  EXPECT_NE(output.error.message().find("step_timeout_seconds"), std::string::npos);
  gate.set_value();
}

TEST(Engine, HandlesOutliveTheEngine) {
  std::promise<void> gate;
  std::shared_future<void> opened = gate.get_future().share();
  TestEngine test = MakeTestEngine(
      SmallConfig(), [opened](const std::vector<int32_t>&, float*) { opened.wait(); });
  auto handle = test.engine->Submit(
      {.prompt_token_ids = Prompt(3), .sampling = {.max_tokens = 400, .ignore_eos = true}});
  std::thread closer([&] { test.engine.reset(); });
  gate.set_value();
  closer.join();
  const auto output = handle->Wait(seconds(1));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->finish_reason, FinishReason::kCancelled);
  handle->Cancel();
}

// RegressionUnseededRequestsRepeat: requests without a seed draw differently, also when they share
// one parameter object.
TEST(Engine, RegressionUnseededRequestsRepeat) {
  TestEngine test = MakeTestEngine(SmallConfig());
  std::set<std::vector<int32_t>> texts;
  for (int i = 0; i < 50; ++i) {
    const RequestOutput output =
        Generate(*test.engine, {.prompt_token_ids = Prompt(3), .sampling = {.max_tokens = 4}});
    texts.insert(output.token_ids);
  }
  EXPECT_EQ(texts.size(), 50u);
}

// RegressionSeedBesideUnseeded: a seeded request equals its solo run, whoever is in the batch, in
// whatever order, greedy or not.
TEST(Engine, RegressionSeedBesideUnseeded) {
  TestEngine test = MakeTestEngine(SmallConfig());
  const Request seeded{.prompt_token_ids = Prompt(7), .sampling = {.seed = 42, .max_tokens = 20}};
  const std::vector<int32_t> expected = Generate(*test.engine, seeded).token_ids;
  const Request mates[] = {
      {.prompt_token_ids = Prompt(7), .sampling = {.max_tokens = 20}},
      {.prompt_token_ids = Prompt(7), .sampling = {.temperature = 0, .max_tokens = 20}},
      {.prompt_token_ids = Prompt(7), .sampling = {.top_k = 9999999, .max_tokens = 20}}};
  for (const Request& mate : mates) {
    for (const bool is_first : {true, false}) {
      auto a = test.engine->Submit(is_first ? seeded : mate);
      auto b = test.engine->Submit(is_first ? mate : seeded);
      RequestHandle& mine = is_first ? *a : *b;
      EXPECT_EQ(mine.Wait(seconds(60))->token_ids, expected);
      EXPECT_TRUE(a->Wait(seconds(60)).ok() && b->Wait(seconds(60)).ok());
    }
  }
}

TEST(Engine, ChunksDoNotChangeTokensOrLogprobs) {
  const Request request{
      .prompt_token_ids = Prompt(150),
      .sampling = {.seed = 3, .max_tokens = 20, .logprobs = 3, .prompt_logprobs = 2}};
  RequestOutput expected;
  for (const int32_t rows : {256, 4, 7, 32, 33}) {
    EngineConfig config = SmallConfig();
    config.max_num_batched_tokens = rows;
    TestEngine test = MakeTestEngine(config);
    const RequestOutput output = Generate(*test.engine, request);
    if (rows == 256) expected = output;
    EXPECT_EQ(output.token_ids, expected.token_ids) << rows;
    EXPECT_EQ(output.logprobs, expected.logprobs) << rows;
    EXPECT_EQ(output.prompt_logprobs, expected.prompt_logprobs) << rows;
  }
  EXPECT_EQ(expected.prompt_logprobs.size(), 149u);
}

// The same requests through a small and a large cache, synchronously and not: same tokens.
TEST(Engine, PreemptionAndAsynchronyDoNotChangeResults) {
  std::vector<std::vector<RequestOutput>> runs;
  for (const bool is_async : {false, true}) {
    for (const int64_t num_blocks : {16, 4}) {
      EngineConfig config = SmallConfig();
      config.num_kv_blocks = num_blocks;
      config.async_scheduling = is_async;
      TestEngine test = MakeTestEngine(config);
      std::vector<RequestHandle> handles;
      for (int32_t i = 0; i < 12; ++i) {
        auto handle = test.engine->Submit({.prompt_token_ids = Prompt(20 + 17 * i, 50 * i),
                                           .sampling = {.temperature = i % 3 == 0 ? 0.0 : 1.0,
                                                        .seed = static_cast<uint64_t>(i),
                                                        .max_tokens = 60 + 5 * i,
                                                        .logprobs = 1}});
        ASSERT_TRUE(handle.ok()) << handle.status().ToString();
        handles.push_back(*handle);
      }
      auto& outputs = runs.emplace_back();
      for (RequestHandle& handle : handles) outputs.push_back(*handle.Wait(seconds(60)));
      if (num_blocks == 4) {
        EXPECT_GT(test.engine->metrics().num_preemptions_total, 0);
      }
      ExpectNothingInUse(*test.engine);
    }
  }
  for (size_t run = 1; run < runs.size(); ++run) {
    for (size_t i = 0; i < runs[0].size(); ++i) {
      EXPECT_EQ(runs[run][i].token_ids, runs[0][i].token_ids) << "run " << run << " request " << i;
      EXPECT_EQ(runs[run][i].logprobs, runs[0][i].logprobs);
      EXPECT_EQ(runs[run][i].finish_reason, runs[0][i].finish_reason);
    }
  }
}

TEST(Engine, BannedIdsOfTheConfigAreNeverDrawn) {
  EngineConfig config = SmallConfig();
  config.banned_token_ids = "0..2000,2002..4095";
  TestEngine test = MakeTestEngine(config);
  const RequestOutput output =
      Generate(*test.engine, {.prompt_token_ids = Prompt(3), .sampling = {.max_tokens = 3}});
  EXPECT_EQ(output.token_ids, (std::vector<int32_t>{2001, 2001, 2001}));
}

}  // namespace
}  // namespace deepinfer::engine
