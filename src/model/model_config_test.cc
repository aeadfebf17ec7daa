#include "model/model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/test_configs.h"

namespace deepinfer::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

// The branches config after an edit.
Result<ModelConfig> ParseEdited(const std::function<void(Json& root, Json& text)>& edit) {
  Json root = Json::parse(testing::BranchesConfigText());
  edit(root, root["text_config"]);
  return ParseModelConfig(root.dump());
}

void DropDraftRatios(Json& text) {
  for (int32_t i = 0; i < 3; ++i) text["compress_ratios"].erase(text["compress_ratios"].size() - 1);
}

TEST(ModelConfig, ReadsTheFixture) {
  const Result<ModelConfig> parsed = ParseModelConfig(testing::BranchesConfigText());
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  const ModelConfig& c = *parsed;
  EXPECT_EQ(c.bos_token_id, 0);
  EXPECT_THAT(c.eos_token_id, ElementsAre(1));
  EXPECT_EQ(c.image_token_id, 458);
  EXPECT_EQ(c.vocab_size, 512);
  EXPECT_EQ(c.hidden_size, 128);
  EXPECT_EQ(c.num_hidden_layers, 12);
  EXPECT_EQ(c.rms_norm_eps, 1e-20f);
  EXPECT_EQ(c.compress_ratios.size(), 12u);  // the entries of the draft layers are cut off
  EXPECT_THAT(c.index_k_source_layer_ids, ElementsAre(2, 4, 6));
  EXPECT_EQ(c.candidate_source_layer_id, 6);
  EXPECT_EQ(c.gate_temp, 1.0f);
  EXPECT_TRUE(c.use_fp4_sparse_kv);
  EXPECT_THAT(c.engram_num_embeddings, ElementsAre(462, 630));
  ASSERT_TRUE(c.rope_scaling.has_value());
  EXPECT_EQ(c.rope_scaling->factor, 16);
  EXPECT_EQ(c.num_nextn_predict_layers, 3);
  EXPECT_THAT(c.dspark_target_layer_ids, ElementsAre(9, 10, 11));
  EXPECT_FALSE(c.vision_config.has_value());
  EXPECT_EQ(c.engram_rows_per_token(), 6);
  EXPECT_EQ(c.shared_intermediate_size(), 64);
}

TEST(ModelConfig, ReadsTheTinyModel) {
  const Result<ModelConfig> parsed =
      ParseModelConfig(testing::ReadSourceFile("models/DeepSeek-V4.1-Tiny/config.json"));
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_EQ(parsed->vocab_size, 4096);
  EXPECT_EQ(parsed->engram_compressed_vocab_size, 3298);
}

TEST(ModelConfig, ReleasedScheduleOfLayers) {
  const ModelConfig c = testing::ReleasedConfig();
  ASSERT_TRUE(ValidateModelConfig(c).ok()) << ValidateModelConfig(c).ToString();
  // The table of model.md 1.3.
  for (int32_t l = 0; l < 40; ++l) {
    SCOPED_TRACE(l);
    const int32_t kv = l < 2 ? -1 : l < 8 ? 2 : l < 14 ? 8 : l < 20 ? 14 : 20;
    const int32_t index = l < 24 ? kv : l / 4 * 4;
    EXPECT_EQ(c.kv_source(l), kv);
    EXPECT_EQ(c.index_source(l), index);
    EXPECT_EQ(c.index_k_source(l), kv);
    EXPECT_EQ(c.is_kv_source(l), l >= 2 && l == kv);
    EXPECT_EQ(c.is_index_source(l), l >= 2 && l == index);
    EXPECT_EQ(c.uses_candidates(l), l == 24 || l == 28 || l == 32 || l == 36);
  }
  EXPECT_EQ(c.boundary_layer(), 20);
  EXPECT_EQ(c.engram_idx(1), 0);
  EXPECT_EQ(c.engram_idx(14), 1);
  EXPECT_EQ(c.engram_idx(2), -1);
}

