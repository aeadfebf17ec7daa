// The recorded chats through the whole engine, in one batch: admission, scheduler, paged cache,
// sampler, text.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "deepinfer/llm.h"
#include "golden/golden_file.h"

namespace deepinfer::golden {
namespace {

constexpr double kNearTie = 0.05;

TEST(EngineGolden, TinyModelsChats) {
  const std::vector<GoldenCase> cases = ReadGoldenFile("tiny.jsonl");
  ASSERT_FALSE(cases.empty());
  auto llm = LLM::Create({.model = DI_SOURCE_DIR "/models/DeepSeek-V4.1-Tiny",
                          .max_num_seqs = 16,
                          .max_num_batched_tokens = 128});
  ASSERT_TRUE(llm.ok()) << llm.status().ToString();
  std::vector<Request> requests;
  for (const GoldenCase& c : cases) {
    requests.push_back(
        {.prompt_token_ids = c.prompt_ids,
         .sampling = {.temperature = 0,
                      .max_tokens = std::max<int32_t>(1, static_cast<int32_t>(c.greedy_ids.size())),
                      .logprobs = 1,
                      .prompt_logprobs = 0}});
  }
  const std::vector<RequestOutput> outputs = (*llm)->Generate(requests);
  int64_t num_rows = 0;
  int64_t num_close = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(cases[i].name);
    const RequestOutput& output = outputs[i];
    ASSERT_TRUE(output.error.ok()) << output.error.ToString();
    ASSERT_EQ(output.prompt_logprobs.size(), cases[i].prompt_logprobs.size());
    for (size_t k = 0; k < output.prompt_logprobs.size(); ++k) {
      ++num_rows;
      num_close += std::abs(output.prompt_logprobs[k] - cases[i].prompt_logprobs[k]) <= 0.02;
    }
    for (size_t k = 0; k < cases[i].greedy_ids.size(); ++k) {
      const GoldenStep& step = cases[i].steps[k];
      if (step.top5[0].second - step.top5[1].second < kNearTie) break;
      ASSERT_LT(k, output.token_ids.size());
      ASSERT_EQ(output.token_ids[k], cases[i].greedy_ids[k]) << "token " << k;
      ++num_rows;
      num_close += std::abs(output.logprobs[k] - (step.top5[0].second - step.logsumexp)) <= 0.02;
    }
  }
  std::printf("%ld of %ld log-probabilities within 0.02\n", static_cast<long>(num_close),
              static_cast<long>(num_rows));
  EXPECT_GE(static_cast<double>(num_close), 0.99 * static_cast<double>(num_rows));
}

}  // namespace
}  // namespace deepinfer::golden
