// What must hold bit by bit between our own forward passes: a row's result depends on its sequence
// alone, not on how the sequence was cut into steps, what else was in the batch, how many threads
// worked, or where its caches lie.
#include <gtest/gtest.h>

#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "backend/all/registry.h"
#include "golden/test_model.h"

namespace deepinfer::golden {
namespace {

// Ids without a pattern, the same on every machine.
std::vector<int32_t> SomeIds(int32_t count, int32_t vocab_size, uint32_t seed) {
  std::vector<int32_t> ids(count);
  for (int32_t& id : ids) {
    seed = seed * 1664525u + 1013904223u;
    id = static_cast<int32_t>((seed >> 8) % static_cast<uint32_t>(vocab_size));
  }
  return ids;
}

std::vector<int32_t> Slice(const std::vector<int32_t>& ids, int32_t begin, int32_t end) {
  return {ids.begin() + begin, ids.begin() + end};
}

bool SameBits(const Row& a, const Row& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Names the first row that differs.
void ExpectSameRows(const std::vector<Row>& got, const std::vector<Row>& expected, size_t begin,
                    const std::string& what) {
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_LT(begin + i, expected.size()) << what;
    if (!SameBits(got[i], expected[begin + i])) {
      size_t at = 0;
      while (std::memcmp(&got[i][at], &expected[begin + i][at], sizeof(float)) == 0) ++at;
      ADD_FAILURE() << what << ": row " << begin + i << " differs, first at id " << at << ": "
                    << got[i][at] << " instead of " << expected[begin + i][at];
      return;
    }
  }
}

struct Setting {
  std::string model;
  std::string folder;
  std::string isa;
};

std::vector<Setting> Settings() {
  std::vector<Setting> settings;
  for (const std::string& isa : backend::UsableIsas("cpu")) {
    settings.push_back({"Tiny", "models/DeepSeek-V4.1-Tiny", isa});
    settings.push_back({"Branches", "tests/fixtures/branches", isa});
  }
  return settings;
}

std::ostream& operator<<(std::ostream& out, const Setting& s) {
  return out << s.folder << " " << s.isa;
}

// Both checkpoints on every instruction set of this machine.
class Invariance : public ::testing::TestWithParam<Setting> {
 protected:
  std::unique_ptr<TestModel> Load(int32_t num_threads = 0, int32_t num_sequences = 8) {
    return TestModel::Load({.folder = GetParam().folder,
                            .isa = GetParam().isa,
                            .num_threads = num_threads,
                            .num_sequences = num_sequences});
  }
};

// 150 tokens: both models' windows wrap, groups of two end inside and between chunks, and the
// random model's selection and candidate blocks overflow.
constexpr int32_t kLen = 150;

TEST_P(Invariance, OneShotEqualsChunksOfAnySize) {
  const auto model = Load();
  ASSERT_NE(model, nullptr);
  const std::vector<int32_t> ids = SomeIds(kLen, model->config().vocab_size, 1);
  model->Reset(0);
  const std::vector<Row> expected = model->Feed(0, ids, kLen);
  const std::vector<uint8_t> state = model->SaveState(0);
  for (const int32_t chunk : {1, 2, 3, 7, 8, 9, 64}) {
    const std::string what = "chunks of " + std::to_string(chunk);
    model->Reset(1);
    ExpectSameRows(model->Feed(1, ids, chunk), expected, 0, what);
    EXPECT_TRUE(model->SaveState(1) == state) << what << ": the caches differ";
  }
}

TEST_P(Invariance, BatchEqualsEachAlone) {
  const auto model = Load();
  ASSERT_NE(model, nullptr);
  constexpr int32_t kNumSequences = 5;
  constexpr int32_t kNumDecodes = 6;
  const std::vector<int32_t> lens = {5, 33, 64, 1, 130};
  std::vector<std::vector<int32_t>> ids;
  std::vector<std::vector<Row>> alone;
  for (int32_t s = 0; s < kNumSequences; ++s) {
    ids.push_back(SomeIds(lens[s] + kNumDecodes, model->config().vocab_size, 100 + s));
    model->Reset(5);
    alone.push_back(model->Feed(5, ids[s], kLen));
  }
  for (int32_t s = 0; s < kNumSequences; ++s) model->Reset(s);
  // All prompts in one step, then all decode; the last sequence still prefills in chunks of 40.
  std::vector<int32_t> done(kNumSequences, 0);
  for (int32_t step = 0; step < 3 + kNumDecodes; ++step) {
    std::vector<Piece> pieces;
    for (int32_t s = 0; s < kNumSequences; ++s) {
      const int32_t left = static_cast<int32_t>(ids[s].size()) - done[s];
      const int32_t num_new =
          std::min(left, done[s] >= lens[s] ? 1 : std::min(lens[s] - done[s], 40));
      if (num_new > 0) pieces.push_back({s, Slice(ids[s], done[s], done[s] + num_new)});
    }
    const std::vector<Row> rows = model->Step(pieces);
    size_t begin = 0;
    for (const Piece& piece : pieces) {
      const std::vector<Row> part(rows.begin() + begin,
                                  rows.begin() + begin + piece.token_ids.size());
      ExpectSameRows(
          part, alone[piece.sequence], done[piece.sequence],
          "step " + std::to_string(step) + " sequence " + std::to_string(piece.sequence));
      begin += piece.token_ids.size();
      done[piece.sequence] += static_cast<int32_t>(piece.token_ids.size());
    }
  }
}

TEST_P(Invariance, BatchOf37EqualsEachAlone) {
  constexpr int32_t kNumSequences = 37;
  const auto model = Load(0, kNumSequences + 1);
  ASSERT_NE(model, nullptr);
  std::vector<Piece> pieces;
  std::vector<Row> alone;
  for (int32_t s = 0; s < kNumSequences; ++s) {
    const std::vector<int32_t> ids = SomeIds(2 + s % 23, model->config().vocab_size, 500 + s);
    const int32_t last = static_cast<int32_t>(ids.size()) - 1;
    model->Reset(kNumSequences);
    alone.push_back(model->Feed(kNumSequences, ids, kLen).back());
    model->Reset(s);
    model->Feed(s, Slice(ids, 0, last), kLen);
    pieces.push_back({s, {ids.back()}});
  }
  ExpectSameRows(model->Step(pieces), alone, 0, "batch of 37");
}

TEST_P(Invariance, OneThreadEqualsTwo) {
  const auto one = Load(1);
  const auto two = Load(2);
  ASSERT_NE(one, nullptr);
  ASSERT_NE(two, nullptr);
  const std::vector<int32_t> ids = SomeIds(kLen, one->config().vocab_size, 2);
  for (TestModel* model : {one.get(), two.get()}) {
    model->Reset(0);
    model->Reset(1);
  }
  ExpectSameRows(two->Feed(0, ids, kLen), one->Feed(0, ids, kLen), 0, "prefill");
  ExpectSameRows(two->Feed(1, Slice(ids, 0, 40), 1), one->Feed(1, Slice(ids, 0, 40), 1), 0,
                 "decode");
  EXPECT_TRUE(one->SaveState(0) == two->SaveState(0));
}

TEST_P(Invariance, RolledBackTokensLeaveNoTrace) {
  const auto model = Load();
  ASSERT_NE(model, nullptr);
  constexpr int32_t kMaxRollback = 6, kTail = 9;
  const std::vector<int32_t> ids = SomeIds(kLen, model->config().vocab_size, 3);
  const std::vector<int32_t> wrong = SomeIds(kMaxRollback, model->config().vocab_size, 4);
  model->Reset(0);
  const std::vector<Row> expected = model->Feed(0, ids, kLen);
  for (const int32_t len : {20, 21, 128, 133}) {  // even and odd; about a block's end
    model->Reset(1);
    model->Feed(1, Slice(ids, 0, len), kLen);
    const std::vector<uint8_t> before = model->SaveState(1);
    for (int32_t num_wrong = 1; num_wrong <= kMaxRollback; ++num_wrong) {
      for (const int32_t chunk : {1, kMaxRollback}) {
        const std::string what = "roll back of " + std::to_string(num_wrong) + " to " +
                                 std::to_string(len) + " in steps of " + std::to_string(chunk);
        model->RestoreState(1, before, len);
        model->Feed(1, Slice(wrong, 0, num_wrong), chunk);
        model->RollBack(1, len);
        ExpectSameRows(model->Feed(1, Slice(ids, len, len + kTail), chunk), expected, len, what);
      }
    }
  }
}

TEST_P(Invariance, PartlyAcceptedDraftsStepByStep) {
  const auto model = Load();
  ASSERT_NE(model, nullptr);
  constexpr int32_t kDraftLen = 6;
  const std::vector<int32_t> ids = SomeIds(kLen, model->config().vocab_size, 5);
  const std::vector<int32_t> wrong = SomeIds(kDraftLen, model->config().vocab_size, 6);
  model->Reset(0);
  const std::vector<Row> expected = model->Feed(0, ids, kLen);
  // Each step feeds a few right tokens and then wrong ones, of which only the right ones stay.
  model->Reset(1);
  for (int32_t len = 0, step = 0; len + kDraftLen < kLen; ++step) {
    const int32_t num_right = 1 + step % kDraftLen;
    std::vector<int32_t> draft = Slice(ids, len, len + num_right);
    draft.insert(draft.end(), wrong.begin() + num_right, wrong.end());
    std::vector<Row> rows = model->Step({{1, draft}});
    rows.resize(num_right);
    ExpectSameRows(rows, expected, len, "step " + std::to_string(step));
    len += num_right;
    model->RollBack(1, len);
  }
}

TEST_P(Invariance, SavedStateContinuesElsewhere) {
  const auto model = Load();
  ASSERT_NE(model, nullptr);
  const std::vector<int32_t> ids = SomeIds(kLen, model->config().vocab_size, 7);
  model->Reset(0);
  const std::vector<Row> expected = model->Feed(0, ids, kLen);
  for (const int32_t len : {13, 14, 131}) {  // 13 and 131 lie in the middle of a group
    model->Reset(1);
    model->Feed(1, Slice(ids, 0, len), kLen);
    const std::vector<uint8_t> state = model->SaveState(1);
    model->Scribble(1);
    model->RestoreState(2, state, len);
    ExpectSameRows(model->Feed(2, Slice(ids, len, kLen), 5), expected, len,
                   "restored at " + std::to_string(len));
  }
}

TEST_P(Invariance, UsedBlocksNeedNoClearing) {
  const auto model = Load();
  ASSERT_NE(model, nullptr);
  const std::vector<int32_t> ids = SomeIds(kLen, model->config().vocab_size, 8);
  model->Reset(0);
  const std::vector<Row> expected = model->Feed(0, ids, kLen);
  for (int32_t round = 0; round < 2; ++round) {
    model->Scribble(0);
    model->Reset(0);  // the dirty blocks are the next to be handed out
    ExpectSameRows(model->Feed(0, ids, round == 0 ? kLen : 11), expected, 0, "second use");
  }
}

class NullObserver : public model::LayerObserver {
 public:
  void OnLayer(int32_t, const TensorView&) override { ++num_calls; }
  int32_t num_calls = 0;
};

TEST_P(Invariance, WatchingChangesNothing) {
  const auto model = Load();
  ASSERT_NE(model, nullptr);
  const std::vector<int32_t> ids = SomeIds(40, model->config().vocab_size, 9);
  model->Reset(0);
  const std::vector<Row> expected = model->Feed(0, ids, kLen);
  NullObserver observer;
  model->model().set_observer(&observer);
  model->Reset(0);
  ExpectSameRows(model->Feed(0, ids, kLen), expected, 0, "watched");
  EXPECT_EQ(observer.num_calls, model->config().num_hidden_layers);
}

TEST_P(Invariance, SmallStepsInALargeWorkspaceEqualSmallWorkspaces) {
  const auto large = Load();
  const auto small = TestModel::Load({.folder = GetParam().folder,
                                      .isa = GetParam().isa,
                                      .max_num_tokens = 8,
                                      .max_model_len = 160});
  ASSERT_NE(large, nullptr);
  ASSERT_NE(small, nullptr);
  EXPECT_LT(small->model().workspace_bytes(), large->model().workspace_bytes());
  const std::vector<int32_t> ids = SomeIds(kLen, large->config().vocab_size, 10);
  large->Reset(0);
  small->Reset(0);
  ExpectSameRows(small->Feed(0, ids, 8), large->Feed(0, ids, kLen), 0, "small workspace");
}

INSTANTIATE_TEST_SUITE_P(Models, Invariance, ::testing::ValuesIn(Settings()),
                         [](const auto& info) { return info.param.model + "_" + info.param.isa; });

}  // namespace
}  // namespace deepinfer::golden