TEST(ModelConfig, AcceptsSpellingsInUse) {
  struct Case {
    const char* name;
    std::function<void(Json&, Json&)> edit;
    std::function<bool(const ModelConfig&)> holds;
  };
  const Case cases[] = {
      {"eos may be a list",
       [](Json& r, Json&) {
         r["eos_token_id"] = {1, 5};
       },
       [](const ModelConfig& c) {
         return c.eos_token_id == std::vector<int32_t>{1, 5};
       }},
      {"type for rope_type",
       [](Json&, Json& t) {
         t["rope_scaling"].erase("rope_type");
         t["rope_scaling"]["type"] = "yarn";
       },
       [](const ModelConfig& c) { return c.rope_scaling.has_value(); }},
      {"no rope_scaling", [](Json&, Json& t) { t["rope_scaling"] = nullptr; },
       [](const ModelConfig& c) { return !c.rope_scaling.has_value(); }},
      {"ratios without draft entries", [](Json&, Json& t) { DropDraftRatios(t); },
       [](const ModelConfig& c) { return c.compress_ratios.size() == 12; }},
      {"candidate source absent: last kv source",
       [](Json&, Json& t) { t.erase("candidate_source_layer_id"); },
       [](const ModelConfig& c) { return c.candidate_source_layer_id == 6; }},
      {"candidate source null: off",
       [](Json&, Json& t) { t["candidate_source_layer_id"] = nullptr; },
       [](const ModelConfig& c) {
         return c.candidate_source_layer_id == -1 && !c.uses_candidates(8);
       }},
      {"candidate source negative: off",
       [](Json&, Json& t) { t["candidate_source_layer_id"] = -3; },
       [](const ModelConfig& c) { return c.candidate_source_layer_id == -1; }},
      {"index_k sources of their own",
       [](Json&, Json& t) {
         t["index_k_source_layer_ids"] = {2, 6};
       },
       [](const ModelConfig& c) { return c.index_k_source(4) == 2 && !c.owns_index_k(4); }},
      {"the other key of the pad id is ignored", [](Json&, Json& t) { t["engram_pad_id"] = 77; },
       [](const ModelConfig& c) { return c.engram_pad_token_id == 2; }},
      {"no engram",
       [](Json&, Json& t) {
         t["engram_layer_ids"] = Json::array();
         t["engram_num_embeddings"] = Json::array();
       },
       [](const ModelConfig& c) { return c.engram_layer_ids.empty(); }},
      {"saturated selection",
       [](Json&, Json& t) { t["index_topk"] = t["candidate_topk_blocks"] = 4096; },
       [](const ModelConfig& c) { return c.index_topk == 4096; }},
      {"no clamp", [](Json&, Json& t) { t["swiglu_limit"] = 0; },
       [](const ModelConfig& c) { return c.swiglu_limit == 0; }},
      {"unknown keys", [](Json& r, Json& t) { r["transformers_version"] = t["x"] = "5"; },
       [](const ModelConfig&) { return true; }},
      {"other two streams", [](Json&, Json& t) { t["hc_mult"] = 2; },
       [](const ModelConfig& c) { return c.hc_mult == 2; }},
      {"no draft layers",
       [](Json&, Json& t) {
         for (const char* key : {"num_nextn_predict_layers", "dspark_block_size"}) t.erase(key);
         DropDraftRatios(t);
       },
       [](const ModelConfig& c) { return c.num_nextn_predict_layers == 0; }},
  };
  for (const Case& c : cases) {
    const Result<ModelConfig> parsed = ParseEdited(c.edit);
    ASSERT_TRUE(parsed.ok()) << c.name << ": " << parsed.status().ToString();
    EXPECT_TRUE(c.holds(*parsed)) << c.name;
  }
}

