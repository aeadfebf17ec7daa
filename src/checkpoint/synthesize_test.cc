#include "checkpoint/synthesize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/faulty_file_system.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/temp_dir.h"
#include "checkpoint/checkpoint.h"
#include "tensor/float4.h"
#include "tensor/float8.h"

namespace deepinfer::checkpoint {
namespace {

// The fixture's config with engram tables and vocabulary as they are: 3 MB of weights.
std::string SmallConfig() {
  return *ReadFile(PosixFileSystem(), DI_SOURCE_DIR "/tests/fixtures/branches/config.json",
                   1 << 20);
}

class SynthesizeTest : public testing::Test {
 protected:
  Result<SynthesizeSummary> Run(std::string_view folder, const SynthesizeOptions& options) {
    return Synthesize(PosixFileSystem(), SmallConfig(), dir_ / folder, options);
  }
  // One digest over names, types and bytes of all tensors.
  std::string DigestOf(std::string_view folder) {
    const Checkpoint checkpoint = *Checkpoint::Open(PosixFileSystem(), dir_ / folder);
    Sha256 hash;
    for (const Checkpoint::Entry& entry : checkpoint.entries()) {
      const SafetensorsFile& shard = checkpoint.shards()[entry.shard_idx];
      const TensorInfo& info = shard.tensors()[entry.tensor_idx];
      hash.Update(info.name);
      hash.Update(info.ToString());
      hash.Update(shard.DataOf(info));
    }
    return HexOf(hash.Finish());
  }
  TempDir dir_;
};

TEST_F(SynthesizeTest, HasTheTensorsOfThePublishedCheckpoint) {
  uint64_t last_done = 0;
  uint64_t last_total = 0;
  const SynthesizeSummary summary = *Run("out", {.progress = [&](uint64_t done, uint64_t total) {
                                           EXPECT_GE(done, last_done);
                                           last_done = done;
                                           last_total = total;
                                         }});
  const Checkpoint made = *Checkpoint::Open(PosixFileSystem(), dir_ / "out");
  const Checkpoint published =
      *Checkpoint::Open(PosixFileSystem(), DI_SOURCE_DIR "/tests/fixtures/branches");
  ASSERT_EQ(made.entries().size(), published.entries().size());
  for (const Checkpoint::Entry& entry : published.entries()) {
    ASSERT_TRUE(made.Contains(entry.name)) << entry.name;
    EXPECT_EQ(made.Find(entry.name)->ToString(), published.Find(entry.name)->ToString());
  }
  EXPECT_EQ(summary.num_bytes, made.num_bytes());
  EXPECT_EQ(summary.num_tensors, static_cast<int64_t>(made.entries().size()));
  EXPECT_EQ(last_done, summary.num_bytes);
  EXPECT_EQ(last_total, summary.num_bytes);
  EXPECT_EQ(*ReadFile(PosixFileSystem(), dir_ / "out/config.json", 1 << 20), SmallConfig());
}

TEST_F(SynthesizeTest, DependsOnTheSeedAndNothingElse) {
  ASSERT_TRUE(Run("a", {.seed = 1, .num_threads = 1}).ok());
  ASSERT_TRUE(Run("b", {.seed = 1, .max_shard_bytes = 300'000, .num_threads = 5}).ok());
  ASSERT_TRUE(Run("c", {.seed = 2}).ok());
  EXPECT_EQ(DigestOf("a"), DigestOf("b"));
  EXPECT_NE(DigestOf("a"), DigestOf("c"));
}

TEST_F(SynthesizeTest, ValuesHaveTheStatedSpread) {
  ASSERT_TRUE(Run("out", {}).ok());
  const Checkpoint checkpoint = *Checkpoint::Open(PosixFileSystem(), dir_ / "out");
  // hidden_size 128: a projection has variance 1/128 after dequantisation.
  const TensorView codes = *checkpoint.Get("layers.0.attn.wq_a.weight", DType::kF8E4M3, {64, 128});
  const TensorView scales = *checkpoint.Get("layers.0.attn.wq_a.scale", DType::kUE8M0, {2, 4});
  double sum = 0;
  for (int64_t r = 0; r < 64; ++r) {
    for (int64_t c = 0; c < 128; ++c) {
      const float w = F8E4M3ToF32(codes.as<uint8_t>()[r * 128 + c]) *
                      UE8M0ToF32(scales.as<uint8_t>()[r / 32 * 4 + c / 32]);
      sum += double{w} * w;
    }
  }
  EXPECT_NEAR(sum / (64 * 128) * 128, 1, 0.1);
  const TensorView expert =
      *checkpoint.Get("layers.2.ffn.experts.3.w1.weight", DType::kF4E2M1, {64, 128});
  const TensorView expert_scales =
      *checkpoint.Get("layers.2.ffn.experts.3.w1.scale", DType::kUE8M0, {64, 4});
  sum = 0;
  for (int64_t i = 0; i < 64 * 128; ++i) {
    const float w = F4E2M1ToF32(F4CodeAt(expert.as<uint8_t>(), i)) *
                    UE8M0ToF32(expert_scales.as<uint8_t>()[i / 32]);
    sum += double{w} * w;
  }
  EXPECT_NEAR(sum / (64 * 128) * 128, 1, 0.1);
  // comb leans to the identity: entries 8.. of 24 are a 4x4 matrix.
  const float* base = checkpoint.Get("layers.0.hc_attn_base", DType::kF32, {24})->as<float>();
  double diagonal = 0;
  double rest = 0;
  for (int32_t j = 0; j < 16; ++j) (j / 4 == j % 4 ? diagonal : rest) += base[8 + j];
  EXPECT_NEAR(diagonal / 4, 3, 1);
  EXPECT_NEAR(rest / 12, 0, 0.6);
  for (int32_t j = 0; j < 3; ++j) {
    const float s = checkpoint.Get("layers.0.hc_attn_scale", DType::kF32, {3})->as<float>()[j];
    EXPECT_GT(s, 0.3f);
    EXPECT_LT(s, 1.5f);
  }
}

TEST(FillNormal, IsNormalAndAddressable) {
  std::vector<float> whole(100'000);
  FillNormal(3, 7, 0, whole);
  double mean = 0;
  double square = 0;
  int32_t beyond_two = 0;
  for (const float x : whole) {
    mean += x;
    square += double{x} * x;
    if (std::abs(x) > 2) ++beyond_two;
  }
  EXPECT_NEAR(mean / 1e5, 0, 0.02);
  EXPECT_NEAR(square / 1e5, 1, 0.03);
  EXPECT_NEAR(beyond_two / 1e5, 0.0455, 0.004);
  std::vector<float> part(1'003);
  FillNormal(3, 7, 12'345, part);
  for (size_t i = 0; i < part.size(); ++i) ASSERT_EQ(part[i], whole[12'345 + i]);
}

TEST_F(SynthesizeTest, FailuresLeaveNoCheckpoint) {
  FaultyFileSystem faulty(PosixFileSystem());
  faulty.FailNth(FileOp::kWrite, 40, ResourceExhausted("disk full"));
  EXPECT_EQ(Synthesize(faulty, SmallConfig(), dir_ / "out", {}).status().message(), "disk full");
  EXPECT_TRUE(PosixFileSystem().List(dir_ / "out")->empty());
  faulty.SetRoomBytes(1'000);
  EXPECT_EQ(Synthesize(faulty, SmallConfig(), dir_ / "out", {}).status().code(),
            StatusCode::kResourceExhausted);
}

TEST_F(SynthesizeTest, VisionConfigIsRefusedByName) {
  json::Value config = *json::Parse(SmallConfig());
  config.Set("vision_config", json::Value::Object({{"patch_size", 14}}));
  EXPECT_EQ(Synthesize(PosixFileSystem(), json::Write(config), dir_ / "out", {}).status().code(),
            StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace deepinfer::checkpoint
