#include "engine/generation_config.h"

#include <gtest/gtest.h>

namespace deepinfer::engine {
namespace {

TEST(GenerationConfig, ReadsTheTinyModelsFile) {
  const auto config =
      LoadGenerationConfig(PosixFileSystem(), DI_SOURCE_DIR "/models/DeepSeek-V4.1-Tiny");
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->eos_token_ids, (std::vector<int32_t>{1}));
  EXPECT_EQ(config->sampling.temperature, 1.0);
  EXPECT_EQ(config->sampling.top_p, 0.95);
}

TEST(GenerationConfig, SeveralEndIdsAndNoSampling) {
  const auto config =
      ParseGenerationConfig(R"({"eos_token_id": [1, 7], "do_sample": false, "top_k": 0})");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->eos_token_ids, (std::vector<int32_t>{1, 7}));
  EXPECT_EQ(config->sampling.temperature, 0.0);
  EXPECT_EQ(config->sampling.top_k, SamplingParams::kAllTokens);
}

TEST(GenerationConfig, MissingFileGivesDefaults) {
  const auto config = LoadGenerationConfig(PosixFileSystem(), "/nonexistent-folder");
  ASSERT_TRUE(config.ok());
  EXPECT_TRUE(config->eos_token_ids.empty());
  EXPECT_EQ(config->sampling.top_p, 1.0);
}

TEST(GenerationConfig, BadValuesAreNamed) {
  EXPECT_EQ(ParseGenerationConfig("[]").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseGenerationConfig("{").status().code(), StatusCode::kInvalidArgument);
  const auto config = ParseGenerationConfig(R"({"top_p": 1.5})");
  EXPECT_NE(config.status().message().find("top_p"), std::string::npos);
  const auto text = ParseGenerationConfig(R"({"temperature": "hot"})");
  EXPECT_NE(text.status().message().find("temperature"), std::string::npos);
}

}  // namespace
}  // namespace deepinfer::engine