TEST(ModelConfig, RefusesWithKeyValueAndExpectation) {
  struct Case {
    std::function<void(Json&, Json&)> edit;
    std::vector<std::string> message;  // pieces that it must have
  };
  const auto set = [](const char* key, Json value) {
    return [key, value](Json&, Json& t) { t[key] = value; };
  };
  const auto set_top = [](const char* key, Json value) {
    return [key, value](Json& r, Json&) { r[key] = value; };
  };
  const auto set_quant = [](const char* key, Json value) {
    return [key, value](Json& r, Json&) { r["quantization_config"][key] = value; };
  };
  const std::vector<Case> cases = {
      // 1.1
      {set_top("architectures", {"DeepseekV4ForCausalLM"}), {"architectures", "DeepseekV41"}},
      {set_top("architectures", {"DeepseekV41ForCausalLM", "X"}), {"architectures", "2"}},
      {set_top("model_type", "deepseek_v4"), {"model_type", "deepseek_v41", "deepseek_v4\""}},
      {set_top("dtype", "float16"), {"dtype", "bfloat16", "float16"}},
      {[](Json& r, Json&) { r.erase("dtype"); }, {"dtype"}},
      {[](Json& r, Json&) { r.erase("bos_token_id"); }, {"bos_token_id"}},
      {set_top("eos_token_id", Json::array()), {"eos_token_id"}},
      {set_top("eos_token_id", 512), {"eos_token_id", "0..511", "512"}},
      {set_top("pad_token_id", -1), {"pad_token_id", "-1"}},
      {set_top("image_token_id", 1000), {"image_token_id", "1000"}},
      {[](Json& r, Json&) { r.erase("quantization_config"); }, {"quantization_config"}},
      {set_quant("quant_method", "awq"), {"quantization_config.quant_method", "fp8", "awq"}},
      {set_quant("activation_scheme", "static"), {"activation_scheme", "dynamic", "static"}},
      {set_quant("weight_block_size", {128, 128}), {"weight_block_size", "[32, 32]"}},
      {set_quant("scale_fmt", "e4m3"), {"scale_fmt", "ue8m0"}},
      {set_quant("expert_dtype", "fp8"), {"expert_dtype", "fp4"}},
      {[](Json& r, Json&) { r.erase("text_config"); }, {"text_config"}},
      {set_top("text_config", 5), {"text_config", "object"}},
      // 1.2
      {set("model_type", "deepseek_v4_text"), {"text_config.model_type"}},
      {[](Json&, Json& t) { t.erase("hidden_size"); }, {"text_config", "hidden_size"}},
      {set("hidden_size", "128"), {"text_config.hidden_size", "integer", "\"128\""}},
      {set("hidden_size", 128.0), {"text_config.hidden_size", "integer"}},
      {set("hidden_size", 0), {"text_config.hidden_size", "0"}},
      {set("hidden_size", int64_t{1} << 40), {"text_config.hidden_size", "1099511627776"}},
      {set("hidden_size", 1 << 30), {"text_config.hidden_size", "1073741824"}},
      {set("num_hidden_layers", -1), {"compress_ratios"}},
      {set("num_key_value_heads", 2), {"num_key_value_heads", "expected 1, got 2"}},
      {set("attention_bias", true), {"attention_bias", "false", "true"}},
      {set("attention_dropout", 0.1), {"attention_dropout", "0.1"}},
      {set("hidden_act", "gelu"), {"hidden_act", "silu", "gelu"}},
      {set("scoring_func", "softmax"), {"scoring_func", "sqrtsoftplus", "softmax"}},
      {set("topk_method", "greedy"), {"topk_method", "noaux_tc"}},
      {set("norm_topk_prob", false), {"norm_topk_prob", "true"}},
      {set("hc_shifted", false), {"hc_shifted", "true"}},
      {set("tie_word_embeddings", true), {"tie_word_embeddings", "false"}},
      {set("rope_theta", 1), {"rope_theta", "> 1"}},
      {set("rms_norm_eps", -1e-6), {"rms_norm_eps", "> 0"}},
      {set("gate_temp", 0), {"gate_temp", "> 0"}},
      {set("swiglu_limit", 1e300), {"swiglu_limit"}},
      {[](Json&, Json& t) { t["rope_scaling"]["rope_type"] = "linear"; },
       {"rope_scaling.rope_type", "yarn", "linear"}},
      {[](Json&, Json& t) { t["rope_scaling"]["type"] = "linear"; }, {"rope_scaling.type", "yarn"}},
      {[](Json&, Json& t) { t["rope_scaling"]["factor"] = 0; }, {"rope_scaling.factor"}},
      {[](Json&, Json& t) { t["rope_scaling"].erase("factor"); }, {"rope_scaling", "factor"}},
      {set("max_position_embeddings", 1 << 30), {"max_position_embeddings"}},
      {set("compress_ratios", {0, 0, 2, 2, 2, 2, 1, 1, 1, 1, 1, 3}), {"compress_ratios[11]", "3"}},
      {set("compress_ratios", {0, 0, 2}), {"compress_ratios", "12", "15", "3"}},
      {set("compress_ratios", {0, 0, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 0, 0, 1}),
       {"compress_ratios", "draft layer 2"}},
      {set("n_shared_experts", 0), {"n_shared_experts"}},
      {set("num_experts_per_tok", 9), {"num_experts_per_tok", "1..8", "9"}},
      // 1.4
      {set("o_groups", 3), {"num_attention_heads", "multiple of 3", "4"}},
      {set("hidden_size", 144), {"hidden_size", "multiple of 32", "144"}},
      {set("moe_intermediate_size", 48), {"moe_intermediate_size", "multiple of 32"}},
      {set("q_lora_rank", 33), {"q_lora_rank", "multiple of 32"}},
      {set("head_dim", 80), {"head_dim", "multiple of 32", "80"}},
      {set("index_head_dim", 40), {"index_head_dim", "multiple of 32"}},
      {set("o_lora_rank", 8), {"o_groups * o_lora_rank", "multiple of 32", "16"}},
      {set("qk_rope_head_dim", 15), {"qk_rope_head_dim", "multiple of 2", "15"}},
      {set("qk_rope_head_dim", 66), {"qk_rope_head_dim", "2..64", "66"}},
      {set("qk_rope_head_dim", 34), {"qk_rope_head_dim", "index_head_dim (32)", "34"}},
      {set("kv_source_layer_ids", {4, 6}), {"kv_source_layer_ids", "layer 2"}},
      {set("kv_source_layer_ids", {2, 4}), {"kv_source_layer_ids", "ratio"}},
      {set("kv_source_layer_ids", {2, 4, 4, 6}), {"kv_source_layer_ids", "ascending"}},
      {set("kv_source_layer_ids", {2, 4, 99}), {"kv_source_layer_ids", "0..11", "99"}},
      {set("kv_source_layer_ids", {1, 2, 4, 6}), {"kv_source_layer_ids", "layer 1", "ratio 0"}},
      {set("index_source_layer_ids", {4, 6, 8, 10}), {"index_source_layer_ids", "layer 2"}},
      {set("index_source_layer_ids", {2, 6, 8, 10}), {"index_source_layer_ids", "same kv source"}},
      {set("index_k_source_layer_ids", {2, 4, 6, 8}), {"index_k_source_layer_ids", "layer 8"}},
      {set("index_k_source_layer_ids", {2, 4}), {"index_k_source_layer_ids", "ratio"}},
      {set("candidate_source_layer_id", 7), {"candidate_source_layer_id", "7"}},
      {set("candidate_source_layer_id", 2), {"candidate_source_layer_id", "layer 6"}},
      {set("candidate_source_layer_id", 500), {"candidate_source_layer_id", "500"}},
      {set("index_topk", 13), {"candidate_topk_blocks * candidate_block_size", "13", "12"}},
      {set("engram_num_embeddings", {462}), {"engram_num_embeddings", "2", "1"}},
      {set("engram_layer_ids", {1, 1}), {"engram_layer_ids", "distinct", "1"}},
      {set("engram_layer_ids", {1, 40}), {"engram_layer_ids", "40"}},
      {set("engram_head_dim", 20), {"engram_head_dim", "multiple of 32"}},
      {set("engram_max_ngram_size", 1), {"engram_max_ngram_size"}},
      {set("engram_vocab_size", int64_t{1} << 60), {"engram_vocab_size"}},
      {set("engram_compressed_vocab_size", 0), {"engram_compressed_vocab_size"}},
      {set("engram_pad_token_id", 512), {"engram_pad_token_id", "512"}},
      // Drafts and pictures: kept, and checked as far as a later user must be able to rely on it.
      {set("dspark_target_layer_ids", {12}), {"dspark_target_layer_ids", "12"}},
      {set("dspark_target_attn_input", false), {"dspark_target_attn_input", "true"}},
      {set_top("vision_config", {{"hidden_size", 64}}), {"vision_config", "num_hidden_layers"}},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    const Result<ModelConfig> parsed = ParseEdited(cases[i].edit);
    ASSERT_FALSE(parsed.ok()) << "case " << i << " expected " << cases[i].message[0];
    EXPECT_EQ(parsed.status().code(), StatusCode::kInvalidArgument);
    for (const std::string& piece : cases[i].message) {
      EXPECT_THAT(parsed.status().message(), HasSubstr(piece)) << "case " << i;
    }
  }
}

