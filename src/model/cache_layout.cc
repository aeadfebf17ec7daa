#include "model/cache_layout.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace deepinfer::model {
namespace {

constexpr int64_t kSectionAlignment = 32;  // a section starts on a vector boundary
constexpr int64_t kRingAlignment = 64;     // a ring starts on a cache line
constexpr int64_t kBlockAlignment = 128;   // a block starts on a device memory line

constexpr int64_t RoundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

CacheLayout::CacheLayout(const ModelConfig& config, int32_t max_rollback_tokens)
    : layers_(config.num_hidden_layers),
      format_(config.use_fp4_sparse_kv ? ops::KvFormat::kFp4 : ops::KvFormat::kFp8) {
  DI_CHECK(max_rollback_tokens >= 0, "max_rollback_tokens=", max_rollback_tokens);
  PlaceBlock(config);
  PlaceSlot(config, max_rollback_tokens);
}

void CacheLayout::PlaceBlock(const ModelConfig& config) {
  const int64_t main_record_bytes = ops::MainRecordBytes(format_, config.head_dim);
  const int64_t key_bytes = ops::IndexKeyDataBytes(config.index_head_dim) +
                            ops::IndexKeyScaleBytes(config.index_head_dim);
  int64_t end = 0;
  for (const int32_t l : config.kv_source_layer_ids) {
    LayerOffsets& layer = layers_[l];
    layer.entries_per_block = ops::kBlockSize / config.ratio(l);
    if (config.owns_index_k(l)) {
      layer.index_keys = end;
      const int64_t section = layer.entries_per_block * key_bytes;
      block_payload_bytes_ += section;
      end += RoundUp(section, kSectionAlignment);
    }
    layer.main_records = end;
    const int64_t section = layer.entries_per_block * main_record_bytes;
    block_payload_bytes_ += section;
    end += RoundUp(section, kSectionAlignment);
  }
  // Also a multiple of the record, so that the pool can be seen as one array of records.
  block_bytes_ = RoundUp(end, std::lcm(kBlockAlignment, main_record_bytes));
}

void CacheLayout::PlaceSlot(const ModelConfig& config, int32_t max_rollback_tokens) {
  constexpr int32_t kMaxRatio = 2;
  window_ring_len_ = config.sliding_window + max_rollback_tokens;
  group_ring_len_ = kMaxRatio + std::max(0, max_rollback_tokens - 1);
  history_ring_len_ = config.engram_max_ngram_size - 1 + max_rollback_tokens;
  int64_t end = 0;
  const auto place = [&end](int64_t num_bytes) {
    const int64_t offset = end;
    end = RoundUp(end + num_bytes, kRingAlignment);
    return offset;
  };
  for (int32_t l = 0; l < config.num_hidden_layers; ++l) {
    layers_[l].window_ring = place(window_ring_len_ * ops::Fp8RecordBytes(config.head_dim));
    if (config.is_kv_source(l) && config.ratio(l) > 1) {
      layers_[l].group_ring = place(int64_t{group_ring_len_} * 2 * config.head_dim *
                                    static_cast<int64_t>(sizeof(float)));
    }
  }
  if (!config.engram_layer_ids.empty()) {
    history_offset_ = place(history_ring_len_ * static_cast<int64_t>(sizeof(int32_t)));
  }
  slot_bytes_ = RoundUp(end, kBlockAlignment);
}

int32_t CacheLayout::NumBlocks(int64_t num_tokens) {
  return static_cast<int32_t>((num_tokens + ops::kBlockSize - 1) / ops::kBlockSize);
}

ops::PagedRecords CacheLayout::MainRecords(const ModelCaches& caches, int32_t layer_idx) const {
  const LayerOffsets& layer = layers_.at(layer_idx);
  DI_CHECK(layer.main_records >= 0, "layer_idx=", layer_idx);
  return {caches.kv_pool, layer.main_records, layer.entries_per_block};
}

ops::PagedRecords CacheLayout::IndexKeys(const ModelCaches& caches, int32_t layer_idx) const {
  const LayerOffsets& layer = layers_.at(layer_idx);
  DI_CHECK(layer.index_keys >= 0, "layer_idx=", layer_idx);
  return {caches.kv_pool, layer.index_keys, layer.entries_per_block};
}

ops::RingView CacheLayout::WindowRing(const ModelCaches& caches, int32_t layer_idx) const {
  return {caches.state_pool, layers_.at(layer_idx).window_ring, window_ring_len_};
}

ops::RingView CacheLayout::GroupRing(const ModelCaches& caches, int32_t layer_idx) const {
  const LayerOffsets& layer = layers_.at(layer_idx);
  DI_CHECK(layer.group_ring >= 0, "layer_idx=", layer_idx);
  return {caches.state_pool, layer.group_ring, group_ring_len_};
}

ops::RingView CacheLayout::EngramHistory(const ModelCaches& caches) const {
  DI_CHECK(history_offset_ >= 0, "the model has no engram layers");
  return {caches.state_pool, history_offset_, history_ring_len_};
}

}  // namespace deepinfer::model
