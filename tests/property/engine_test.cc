// The whole engine on the tiny model: a request gets the same bits alone, in any batch, in any
// chunks, after a preemption, planned ahead or not, and decoded token by token or prefilled.
#include "deepinfer/engine.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "property/seeded_rng.h"

namespace deepinfer {
namespace {

using std::chrono::seconds;

constexpr int32_t kNumOrdinaryIds = 4000;  // below the tokenizer's markers

std::unique_ptr<Engine> MakeEngine(EngineConfig config) {
  config.model = DI_SOURCE_DIR "/models/DeepSeek-V4.1-Tiny";
  auto engine = Engine::Create(config);
  EXPECT_TRUE(engine.ok()) << engine.status().ToString();
  return engine.ok() ? std::move(*engine) : nullptr;
}

std::vector<int32_t> RandomIds(testing::SeededRng& rng, int64_t count) {
  std::vector<int32_t> ids(static_cast<size_t>(count));
  for (int32_t& id : ids) id = static_cast<int32_t>(rng.Uniform(3, kNumOrdinaryIds));
  return ids;
}

std::vector<Request> RandomRequests(testing::SeededRng& rng, int32_t count) {
  std::vector<Request> requests;
  for (int32_t i = 0; i < count; ++i) {
    // Outputs need a second block: those of every other request early, those of the older ones in
    // between late, when a small pool has given its last block away.
    const int64_t prompt_len = i % 2 == 0 ? rng.Uniform(105, 110) : rng.Uniform(118, 127);
    Request request{.prompt_token_ids = RandomIds(rng, i % 6 == 5 ? prompt_len / 10 : prompt_len)};
    request.sampling = {.temperature = rng.OneIn(3) ? 0.0 : 0.5 + rng.Real(),
                        .seed = static_cast<uint64_t>(rng.Uniform(0, 1 << 30)),
                        .max_tokens = static_cast<int32_t>(rng.Uniform(25, 40)),
                        .ignore_eos = true,
                        .logprobs = 2};
    if (rng.OneIn(3)) request.sampling.top_k = static_cast<int32_t>(rng.Uniform(1, 50));
    if (rng.OneIn(3)) request.sampling.top_p = 0.3 + 0.7 * rng.Real();
    if (rng.OneIn(4)) request.sampling.min_p = 0.2 * rng.Real();
    if (rng.OneIn(4)) request.sampling.frequency_penalty = 1;
    if (rng.OneIn(4)) request.sampling.repetition_penalty = 1.3;
    if (rng.OneIn(4)) request.sampling.prompt_logprobs = 1;
    requests.push_back(std::move(request));
  }
  return requests;
}

std::vector<RequestOutput> RunAlone(Engine& engine, const std::vector<Request>& requests) {
  std::vector<RequestOutput> outputs;
  for (const Request& request : requests) {
    auto handle = engine.Submit(request);
    EXPECT_TRUE(handle.ok()) << handle.status().ToString();
    outputs.push_back(*handle->Wait(seconds(120)));
  }
  return outputs;
}

std::vector<RequestOutput> RunTogether(Engine& engine, const std::vector<Request>& requests) {
  std::vector<RequestHandle> handles;
  for (const Request& request : requests) handles.push_back(*engine.Submit(request));
  std::vector<RequestOutput> outputs;
  for (RequestHandle& handle : handles) outputs.push_back(*handle.Wait(seconds(120)));
  return outputs;
}

void ExpectEqual(const std::vector<RequestOutput>& a, const std::vector<RequestOutput>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].token_ids, b[i].token_ids) << "request " << i;
    EXPECT_EQ(a[i].text, b[i].text) << "request " << i;
    EXPECT_EQ(a[i].logprobs, b[i].logprobs) << "request " << i;
    EXPECT_EQ(a[i].prompt_logprobs, b[i].prompt_logprobs) << "request " << i;
    EXPECT_EQ(a[i].finish_reason, b[i].finish_reason) << "request " << i;
  }
}

