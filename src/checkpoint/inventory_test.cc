#include "checkpoint/inventory.h"

#include <gtest/gtest.h>

#include <map>

#include "base/file_system.h"
#include "checkpoint/checkpoint.h"

namespace deepinfer::checkpoint {
namespace {

json::Value ConfigOf(const std::string& folder) {
  return *json::Parse(*ReadFile(PosixFileSystem(), folder + "/config.json", 1 << 20));
}

std::map<std::string, std::string> TensorsOf(const std::vector<Weight>& weights) {
  std::map<std::string, std::string> out;
  const auto add = [&](const TensorSpec& spec) {
    EXPECT_TRUE(
        out.emplace(spec.name, TensorInfo{spec.name, spec.dtype, spec.shape}.ToString()).second)
        << spec.name;
  };
  for (const Weight& weight : weights) {
    add(weight.Codes());
    if (weight.is_pair()) add(weight.Scales());
  }
  return out;
}

// Both checkpoints in the repository were made by others.
class InventoryTest : public testing::TestWithParam<const char*> {};

TEST_P(InventoryTest, EqualsThePublishedTensors) {
  const std::string folder = std::string(DI_SOURCE_DIR "/") + GetParam();
  std::map<std::string, std::string> expected;
  const Checkpoint checkpoint = *Checkpoint::Open(PosixFileSystem(), folder);
  for (const Checkpoint::Entry& entry : checkpoint.entries()) {
    expected[entry.name] = checkpoint.Find(entry.name)->ToString();
  }
  EXPECT_EQ(TensorsOf(*TextInventory(ConfigOf(folder))), expected);
}

INSTANTIATE_TEST_SUITE_P(Repository, InventoryTest,
                         testing::Values("models/DeepSeek-V4.1-Tiny", "tests/fixtures/branches"));

// The released dimensions: 96,085 published tensors less 263 of the vision tower and 3 image vectors.
TEST(Inventory, ReleasedCountAndBytes) {
  const std::string ratios =
      "[0,0,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,"
      "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,0,0,0]";
  const json::Value config = *json::Parse(
      R"({"text_config":{"vocab_size":129280,"hidden_size":5120,"num_hidden_layers":40,
          "num_attention_heads":64,"head_dim":512,"q_lora_rank":1280,
          "kv_source_layer_ids":[2,8,14,20],"index_source_layer_ids":[2,8,14,20,24,28,32,36],
          "engram_layer_ids":[1,14],"engram_num_embeddings":[384006168,384016682],
          "num_nextn_predict_layers":3,"dspark_target_layer_ids":[37,38,39],"compress_ratios":)" +
      ratios + "}}");
  const std::vector<Weight> weights = *TextInventory(config);
  EXPECT_EQ(TensorsOf(weights).size(), 95'819u);
  uint64_t num_bytes = 0;
  for (const Weight& weight : weights) {
    num_bytes += *BytesOf(weight.Codes());
    if (weight.is_pair()) num_bytes += *BytesOf(weight.Scales());
  }
  // The release has 510,286,023,000 bytes; its vision tower is the difference.
  EXPECT_GT(num_bytes, 508'000'000'000u);
  EXPECT_LT(num_bytes, 510'286'023'000u);
}

TEST(Inventory, RefusalsNameTheKey) {
  const auto refusal = [](std::string_view key, const json::Value& value) {
    json::Value config = ConfigOf(DI_SOURCE_DIR "/models/DeepSeek-V4.1-Tiny");
    config.Find("text_config")->Set(std::string(key), value);
    return TextInventory(config).status().message();
  };
  EXPECT_EQ(refusal("hidden_size", 0), "text_config.hidden_size: expected 1..2147483648, got 0");
  EXPECT_EQ(refusal("head_dim", "x"), "text_config.head_dim: expected an integer, got \"x\"");
  EXPECT_EQ(refusal("kv_source_layer_ids", *json::Parse("[12]")),
            "text_config: kv_source_layer_ids: expected values of 0..11, got 12");
  EXPECT_NE(refusal("compress_ratios", *json::Parse("[0]")), "");
  EXPECT_NE(refusal("engram_num_embeddings", *json::Parse("[1]")), "");
  EXPECT_NE(refusal("o_groups", 7), "");
  EXPECT_NE(refusal("moe_intermediate_size", 100), "");
  EXPECT_NE(refusal("dspark_target_layer_ids", json::Value::Array()), "");
  EXPECT_NE(TextInventory(json::Value::Object()).status().message(), "");
}

TEST(Inventory, HugeConfigsAreRefusedBeforeTheyAreBuilt) {
  json::Value config = ConfigOf(DI_SOURCE_DIR "/models/DeepSeek-V4.1-Tiny");
  json::Value* text = config.Find("text_config");
  text->Set("n_routed_experts", 65'536);
  text->Set("num_hidden_layers", 10'000);
  json::Value ratios = json::Value::Array();
  for (int32_t i = 0; i < 10'000; ++i) ratios.Append(0);
  text->Set("compress_ratios", ratios);
  EXPECT_NE(TextInventory(config).status().message().find("expected at most 10000000 weights"),
            std::string::npos);
}

}  // namespace
}  // namespace deepinfer::checkpoint
