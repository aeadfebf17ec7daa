#include "deepinfer/config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

namespace deepinfer {
namespace {

TEST(EngineConfig, DefaultsAreValid) { EXPECT_TRUE(ValidateEngineConfig(EngineConfig()).ok()); }

TEST(EngineConfig, EveryOptionMakesARoundTripThroughText) {
  const EngineConfig defaults;
  for (const EngineOption& option : DescribeEngineOptions(defaults)) {
    EngineConfig config;
    EXPECT_TRUE(SetEngineOption(config, option.name, option.value).ok())
        << option.name << "=" << option.value;
  }
}

TEST(EngineConfig, ChangedOptionsAreDescribedAsChanged) {
  EngineConfig config;
  ASSERT_TRUE(SetEngineOption(config, "max_num_seqs", "12").ok());
  ASSERT_TRUE(SetEngineOption(config, "numerics", "production").ok());
  ASSERT_TRUE(SetEngineOption(config, "async_scheduling", "yes").ok());
  EXPECT_EQ(config.max_num_seqs, 12);
  EXPECT_EQ(config.numerics, Numerics::kProduction);
  EXPECT_TRUE(config.async_scheduling);
  std::set<std::string> values;
  for (const EngineOption& option : DescribeEngineOptions(config)) {
    values.insert(option.name + "=" + option.value);
  }
  EXPECT_EQ(values.count("max_num_seqs=12"), 1u);
  EXPECT_EQ(values.count("numerics=production"), 1u);
  EXPECT_EQ(values.count("async_scheduling=true"), 1u);
}

TEST(EngineConfig, NamesAndVariablesAreUnique) {
  std::set<std::string> names;
  std::set<std::string> variables;
  for (const EngineOption& option : DescribeEngineOptions(EngineConfig())) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
    EXPECT_TRUE(variables.insert(option.env).second) << option.env;
    EXPECT_EQ(option.env.rfind("DEEPINFER_", 0), 0u) << option.env;
    EXPECT_FALSE(option.help.empty());
  }
}

TEST(EngineConfig, WrongValuesNameOptionRangeAndValue) {
  EngineConfig config;
  EXPECT_EQ(SetEngineOption(config, "max_num_seqs", "0").message(),
            "max_num_seqs: expected 1..65536, got \"0\"");
  EXPECT_EQ(SetEngineOption(config, "max_num_seqs", "12x").message(),
            "max_num_seqs: expected 1..65536, got \"12x\"");
  EXPECT_EQ(SetEngineOption(config, "numerics", "int4").message(),
            "numerics: expected fp32, bf16 or production, got \"int4\"");
  EXPECT_EQ(SetEngineOption(config, "async_scheduling", "maybe").message(),
            "async_scheduling: expected true or false, got \"maybe\"");
  EXPECT_EQ(SetEngineOption(config, "device", "tpu").message(),
            "device: expected cpu, ref, nvidia or ascend, got \"tpu\"");
  EXPECT_EQ(SetEngineOption(config, "max_num_seqs", "").message(),
            "max_num_seqs: expected 1..65536, got nothing");
  EXPECT_EQ(config.max_num_seqs, EngineConfig().max_num_seqs);
}

TEST(EngineConfig, UnknownNameGetsTheNearest) {
  EngineConfig config;
  const Status status = SetEngineOption(config, "max_num_seq", "3");
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(status.message().find("max_num_seqs"), std::string::npos);
}

TEST(EngineConfig, NumbersOutOfRangeAreFoundInTheStructToo) {
  EngineConfig config;
  config.step_timeout_seconds = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(ValidateEngineConfig(config).code(), StatusCode::kInvalidArgument);
  config = EngineConfig();
  config.num_threads = -1;
  EXPECT_EQ(ValidateEngineConfig(config).message(), "num_threads: expected 0..1024, got \"-1\"");
}

TEST(EngineConfig, RowsOfAStepCoverTheSequences) {
  const EngineConfig config{.max_num_seqs = 64, .max_num_batched_tokens = 63};
  EXPECT_EQ(ValidateEngineConfig(config).message(),
            "max_num_batched_tokens: expected at least max_num_seqs (64), got 63");
}

TEST(EngineConfig, CacheSizeIsSaidOnce) {
  const EngineConfig config{.num_kv_blocks = 5, .kv_cache_bytes = 1000};
  EXPECT_EQ(ValidateEngineConfig(config).code(), StatusCode::kInvalidArgument);
}

TEST(ParseTokenIdList, ReadsRangesAndSingleIds) {
  EXPECT_EQ(*ParseTokenIdList("0..3,7,10..12", 13),
            (std::vector<int32_t>{0, 1, 2, 3, 7, 10, 11, 12}));
  EXPECT_TRUE(ParseTokenIdList("", 13)->empty());
}

TEST(ParseTokenIdList, RefusesEveryMalformedForm) {
  for (const char* text : {",", "1,", ",1", "1,,2", "2,1", "1,1", "1..0", "1..", "..2", "1...2",
                           "a", "-1", "1..x", " 1", "1 ", "0..99999999", "3,0..5", "1.5"}) {
    EXPECT_EQ(ParseTokenIdList(text, 2000000000).status().code(), StatusCode::kInvalidArgument)
        << text;
  }
}

TEST(ParseTokenIdList, RefusesIdsOutsideTheVocabulary) {
  EXPECT_EQ(ParseTokenIdList("3..7", 7).status().message(),
            "banned_token_ids: expected ids below the vocabulary's 7, got 7");
}

}  // namespace
}  // namespace deepinfer
