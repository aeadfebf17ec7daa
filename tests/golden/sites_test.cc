// Which mix of the residual streams each site reads: the coefficients `pre` of a site are used by
// the NEXT site, and those of the last one by the final collapse.  Shown by editing single numbers
// of the random checkpoint and looking at what may and what may not change.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/temp_dir.h"
#include "checkpoint/checkpoint.h"
#include "golden/test_model.h"

namespace deepinfer::golden {
namespace {

constexpr const char* kBranches = DI_SOURCE_DIR "/tests/fixtures/branches";

// Copies the random checkpoint with one f32 tensor changed.
void CopyWithEdit(const std::string& folder, const std::string& tensor,
                  const std::function<void(std::vector<float>&)>& edit) {
  FileSystem& fs = PosixFileSystem();
  const auto checkpoint = checkpoint::Checkpoint::Open(fs, kBranches);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().ToString();
  const checkpoint::TensorInfo* info = checkpoint->Find(tensor);
  ASSERT_NE(info, nullptr) << tensor;
  ASSERT_EQ(info->dtype, "F32");
  std::vector<std::string> files = {"config.json", "tokenizer.json",
                                    std::string(checkpoint::kIndexFile)};
  for (const checkpoint::SafetensorsFile& shard : checkpoint->shards()) {
    files.push_back(shard.path().substr(shard.path().rfind('/') + 1));
  }
  for (const std::string& file : files) {
    const std::string path = std::string(kBranches) + "/" + file;
    std::string bytes = *ReadFile(fs, path, uint64_t{1} << 30);
    if (path == checkpoint->FileOf(tensor)) {
      size_t at = 0;
      for (const checkpoint::SafetensorsFile& shard : checkpoint->shards()) {
        if (shard.path() == path) at = 8 + shard.header().size() + info->offset;
      }
      std::vector<float> values(info->num_bytes / sizeof(float));
      std::memcpy(values.data(), bytes.data() + at, info->num_bytes);
      edit(values);
      std::memcpy(bytes.data() + at, values.data(), info->num_bytes);
    }
    const auto out = fs.Open(JoinPath(folder, file), OpenMode::kTruncate);
    ASSERT_TRUE(out.ok());
    ASSERT_TRUE((*out)->WriteAt(0, bytes).ok());
  }
}

class KeepStreams : public model::LayerObserver {
 public:
  void OnLayer(int32_t, const TensorView& streams) override {
    const float* data = streams.as<float>();
    layers.emplace_back(data, data + streams.num_elements());
  }
  std::vector<std::vector<float>> layers;
};

struct Trace {
  std::vector<std::vector<float>> layers;  // streams after each
  std::vector<uint8_t>
      first_window;  // window records of layer 0: a function of its attention input
  std::vector<Row> hidden;
};

Trace Compute(const std::string& folder) {
  const auto model = TestModel::Load({.folder = folder});
  Trace trace;
  if (model == nullptr) return trace;
  KeepStreams observer;
  model->model().set_observer(&observer);
  model->Reset(0);
  model->Step({{0, {17, 400, 3, 99, 250}}});
  trace.layers = std::move(observer.layers);
  trace.hidden = model->hidden();
  const std::vector<uint8_t> state = model->SaveState(0);
  const ops::RingView ring = model->model().cache_layout().WindowRing({}, 0);
  trace.first_window.assign(state.begin() + ring.offset,
                            state.begin() + ring.offset + 5 * ops::Fp8RecordBytes(64));
  return trace;
}

Trace ComputeWithEdit(const std::string& tensor,
                      const std::function<void(std::vector<float>&)>& edit) {
  const TempDir folder;
  CopyWithEdit(folder.path(), tensor, edit);
  return Compute(folder.path());
}

// The first hc_mult numbers of a base are those of `pre`.
void ReversePre(std::vector<float>& base) {
  for (int32_t j = 0; j < 4; ++j) base[j] = base[j] > 0 ? -8.0f : 8.0f;
}

TEST(Sites, FirstAttentionReadsTheFirstStreamWhateverItsOwnMixSays) {
  const Trace original = Compute("tests/fixtures/branches");
  const Trace edited = ComputeWithEdit("layers.0.hc_attn_base", ReversePre);
  ASSERT_EQ(edited.layers.size(), 12u);
  EXPECT_TRUE(edited.first_window == original.first_window);
  EXPECT_FALSE(edited.layers[0] == original.layers[0]);  // its FFN site uses the new mix
}

TEST(Sites, FfnMixOfALayerReachesTheNextLayerOnly) {
  const Trace original = Compute("tests/fixtures/branches");
  const Trace edited = ComputeWithEdit("layers.3.hc_ffn_base", ReversePre);
  for (int32_t l = 0; l <= 3; ++l) {
    EXPECT_TRUE(edited.layers[l] == original.layers[l]) << "layer " << l;
  }
  EXPECT_FALSE(edited.layers[4] == original.layers[4]);
}

TEST(Sites, FinalCollapseUsesTheMixOfTheLastFfnSite) {
  const Trace original = Compute("tests/fixtures/branches");
  const Trace edited = ComputeWithEdit("layers.11.hc_ffn_base", ReversePre);
  EXPECT_TRUE(edited.layers[11] == original.layers[11]);
  EXPECT_FALSE(edited.hidden == original.hidden);
}

TEST(Sites, ScaleMultipliesTheProjectionOnly) {
  const auto zero = [](std::vector<float>& values) {
    std::fill(values.begin(), values.end(), 0.0f);
  };
  const Trace without_projection = ComputeWithEdit("layers.0.hc_attn_fn", zero);
  const Trace without_scale = ComputeWithEdit("layers.0.hc_attn_scale", zero);
  EXPECT_TRUE(without_projection.layers == without_scale.layers);
}

}  // namespace
}  // namespace deepinfer::golden