TEST(ModelConfig, RefusesSharingAcrossTheBoundary) {
  // Layer 6 is the first with ratio 1; if layer 5 were its source, keys would cross the halves.
  const Result<ModelConfig> parsed = ParseEdited([](Json&, Json& t) {
    t["compress_ratios"] = {0, 0, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1};
    t["kv_source_layer_ids"] = {2, 4, 7};
  });
  ASSERT_FALSE(parsed.ok());
  EXPECT_THAT(parsed.status().message(), HasSubstr("kv_source_layer_ids"));
}

TEST(ModelConfig, EveryTruncationIsRefused) {
  const std::string text = testing::BranchesConfigText();
  const size_t end = text.find_last_of('}');
  for (size_t n = 0; n < end; n += 7) {
    EXPECT_FALSE(ParseModelConfig(text.substr(0, n)).ok()) << n;
  }
}

TEST(ModelConfig, EveryKeyWithAWrongTypeIsRefusedOrIgnored) {
  const Json root = Json::parse(testing::BranchesConfigText());
  for (const Json& value : {Json("x"), Json(-1), Json(1e308), Json::array({1, 2}), Json::object(),
                            Json(true), Json(int64_t{1} << 62)}) {
    for (const auto& [key, old] : root["text_config"].items()) {
      Json edited = root;
      edited["text_config"][key] = value;
      const Result<ModelConfig> parsed = ParseModelConfig(edited.dump());
      if (parsed.ok()) {
        EXPECT_TRUE(ValidateModelConfig(*parsed).ok()) << key;
      } else {
        EXPECT_FALSE(parsed.status().message().empty()) << key;
      }
    }
  }
}

