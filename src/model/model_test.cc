#include "model/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backend/ref/ref_device.h"
#include "base/file_system.h"
#include "model/test_configs.h"

namespace deepinfer::model {
namespace {

using ::testing::HasSubstr;

class ModelLoad : public ::testing::Test {
 protected:
  ModelLoad()
      : config_(*ParseModelConfig(testing::BranchesConfigText())),
        checkpoint_(checkpoint::Checkpoint::Open(
                        PosixFileSystem(), std::string(DI_SOURCE_DIR) + "/tests/fixtures/branches")
                        .value()) {
    // Any map of the right size will do here; the tokenizer's is tested with the golden files.
    for (int32_t id = 0; id < 512; ++id) compressed_ids_.push_back(id % 440);
  }

  Result<std::unique_ptr<Model>> Load() {
    return Model::Load(checkpoint_, config_, compressed_ids_, *device_, options_);
  }
  void ExpectRefused(const std::string& piece) {
    const auto loaded = Load();
    ASSERT_FALSE(loaded.ok()) << piece;
    EXPECT_EQ(loaded.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(loaded.status().message(), HasSubstr(piece));
  }

  ModelConfig config_;
  checkpoint::Checkpoint checkpoint_;
  std::vector<int32_t> compressed_ids_;
  ModelOptions options_ = {.max_num_tokens = 16, .max_num_logit_rows = 4};
  std::unique_ptr<backend::Device> device_ = ref::CreateRefDevice();
};

TEST_F(ModelLoad, ResolvesTheLengthOfTheContext) {
  const auto model = Load();
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  EXPECT_EQ((*model)->options().max_model_len, 4096);
  EXPECT_GT((*model)->workspace_bytes(), 0);
  EXPECT_GT((*model)->cache_layout().slot_bytes(), 0);
  EXPECT_EQ((*model)->config().hidden_size, 128);
}

TEST_F(ModelLoad, RefusesOptionsOutOfRange) {
  options_.max_model_len = 4097;
  ExpectRefused("max_model_len: expected 1..4096, got 4097");
  options_ = {.max_num_tokens = 0};
  ExpectRefused("max_num_tokens");
  options_ = {.max_num_logit_rows = -1};
  ExpectRefused("max_num_logit_rows");
  options_ = {.max_rollback_tokens = -1};
  ExpectRefused("max_rollback_tokens");
}

TEST_F(ModelLoad, RefusesAnEngramMapOfAnotherSize) {
  for (int32_t& id : compressed_ids_) id %= 439;
  ExpectRefused("engram_compressed_vocab_size: expected 439 (derived from the tokenizer), got 440");
  compressed_ids_[3] = -1;
  ExpectRefused("expected ids >= 0, got -1");
  compressed_ids_.clear();
  ExpectRefused("engram_compressed_vocab_size: expected 0");
}

TEST_F(ModelLoad, RefusesAPadIdOutsideTheTokenizer) {
  compressed_ids_.resize(450);
  config_.engram_pad_token_id = 460;
  ExpectRefused("engram_pad_token_id");
}

TEST_F(ModelLoad, RefusesTablesThatTheHashDoesNotFit) {
  config_.engram_num_embeddings[1] = 631;
  ExpectRefused("engram_num_embeddings[1]: expected 630 (sum of the layer's primes), got 631");
}

TEST_F(ModelLoad, RefusesAConfigThatWasNotChecked) {
  config_.hidden_size = 100;
  ExpectRefused("hidden_size");
}

TEST_F(ModelLoad, NoRowsIsNoWork) {
  const auto model = Load();
  ASSERT_TRUE(model.ok());
  const auto stream = device_->CreateStream();
  const ModelOutput output = (*model)->Forward(*stream, ModelInput(), ModelCaches());
  EXPECT_EQ(output.logits.dim(0), 0);
}

}  // namespace
}  // namespace deepinfer::model
