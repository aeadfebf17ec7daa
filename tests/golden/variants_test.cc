// The random checkpoint under edited configs: what the edit must change, what it must leave alone
// bit by bit, and that the default backend still follows the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "golden/golden_file.h"
#include "golden/test_model.h"

namespace deepinfer::golden {
namespace {

using model::ModelConfig;
using Edit = std::function<void(ModelConfig&)>;

std::vector<Row> Compute(const std::string& backend, const Edit& edit,
                         const std::vector<int32_t>& ids, int32_t chunk) {
  const auto model =
      TestModel::Load({.folder = "tests/fixtures/branches", .backend = backend, .edit = edit});
  if (model == nullptr) return {};
  model->Reset(0);
  return model->Feed(0, ids, chunk);
}

std::vector<int32_t> Prompt(size_t len) {
  for (const GoldenCase& c : ReadGoldenFile("branches.jsonl")) {
    if (c.prompt_ids.size() >= len) {
      return {c.prompt_ids.begin(), c.prompt_ids.begin() + len};
    }
  }
  return {};
}

// Rows up to here are bitwise equal.
size_t EqualPrefix(const std::vector<Row>& a, const std::vector<Row>& b) {
  size_t i = 0;
  while (i < a.size() && std::memcmp(a[i].data(), b[i].data(), a[i].size() * sizeof(float)) == 0) {
    ++i;
  }
  return i;
}

double MaxLogprobDifference(const Row& a, const Row& b) {
  const std::vector<double> pa = LogSoftmax(a), pb = LogSoftmax(b);
  double worst = 0;
  for (size_t i = 0; i < pa.size(); ++i) worst = std::max(worst, std::fabs(pa[i] - pb[i]));
  return worst;
}

// cpu and ref agree on nearly all rows; a flipped code may move some.
void ExpectFollowsReference(const Edit& edit, const std::vector<int32_t>& ids) {
  const std::vector<Row> ours = Compute("cpu", edit, ids, 512);
  const std::vector<Row> reference = Compute("ref", edit, ids, 512);
  ASSERT_EQ(ours.size(), ids.size());
  ASSERT_EQ(reference.size(), ids.size());
  std::vector<double> differences;
  for (size_t i = 0; i < ours.size(); ++i) {
    differences.push_back(MaxLogprobDifference(ours[i], reference[i]));
  }
  std::sort(differences.begin(), differences.end());
  EXPECT_LE(differences[differences.size() / 2], 1e-3);
  EXPECT_LE(differences[differences.size() * 8 / 10], 0.02);
}

void ExpectChunksAgree(const Edit& edit, const std::vector<int32_t>& ids) {
  const std::vector<Row> one_shot = Compute("cpu", edit, ids, 512);
  EXPECT_EQ(EqualPrefix(one_shot, Compute("cpu", edit, ids, 7)), ids.size());
  EXPECT_EQ(EqualPrefix(one_shot, Compute("cpu", edit, ids, 1)), ids.size());
}

constexpr size_t kLen = 60;

TEST(Variants, SaturatedSelectionEqualsTheOriginalUntilItsTopKIsFull) {
  const Edit saturated = [](ModelConfig& c) { c.index_topk = c.candidate_topk_blocks = 4096; };
  const std::vector<int32_t> ids = Prompt(kLen);
  const std::vector<Row> original = Compute("cpu", {}, ids, 512);
  const std::vector<Row> edited = Compute("cpu", saturated, ids, 512);
  // Four entries are visible to position 3 at ratio 1; position 4 is the first to choose.
  EXPECT_EQ(EqualPrefix(original, edited), 4u);
  ExpectChunksAgree(saturated, ids);
  ExpectFollowsReference(saturated, ids);
}

TEST(Variants, WithoutCandidateSourceEqualsTheOriginalUntilItsBlocksAreFull) {
  const Edit open = [](ModelConfig& c) { c.candidate_source_layer_id = -1; };
  const std::vector<int32_t> ids = Prompt(kLen);
  const size_t equal = EqualPrefix(Compute("cpu", {}, ids, 512), Compute("cpu", open, ids, 512));
  // Three blocks of four entries hold every entry visible to position 11.
  EXPECT_GE(equal, 12u);
  EXPECT_LT(equal, kLen);
  ExpectChunksAgree(open, ids);
  ExpectFollowsReference(open, ids);
}

TEST(Variants, WithoutRopeScalingOnlyTheFirstPositionIsEqual) {
  const Edit plain = [](ModelConfig& c) { c.rope_scaling.reset(); };
  const std::vector<int32_t> ids = Prompt(kLen);
  EXPECT_EQ(EqualPrefix(Compute("cpu", {}, ids, 512), Compute("cpu", plain, ids, 512)), 1u);
  ExpectChunksAgree(plain, ids);
  ExpectFollowsReference(plain, ids);
}

TEST(Variants, Fp8MainRecords) {
  const Edit fp8 = [](ModelConfig& c) { c.use_fp4_sparse_kv = false; };
  const std::vector<int32_t> ids = Prompt(kLen);
  EXPECT_EQ(EqualPrefix(Compute("cpu", {}, ids, 512), Compute("cpu", fp8, ids, 512)), 0u);
  ExpectChunksAgree(fp8, ids);
  ExpectFollowsReference(fp8, ids);
}

TEST(Variants, TightClampOfTheExperts) {
  const Edit tight = [](ModelConfig& c) { c.swiglu_limit = 0.5f; };
  const std::vector<int32_t> ids = Prompt(kLen);
  EXPECT_EQ(EqualPrefix(Compute("cpu", {}, ids, 512), Compute("cpu", tight, ids, 512)), 0u);
  ExpectChunksAgree(tight, ids);
  ExpectFollowsReference(tight, ids);
}

// Ratio-2 layers with two groups of keys: with the keys of another group a selective decode would
// differ from the one-shot pass, on odd steps only.
TEST(Variants, IndexKeysOfTheNearestSourceBefore) {
  const Edit shared_keys = [](ModelConfig& c) { c.index_k_source_layer_ids = {2, 6}; };
  const auto model = TestModel::Load({.folder = "tests/fixtures/branches", .edit = {}});
  ASSERT_NE(model, nullptr);
  // The fixture holds keys for layer 4 too, which this config doesn't describe.
  const auto refused =
      TestModel::TryLoad({.folder = "tests/fixtures/branches", .edit = shared_keys});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("layers.4.attn.indexer"), std::string::npos)
      << refused.status().ToString();
}

}  // namespace
}  // namespace deepinfer::golden
