#include "model/cache_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "model/test_configs.h"

namespace deepinfer::model {
namespace {

using testing::ReleasedConfig;

TEST(CacheLayout, ReleasedBlockHolds890BytesAToken) {
  const CacheLayout layout(ReleasedConfig(), 6);
  EXPECT_EQ(layout.block_payload_bytes(), 128 * 890);
  EXPECT_EQ(layout.block_bytes(), 114048);
  // At most 0.2 % padding.
  EXPECT_LE(layout.block_bytes() * 1000, layout.block_payload_bytes() * 1002);
}

TEST(CacheLayout, ReleasedSectionsInLayerOrder) {
  const CacheLayout layout(ReleasedConfig(), 6);
  const ModelCaches caches;
  EXPECT_EQ(layout.IndexKeys(caches, 2).offset, 0);
  EXPECT_EQ(layout.MainRecords(caches, 2).offset, 64 * 68);
  EXPECT_EQ(layout.IndexKeys(caches, 8).offset, 64 * (68 + 288));
  EXPECT_EQ(layout.MainRecords(caches, 20).offset, 3 * 64 * (68 + 288) + 128 * 68);
  EXPECT_EQ(layout.MainRecords(caches, 2).entries_per_block, 64);
  EXPECT_EQ(layout.MainRecords(caches, 20).entries_per_block, 128);
}

TEST(CacheLayout, ReleasedSlotSizes) {
  const int64_t windows_0 = 2703360, windows_6 = 2830080;  // model.md 15.2
  const int64_t groups_0 = 24576, groups_6 = 3 * 7 * 4096;
  const CacheLayout without(ReleasedConfig(), 0);
  const CacheLayout with(ReleasedConfig(), 6);
  // Beside those only the engram history and padding to cache lines.
  EXPECT_GE(without.slot_bytes(), windows_0 + groups_0 + 3 * 4);
  EXPECT_LE(without.slot_bytes(), windows_0 + groups_0 + 45 * 64 + 128);
  EXPECT_GE(with.slot_bytes(), windows_6 + groups_6 + 9 * 4);
  EXPECT_LE(with.slot_bytes(), windows_6 + groups_6 + 45 * 64 + 128);
}

TEST(CacheLayout, RingLengthsCoverTheRollback) {
  const ModelCaches caches;
  for (const int32_t rollback : {0, 1, 6}) {
    const CacheLayout layout(ReleasedConfig(), rollback);
    EXPECT_EQ(layout.WindowRing(caches, 0).ring_len, 128 + rollback);
    EXPECT_EQ(layout.GroupRing(caches, 2).ring_len, 2 + std::max(0, rollback - 1));
    // Of the last `rollback` positions all may go; the hash then needs the 3 before them.
    EXPECT_EQ(layout.EngramHistory(caches).ring_len, 3 + rollback);
  }
}

struct Range {
  int64_t begin, end;
};

void ExpectDisjoint(std::vector<Range> ranges, int64_t limit) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  for (size_t i = 0; i < ranges.size(); ++i) {
    EXPECT_LE(ranges[i].end, i + 1 < ranges.size() ? ranges[i + 1].begin : limit) << i;
  }
}

TEST(CacheLayout, NothingOverlaps) {
  const ModelConfig config = *ParseModelConfig(testing::BranchesConfigText());
  const CacheLayout layout(config, 6);
  const ModelCaches caches;
  std::vector<Range> slot, block;
  for (int32_t l = 0; l < config.num_hidden_layers; ++l) {
    const ops::RingView ring = layout.WindowRing(caches, l);
    EXPECT_EQ(ring.offset % 64, 0);
    slot.push_back({ring.offset, ring.offset + ring.ring_len * 66});  // 64 codes and 2 scales
    if (!config.is_kv_source(l)) continue;
    const ops::PagedRecords keys = layout.IndexKeys(caches, l);
    const ops::PagedRecords main = layout.MainRecords(caches, l);
    EXPECT_EQ(keys.offset % 32, 0);
    EXPECT_EQ(main.offset % 32, 0);
    block.push_back({keys.offset, keys.offset + keys.entries_per_block * 17});
    block.push_back({main.offset, main.offset + main.entries_per_block * 36});
    if (config.ratio(l) == 1) continue;
    const ops::RingView group = layout.GroupRing(caches, l);
    slot.push_back({group.offset, group.offset + group.ring_len * 2 * 64 * 4});
  }
  const ops::RingView history = layout.EngramHistory(caches);
  slot.push_back({history.offset, history.offset + history.ring_len * 4});
  ExpectDisjoint(slot, layout.slot_bytes());
  ExpectDisjoint(block, layout.block_bytes());
  EXPECT_EQ(layout.block_bytes() % 128, 0);
  EXPECT_EQ(layout.slot_bytes() % 128, 0);
}

TEST(CacheLayout, Fp8MainRecords) {
  ModelConfig config = ReleasedConfig();
  config.use_fp4_sparse_kv = false;
  const CacheLayout layout(config, 6);
  EXPECT_EQ(layout.format(), ops::KvFormat::kFp8);
  EXPECT_EQ(layout.block_payload_bytes(), 128 * (3 * (528 + 68) / 2 + 528 + 68));
}

TEST(CacheLayout, IndexKeysOnlyWhereTheyAreMade) {
  ModelConfig config = ReleasedConfig();
  config.kv_source_layer_ids = {2, 8, 14, 20, 30};
  config.index_source_layer_ids = {2, 8, 14, 20, 24, 28, 30, 32, 36};
  ASSERT_TRUE(ValidateModelConfig(config).ok()) << ValidateModelConfig(config).ToString();
  const CacheLayout layout(config, 6);
  EXPECT_EQ(layout.block_payload_bytes(), 128 * (890 + 288));
}

TEST(CacheLayout, ModelWithoutCompressionHasEmptyBlocks) {
  ModelConfig config = ReleasedConfig();
  config.compress_ratios.assign(40, 0);
  config.kv_source_layer_ids = config.index_k_source_layer_ids = {};
  config.index_source_layer_ids = {};
  config.candidate_source_layer_id = -1;
  config.engram_layer_ids = {};
  config.engram_num_embeddings = {};
  ASSERT_TRUE(ValidateModelConfig(config).ok()) << ValidateModelConfig(config).ToString();
  const CacheLayout layout(config, 6);
  EXPECT_EQ(layout.block_bytes(), 0);
  EXPECT_GT(layout.slot_bytes(), 0);
}

TEST(CacheLayout, BlocksOfASequence) {
  EXPECT_EQ(CacheLayout::NumBlocks(0), 0);
  EXPECT_EQ(CacheLayout::NumBlocks(1), 1);
  EXPECT_EQ(CacheLayout::NumBlocks(128), 1);
  EXPECT_EQ(CacheLayout::NumBlocks(129), 2);
  EXPECT_EQ(CacheLayout::NumBlocks(1048576), 8192);
}

}  // namespace
}  // namespace deepinfer::model