TEST(GenerationConfig, ReadsTheFixtureAndFallsBack) {
  const ModelConfig config = *ParseModelConfig(testing::BranchesConfigText());
  const auto read = ParseGenerationConfig(
      testing::ReadSourceFile("tests/fixtures/branches/generation_config.json"), config);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->top_p, 0.95);
  EXPECT_THAT(read->eos_token_id, ElementsAre(1));
  EXPECT_FALSE(read->top_k.has_value());

  const auto missing = ParseGenerationConfig("", config);
  ASSERT_TRUE(missing.ok());
  EXPECT_TRUE(missing->do_sample);
  EXPECT_EQ(missing->temperature, 1.0);
  EXPECT_EQ(missing->top_p, 1.0);
  EXPECT_THAT(missing->eos_token_id, ElementsAre(1));

  const auto partial = ParseGenerationConfig(R"({"eos_token_id": [1, 7], "top_k": 40})", config);
  ASSERT_TRUE(partial.ok());
  EXPECT_THAT(partial->eos_token_id, ElementsAre(1, 7));
  EXPECT_EQ(partial->top_k, 40);
  EXPECT_FALSE(ParseGenerationConfig(R"({"top_k": 0})", config)->top_k.has_value());
}

TEST(GenerationConfig, RefusesBadValues) {
  const ModelConfig config = *ParseModelConfig(testing::BranchesConfigText());
  for (const char* text :
       {R"({"temperature": -1})", R"({"top_p": 0})", R"({"top_p": 1.5})", R"({"top_k": -2})",
        R"({"eos_token_id": 512})", R"({"eos_token_id": []})", R"({"do_sample": 1})", "[]", "{"}) {
    EXPECT_EQ(ParseGenerationConfig(text, config).status().code(), StatusCode::kInvalidArgument)
        << text;
  }
}

}  // namespace
}  // namespace deepinfer::model
