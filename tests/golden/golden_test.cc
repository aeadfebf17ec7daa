// The recorded reference forward passes of two checkpoints, in mode F.  The agreement asked for is
// what two correct programs that differ in their order of summation reach.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "backend/all/registry.h"
#include "base/strings.h"
#include "golden/golden_file.h"
#include "golden/replay.h"
#include "golden/test_model.h"

namespace deepinfer::golden {
namespace {

constexpr double kCloseRow = 0.02;
constexpr size_t kShortCase = 33;  // ids; up to here every row must agree

TestModelOptions Tiny(const std::string& backend, const std::string& isa = "") {
  return {.folder = "models/DeepSeek-V4.1-Tiny", .backend = backend, .isa = isa};
}
TestModelOptions Branches(const std::string& backend, const std::string& isa = "") {
  return {.folder = "tests/fixtures/branches", .backend = backend, .isa = isa};
}

// Every instruction set of this machine; the parameter is its name.
class GoldenTiny : public ::testing::TestWithParam<std::string> {};
class GoldenBranches : public ::testing::TestWithParam<std::string> {};

struct Summary {
  std::vector<double> sorted;  // differences of all rows, ascending
  double close_share = 0;      // of rows within kCloseRow
  double median = 0;
  std::string worst;  // the row with the largest difference
};

Summary Summarize(const std::vector<CaseAgreement>& cases) {
  Summary s;
  double worst = -1;
  for (const CaseAgreement& c : cases) {
    for (const RowDifference& row : c.rows) {
      s.sorted.push_back(row.difference);
      if (row.difference > worst) {
        worst = row.difference;
        s.worst = StrCat(row.where, " off by ", row.difference);
      }
    }
  }
  std::sort(s.sorted.begin(), s.sorted.end());
  const auto end = std::upper_bound(s.sorted.begin(), s.sorted.end(), kCloseRow);
  s.close_share = static_cast<double>(end - s.sorted.begin()) / s.sorted.size();
  s.median = s.sorted[s.sorted.size() / 2];
  return s;
}

void Print(const std::string& what, const Summary& s) {
  std::printf("%s: %zu rows, %.2f%% within %.2f, median %.2g, worst: %s\n", what.c_str(),
              s.sorted.size(), 100 * s.close_share, kCloseRow, s.median, s.worst.c_str());
}

// A short case: every row and every id.
void ExpectEveryRow(const CaseAgreement& agreement) {
  for (const RowDifference& row : agreement.rows) {
    EXPECT_LE(row.difference, kCloseRow) << row.where;
  }
  EXPECT_TRUE(agreement.greedy_agrees) << agreement.greedy_message;
}

TEST_P(GoldenTiny, AllCases) {
  const auto model = TestModel::Load(Tiny("cpu", GetParam()));
  ASSERT_NE(model, nullptr);
  std::vector<CaseAgreement> agreements;
  for (const GoldenCase& c : ReadGoldenFile("tiny.jsonl")) {
    agreements.push_back(Replay(*model, c));
    EXPECT_TRUE(agreements.back().greedy_agrees) << agreements.back().greedy_message;
  }
  const Summary summary = Summarize(agreements);
  Print("tiny on " + GetParam(), summary);
  EXPECT_GE(summary.close_share, 0.99) << summary.worst;
}

TEST(GoldenOnTheReference, ShortCasesOfTiny) {
  const auto model = TestModel::Load(Tiny("ref"));
  ASSERT_NE(model, nullptr);
  std::vector<CaseAgreement> agreements;
  for (const GoldenCase& c : ReadGoldenFile("tiny.jsonl")) {
    if (c.prompt_ids.size() > 12) continue;
    agreements.push_back(Replay(*model, c));
    EXPECT_TRUE(agreements.back().greedy_agrees) << agreements.back().greedy_message;
  }
  const Summary summary = Summarize(agreements);
  Print("tiny on ref", summary);
  EXPECT_GE(summary.close_share, 0.99) << summary.worst;
}

void ExpectBranches(const std::string& backend, const std::string& isa, size_t max_prompt) {
  const auto model = TestModel::Load(Branches(backend, isa));
  ASSERT_NE(model, nullptr);
  std::vector<CaseAgreement> agreements;
  int32_t num_differing = 0;
  for (const GoldenCase& c : ReadGoldenFile("branches.jsonl")) {
    if (c.prompt_ids.size() > max_prompt) continue;
    agreements.push_back(Replay(*model, c));
    if (c.prompt_ids.size() <= kShortCase) ExpectEveryRow(agreements.back());
    if (!agreements.back().greedy_agrees) {
      ++num_differing;
      std::printf("%s\n", agreements.back().greedy_message.c_str());
    }
  }
  const Summary summary = Summarize(agreements);
  Print(StrCat("branches on ", backend, " ", isa), summary);
  EXPECT_GE(summary.close_share, 0.80) << summary.worst;
  EXPECT_LE(summary.median, 1e-3);
  EXPECT_LE(num_differing, 1);
}

TEST_P(GoldenBranches, AllCases) { ExpectBranches("cpu", GetParam(), 1000); }
TEST(GoldenOnTheReference, ShortCasesOfBranches) { ExpectBranches("ref", "", kShortCase); }

// Layer by layer: a failure names the first layer that differs.
void ExpectLayers(const std::string& backend, const std::string& isa, size_t max_prompt) {
  constexpr double kTight = 1e-4, kLoose = 2e-2;
  const auto model = TestModel::Load(Branches(backend, isa));
  ASSERT_NE(model, nullptr);
  int32_t num_tight = 0, num_loose = 0, num_values = 0;
  for (const GoldenCase& c : ReadGoldenFile("branches.jsonl")) {
    if (c.layers.empty() || c.prompt_ids.size() > max_prompt) continue;
    const LayerAgreement agreement = ReplayLayers(*model, c);
    std::string first;
    for (const LayerDifference& v : agreement.values) {
      ++num_values;
      num_tight += v.relative <= kTight ? 1 : 0;
      num_loose += v.relative <= kLoose ? 1 : 0;
      if (v.relative > kTight && first.empty()) {
        first = StrCat(c.name, ": first differing layer ", v.layer, " at position ", v.position,
                       ", relative ", v.relative);
        std::printf("%s\n", first.c_str());
      }
      // No quantiser, expert or selection edge lies close in front of these two.
      if (v.layer <= 1) {
        EXPECT_LE(v.relative, kTight) << first;
      }
    }
    for (size_t l = 0; l < agreement.rms_relative.size(); ++l) {
      EXPECT_LE(agreement.rms_relative[l], l <= 1 ? kTight : kLoose) << c.name << " layer " << l;
    }
    for (const double relative : agreement.hidden_relative) {
      ++num_values;
      num_tight += relative <= kTight ? 1 : 0;
      num_loose += relative <= kLoose ? 1 : 0;
    }
  }
  std::printf("layers on %s %s: %d values, %.1f%% within %g, %.1f%% within %g\n", backend.c_str(),
              isa.c_str(), num_values, 100.0 * num_tight / num_values, kTight,
              100.0 * num_loose / num_values, kLoose);
  EXPECT_GE(num_tight, 0.80 * num_values);
  EXPECT_GE(num_loose, 0.95 * num_values);
}

TEST_P(GoldenBranches, EveryLayer) { ExpectLayers("cpu", GetParam(), 1000); }
TEST(GoldenOnTheReference, EveryLayerOfBranches) { ExpectLayers("ref", "", kShortCase); }

INSTANTIATE_TEST_SUITE_P(Isa, GoldenTiny, ::testing::ValuesIn(backend::UsableIsas("cpu")),
                         [](const auto& info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Isa, GoldenBranches, ::testing::ValuesIn(backend::UsableIsas("cpu")),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace deepinfer::golden