TEST(EngineProperty, ARequestGetsTheSameBitsInEveryCompany) {
  testing::SeededRng rng(11);
  const std::vector<Request> requests = RandomRequests(rng, 12);
  std::vector<RequestOutput> alone;
  {
    const auto engine = MakeEngine({.max_model_len = 512, .max_num_seqs = 8});
    ASSERT_NE(engine, nullptr);
    alone = RunAlone(*engine, requests);
    ExpectEqual(alone, RunTogether(*engine, requests));
  }
  const EngineConfig others[] = {
      {.num_threads = 1, .max_model_len = 512, .max_num_seqs = 16, .max_num_batched_tokens = 64},
      {.max_model_len = 512, .max_num_seqs = 8, .max_num_batched_tokens = 9},
      {.max_model_len = 256, .max_num_seqs = 8, .num_kv_blocks = 3},
      {.max_model_len = 512, .max_num_seqs = 8, .async_scheduling = true},
      {.max_model_len = 256,
       .max_num_seqs = 6,
       .max_num_batched_tokens = 40,
       .num_kv_blocks = 3,
       .async_scheduling = true}};
  for (const EngineConfig& config : others) {
    SCOPED_TRACE(&config - others);
    const auto engine = MakeEngine(config);
    ASSERT_NE(engine, nullptr);
    ExpectEqual(alone, RunTogether(*engine, requests));
    if (config.num_kv_blocks == 3) {
      EXPECT_GT(engine->metrics().num_preemptions_total, 0);
    }
    EXPECT_EQ(engine->metrics().num_free_blocks, engine->metrics().num_blocks);
  }
}

// RegressionDecodeDiffersFromPrefill: each edge of windows, blocks and compressor groups in 1..300 is
// crossed once by decoding and once by prefilling the same text.
TEST(EngineProperty, RegressionDecodeDiffersFromPrefill) {
  testing::SeededRng rng(12);
  const auto engine = MakeEngine({.max_model_len = 512, .max_num_seqs = 4});
  ASSERT_NE(engine, nullptr);
  const std::vector<int32_t> prompt = RandomIds(rng, 1);
  const auto decoded = RunAlone(
      *engine, {{.prompt_token_ids = prompt,
                 .sampling = {.seed = 5, .max_tokens = 300, .ignore_eos = true, .logprobs = 0}}});
  std::vector<int32_t> text = prompt;
  text.insert(text.end(), decoded[0].token_ids.begin(), decoded[0].token_ids.end());
  const auto prefilled = RunAlone(
      *engine, {{.prompt_token_ids = text, .sampling = {.max_tokens = 1, .prompt_logprobs = 0}}});
  EXPECT_EQ(decoded[0].logprobs, prefilled[0].prompt_logprobs);
}

// A thousand short requests with random cancels: everybody gets one end, and nothing stays in use.
TEST(EngineProperty, CancelledRequestsLeaveNothingBehind) {
  testing::SeededRng rng(13);
  const auto engine = MakeEngine(
      {.max_model_len = 256, .max_num_seqs = 8, .num_kv_blocks = 6, .async_scheduling = true});
  ASSERT_NE(engine, nullptr);
  std::vector<RequestHandle> handles;
  int64_t num_cancelled = 0;
  for (int32_t i = 0; i < 400; ++i) {
    handles.push_back(*engine->Submit(
        {.prompt_token_ids = RandomIds(rng, rng.Uniform(1, 20)),
         .sampling = {.max_tokens = static_cast<int32_t>(rng.Uniform(1, 6)), .ignore_eos = true}}));
    if (rng.OneIn(3)) rng.Pick(handles)->Cancel();
  }
  for (RequestHandle& handle : handles) {
    const auto output = handle.Wait(seconds(120));
    ASSERT_TRUE(output.ok()) << output.status().ToString();
    if (output->finish_reason == FinishReason::kCancelled) ++num_cancelled;
    EXPECT_NE(output->finish_reason, FinishReason::kError);
  }
  EXPECT_GT(num_cancelled, 0);
  // The last step may still be on its way; one more request comes behind it.
  RunAlone(*engine, {{.prompt_token_ids = {5}, .sampling = {.max_tokens = 3}}});
  const EngineMetrics metrics = engine->metrics();
  EXPECT_EQ(metrics.num_free_blocks, metrics.num_blocks);
  EXPECT_EQ(metrics.num_requests_finished_total, 401);
}

}  // namespace
}  // namespace deepinfer
