#include "engine/sizing.h"

#include <gtest/gtest.h>

namespace deepinfer::engine {
namespace {

constexpr ModelFacts kFacts = {.max_position_embeddings = 16384,
                               .block_bytes = 1000,
                               .block_size = 128,
                               .device_memory_bytes = int64_t{8} << 30};

TEST(ComputeSizes, DefaultsHoldEverySequenceInFull) {
  const auto sizes = ComputeSizes({.max_num_seqs = 4}, kFacts);
  ASSERT_TRUE(sizes.ok());
  EXPECT_EQ(sizes->max_model_len, 16384);
  EXPECT_EQ(sizes->num_blocks, 4 * 128 + 1);
  EXPECT_EQ(sizes->num_state_slots, 1 + 4 + 1);
  EXPECT_FALSE(sizes->is_len_bounded_by_blocks);
}

TEST(ComputeSizes, MemoryBoundsTheDefaultLength) {
  ModelFacts facts = kFacts;
  facts.device_memory_bytes = 8 * 11 * 1000;
  const auto sizes = ComputeSizes({}, facts);
  ASSERT_TRUE(sizes.ok());
  EXPECT_EQ(sizes->num_blocks, 11);
  EXPECT_EQ(sizes->max_model_len, 1280);
  EXPECT_TRUE(sizes->is_len_bounded_by_blocks);
}

TEST(ComputeSizes, GivenBlocksAreUsable) {
  const auto sizes = ComputeSizes({.max_model_len = 256, .num_kv_blocks = 2}, kFacts);
  ASSERT_TRUE(sizes.ok());
  EXPECT_EQ(sizes->num_blocks, 3);
}

TEST(ComputeSizes, GivenBytesIncludeTheReservedBlock) {
  const auto sizes = ComputeSizes({.max_model_len = 128, .kv_cache_bytes = 5999}, kFacts);
  ASSERT_TRUE(sizes.ok());
  EXPECT_EQ(sizes->num_blocks, 5);
}

TEST(ComputeSizes, LengthBeyondTheCheckpointIsRefused) {
  EXPECT_EQ(ComputeSizes({.max_model_len = 16385}, kFacts).status().message(),
            "max_model_len: expected at most 16384 (the checkpoint's max_position_embeddings), "
            "got 16385");
}

TEST(ComputeSizes, LengthBeyondTheBlocksIsRefused) {
  EXPECT_EQ(ComputeSizes({.max_model_len = 1000, .num_kv_blocks = 7}, kFacts).status().message(),
            "max_model_len: expected at most 896 tokens with 7 cache blocks, got 1000");
}

TEST(ComputeSizes, NoRoomForABlockIsRefused) {
  EXPECT_EQ(ComputeSizes({.kv_cache_bytes = 1999}, kFacts).status().message(),
            "kv_cache_bytes: expected room for two blocks of 1000 bytes, got 1999");
}

TEST(ComputeSizes, ModelWithoutBlocksNeedsNoMemoryForThem) {
  ModelFacts facts = kFacts;
  facts.block_bytes = 0;
  facts.device_memory_bytes = 0;
  const auto sizes = ComputeSizes({.max_num_seqs = 2}, facts);
  ASSERT_TRUE(sizes.ok());
  EXPECT_EQ(sizes->num_blocks, 257);
}

TEST(ComputeSizes, LogitRowsCoverEverySequence) {
  for (const int32_t num_seqs : {1, 33, 64}) {
    const auto sizes =
        ComputeSizes({.max_num_seqs = num_seqs, .max_num_batched_tokens = 64}, kFacts);
    EXPECT_GE(sizes->max_num_logit_rows, num_seqs);
    EXPECT_LE(sizes->max_num_logit_rows, 64);
  }
}

}  // namespace
}  // namespace deepinfer::engine
