#include "model/model_report.h"

#include <gtest/gtest.h>

#include <string>

#include "base/file_system.h"
#include "base/temp_dir.h"
#include "model/test_checkpoints.h"
#include "model/test_configs.h"

namespace deepinfer::model {
namespace {

TEST(ModelReport, CountsTheFixture) {
  const ModelConfig config = *ParseModelConfig(testing::BranchesConfigText());
  const auto checkpoint = checkpoint::Checkpoint::Open(
      PosixFileSystem(), std::string(DI_SOURCE_DIR) + "/tests/fixtures/branches");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().ToString();
  const auto report = MakeModelReport(*checkpoint, config, {});
  ASSERT_TRUE(report.ok()) << report.status().ToString();

  EXPECT_EQ(Total(report->all).num_bytes, static_cast<int64_t>(checkpoint->num_bytes()));
  EXPECT_EQ(Total(report->all).num_tensors, static_cast<int64_t>(checkpoint->entries().size()));
  EXPECT_EQ(report->globals.at("bf16").num_parameters, 2 * 512 * 128 + 128);
  EXPECT_GT(Total(report->draft).num_parameters, 0);
  EXPECT_TRUE(report->vision.empty());
  EXPECT_TRUE(report->other.empty());

  const LayerReport& plain = report->layers[0];
  EXPECT_EQ(plain.compress_ratio, 0);
  EXPECT_EQ(plain.kv_source, -1);
  // 8 experts of three matrices of 128 x 64.
  EXPECT_EQ(plain.amounts.at("f4e2m1").num_parameters, 8 * 3 * 128 * 64);
  EXPECT_EQ(plain.amounts.at("f4e2m1").num_bytes, 8 * 3 * 128 * 64 / 2);
  EXPECT_EQ(plain.amounts.at("ue8m0").num_parameters, 0);
  EXPECT_TRUE(report->layers[1].has_engram);
  EXPECT_TRUE(report->layers[6].publishes_candidates);
  EXPECT_TRUE(report->layers[6].owns_index_keys);
  EXPECT_EQ(report->layers[9].index_source, 8);
  EXPECT_EQ(report->layers[9].kv_source, 6);
  EXPECT_TRUE(report->layers[8].uses_candidates);
  EXPECT_LT(report->num_active_parameters, report->num_backbone_parameters);
}

TEST(ModelReport, ReleasedFigures) {
  const ModelConfig config = testing::ReleasedConfig();
  const TempDir folder;
  const Status written = testing::WriteHollow(folder.path(), testing::Inventory(config).tensors());
  if (!written.ok()) GTEST_SKIP() << "no room for a file with a large hole: " << written.ToString();
  const auto checkpoint = checkpoint::Checkpoint::Open(PosixFileSystem(), folder.path());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().ToString();
  const auto report = MakeModelReport(*checkpoint, config, {});
  ASSERT_TRUE(report.ok()) << report.status().ToString();

  EXPECT_EQ(report->kv_bytes_per_token, 890);
  // A million tokens: 890 MiB and the padding of blocks.
  const MemoryNeeded million = MemoryFor(*report, 1, 1048576);
  EXPECT_EQ(million.block_bytes, 8192 * int64_t{114048});
  EXPECT_EQ(million.state_bytes, report->state_slot_bytes);
  EXPECT_EQ(MemoryFor(*report, 3, 129).block_bytes, 3 * 2 * int64_t{114048});
  EXPECT_EQ(million.total_bytes(), million.weight_bytes + million.block_bytes +
                                       million.state_bytes + million.workspace_bytes);
  // Experts: 40 layers, 384 + 1 of 3 matrices; tables: 768 million rows of 256.
  EXPECT_EQ(report->layers[5].amounts.at("f4e2m1").num_parameters, int64_t{384} * 3 * 5120 * 2304);
  EXPECT_GT(report->num_backbone_parameters, int64_t{700'000'000'000});
  EXPECT_LT(report->num_active_parameters, int64_t{30'000'000'000});
}

TEST(ModelReport, RefusesOptionsThatDoNotFit) {
  const ModelConfig config = *ParseModelConfig(testing::BranchesConfigText());
  const auto checkpoint = checkpoint::Checkpoint::Open(
      PosixFileSystem(), std::string(DI_SOURCE_DIR) + "/tests/fixtures/branches");
  ASSERT_TRUE(checkpoint.ok());
  EXPECT_EQ(MakeModelReport(*checkpoint, config, {.max_model_len = 1 << 20}).status().code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace deepinfer::model
