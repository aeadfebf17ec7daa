#include "engine/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace deepinfer::engine {
namespace {

Result<EnvironmentReading> Read(const Environment& environment) {
  return ReadEnvironment(environment, EngineConfig());
}

TEST(Environment, OptionsAreSetByTheirVariables) {
  const auto reading = Read({{"DEEPINFER_MAX_NUM_SEQS", "9"},
                             {"DEEPINFER_ZERO_OVERHEAD_SCHEDULING", "on"},
                             {"DEEPINFER_HF_MODEL_DIR", "/models/x"},
                             {"DEEPINFER_DECODE_TOKEN_BLACKLIST", "1..3"},
                             {"PATH", "/bin"}});
  ASSERT_TRUE(reading.ok()) << reading.status().ToString();
  EXPECT_EQ(reading->config.max_num_seqs, 9);
  EXPECT_TRUE(reading->config.async_scheduling);
  EXPECT_EQ(reading->config.model, "/models/x");
  EXPECT_EQ(reading->config.banned_token_ids, "1..3");
  EXPECT_TRUE(reading->warnings.empty());
}

TEST(Environment, EveryOptionsVariableTakesItsDefault) {
  const EngineConfig defaults;
  for (const EngineOption& option : DescribeEngineOptions(defaults)) {
    EXPECT_TRUE(Read({{option.env, option.value}}).ok()) << option.env << "=" << option.value;
  }
}

TEST(Environment, WrongValueNamesVariableValueAndRange) {
  const Status status = Read({{"DEEPINFER_MAX_NUM_SEQS", "many"}}).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("DEEPINFER_MAX_NUM_SEQS"), std::string::npos);
  EXPECT_NE(status.message().find("1..65536"), std::string::npos);
  EXPECT_NE(status.message().find("many"), std::string::npos);
}

TEST(Environment, BooleansAreStrict) {
  for (const char* value : {"0", "no", "off", "FALSE", "False"}) {
    const auto reading = Read({{"DEEPINFER_ZERO_OVERHEAD_SCHEDULING", value}});
    ASSERT_TRUE(reading.ok()) << value;
    EXPECT_FALSE(reading->config.async_scheduling) << value;
  }
  EXPECT_FALSE(Read({{"DEEPINFER_ZERO_OVERHEAD_SCHEDULING", "2"}}).ok());
  EXPECT_FALSE(Read({{"DEEPINFER_ENFORCE_EAGER", "perhaps"}}).ok());
  EXPECT_FALSE(Read({{"DEEPINFER_ENFORCE_EAGER", ""}}).ok());
}

TEST(Environment, MissingFeaturesAreRefusedWhenTurnedOn) {
  const std::pair<const char*, const char*> cases[] = {
      {"DEEPINFER_USE_NEXTN_DECODE", "5"},
      {"DEEPINFER_ENABLE_MTP_VARLEN", "1"},
      {"DEEPINFER_YOCO_PREFILL_TRUNCATION_MODE", "compact"},
      {"DEEPINFER_EXPERT_REARRANGEMENT_STEP_INTERVAL", "100"},
      {"DEEPINFER_PROFILE_HTTP_ENABLE", "true"},
      {"DEEPINFER_SAMPLER_FORCE_TOPK", "64"},
      {"DEEPINFER_FORCE_IMBALANCE_RATIO", "1.5"}};
  for (const auto& [name, value] : cases) {
    const Status status = Read({{name, value}}).status();
    EXPECT_EQ(status.code(), StatusCode::kUnimplemented) << name;
    EXPECT_EQ(status.message().rfind(name, 0), 0u) << status.message();
  }
}

TEST(Environment, MissingFeaturesMayBeTurnedOff) {
  EXPECT_TRUE(Read({{"DEEPINFER_USE_NEXTN_DECODE", "0"},
                    {"DEEPINFER_ENABLE_MTP_VARLEN", "off"},
                    {"DEEPINFER_YOCO_PREFILL_TRUNCATION_MODE", "off"},
                    {"DEEPINFER_FORCE_IMBALANCE_RATIO", "0"},
                    {"DEEPINFER_BATCH_INVARIANT", "1"}})
                  .ok());
}

TEST(Environment, ValuesOfMissingFeaturesAreCheckedAllTheSame) {
  EXPECT_FALSE(Read({{"DEEPINFER_USE_NEXTN_DECODE", "five"}}).ok());
  EXPECT_FALSE(Read({{"DEEPINFER_GLOO_TIMEOUT", "nan"}}).ok());
  EXPECT_FALSE(Read({{"DEEPINFER_YOCO_PREFILL_TRUNCATION_MODE", "Off"}}).ok());
}

TEST(Environment, UnknownNamesAreAWarningWithTheNearest) {
  const auto reading = Read({{"DEEPINFER_MAX_NUM_SEQ", "4"}});
  ASSERT_TRUE(reading.ok());
  ASSERT_EQ(reading->warnings.size(), 1u);
  EXPECT_EQ(reading->warnings[0],
            "DEEPINFER_MAX_NUM_SEQ is not known; the nearest name is DEEPINFER_MAX_NUM_SEQS");
}

TEST(Environment, ProcessVariablesAreFound) {
  ASSERT_EQ(setenv("DEEPINFER_TEST_ONLY_NAME", "a=b", 1), 0);
  bool is_found = false;
  for (const auto& [name, value] : ProcessEnvironment()) {
    if (name == "DEEPINFER_TEST_ONLY_NAME") is_found = value == "a=b";
  }
  unsetenv("DEEPINFER_TEST_ONLY_NAME");
  EXPECT_TRUE(is_found);
}

}  // namespace
}  // namespace deepinfer::engine
