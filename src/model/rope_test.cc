#include "model/rope.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace deepinfer::model {
namespace {

ModelConfig Released() {
  ModelConfig config;
  config.qk_rope_head_dim = 64;
  config.rope_theta = 10000;
  config.compress_rope_theta = 160000;
  config.rope_scaling = RopeScaling{
      .factor = 16, .beta_fast = 32, .beta_slow = 1, .original_max_position_embeddings = 65536};
  return config;
}

constexpr uint32_t kMain[32] = {
    0x3f800000, 0x3f3ff911, 0x3f0ff59a, 0x3ed7e89b, 0x3ea1e89b, 0x3e72d423, 0x3e361887, 0x3e088d77,
    0x3dcccccd, 0x3d99940d, 0x3d6655c2, 0x3d2cba15, 0x3d0186e3, 0x3cc2434f, 0x3c91ad39, 0x3c5a7bf2,
    0x3c23d70a, 0x3bf5b9b0, 0x3bb8449c, 0x3b8a2e77, 0x3b4f3e38, 0x3b1b690d, 0x3ae91528, 0x3aaec98e,
    0x3a83126f, 0x3a44948c, 0x3a136a16, 0x39dd1725, 0x39a5cb60, 0x3978a815, 0x393a7753, 0x390bd472};
constexpr uint32_t kCompress[32] = {
    0x3f800000, 0x3f300a3a, 0x3ef21c1f, 0x3ea67d01, 0x3e64f92e, 0x3e1d7475, 0x3dd88cb4, 0x3d94e963,
    0x3d4ccccd, 0x3d0cd4fb, 0x3cc1b019, 0x3c8530ce, 0x3c372dbf, 0x3bfbed88, 0x3bad3d5e, 0x3b6e4237,
    0x3b147ae1, 0x3ab714e0, 0x3a5ebdb6, 0x3a0530ce, 0x399bb3af, 0x39305978, 0x38be904d, 0x383e9b5f,
    0x37a3d70c, 0x36b443d0, 0x3677eba6, 0x362a7be8, 0x35ea77ff, 0x35a13bdc, 0x355dbf30, 0x35187c4d};

TEST(Rope, TablesHaveThePublishedBits) {
  const RopeTables tables = MakeRopeTables(Released());
  ASSERT_EQ(tables.main.size(), 32u);
  ASSERT_EQ(tables.compress.size(), 32u);
  for (int32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(std::bit_cast<uint32_t>(tables.main[i]), kMain[i]) << "main " << i;
    EXPECT_EQ(std::bit_cast<uint32_t>(tables.compress[i]), kCompress[i]) << "compress " << i;
  }
}

TEST(Rope, NoScalingLeavesThePlainCompressTable) {
  ModelConfig config = Released();
  config.rope_scaling.reset();
  const RopeTables tables = MakeRopeTables(config);
  for (int32_t i = 0; i < 32; ++i) {
    EXPECT_FLOAT_EQ(tables.compress[i], static_cast<float>(std::pow(160000.0, -2.0 * i / 64)));
  }
  // Pairs below the ramp are untouched by YaRN, pairs above it are 16 times slower.
  const RopeTables scaled = MakeRopeTables(Released());
  EXPECT_EQ(scaled.compress[15], tables.compress[15]);
  EXPECT_EQ(scaled.compress[31], tables.compress[31] / 16);
}

TEST(Rope, MainTableIgnoresScaling) {
  ModelConfig config = Released();
  config.rope_scaling->factor = 4;
  EXPECT_EQ(MakeRopeTables(config).main, MakeRopeTables(Released()).main);
}

TEST(Rope, DegenerateRampIsFinite) {
  ModelConfig config = Released();
  config.rope_scaling->original_max_position_embeddings = 1;  // every correction is negative
  for (const float f : MakeRopeTables(config).compress) EXPECT_TRUE(std::isfinite(f));
}

}  // namespace
}  // namespace deepinfer::model
