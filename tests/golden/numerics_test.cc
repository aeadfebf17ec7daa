// Modes B and P against mode F on the trained model: the bounds are those that a second
// implementation reaches with bf16 activations and with quantised ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "backend/all/registry.h"
#include "golden/golden_file.h"
#include "golden/test_model.h"

namespace deepinfer::golden {
namespace {

struct Bounds {
  double max_mean_kl;       // nats
  double min_mean_cosine;   // of the logits
  double min_argmax_share;  // of rows whose margin is above a tenth of their logits' deviation
};

struct Agreement {
  int64_t num_rows = 0, num_clear_rows = 0, num_equal = 0;
  double kl = 0, cosine = 0;

  void Add(const Row& ours, const Row& reference) {
    const std::vector<double> p = LogSoftmax(reference), q = LogSoftmax(ours);
    double kl_row = 0, dot = 0, norm_ours = 0, norm_reference = 0, sum = 0;
    for (size_t i = 0; i < p.size(); ++i) {
      kl_row += std::exp(p[i]) * (p[i] - q[i]);
      dot += double{ours[i]} * reference[i];
      norm_ours += double{ours[i]} * ours[i];
      norm_reference += double{reference[i]} * reference[i];
      sum += reference[i];
    }
    ++num_rows;
    kl += kl_row;
    cosine += dot / std::sqrt(norm_ours * norm_reference);
    const double mean = sum / p.size();
    const double deviation = std::sqrt(norm_reference / p.size() - mean * mean);
    Row sorted = reference;
    std::nth_element(sorted.begin(), sorted.begin() + 1, sorted.end(), std::greater<>());
    if (sorted[0] - sorted[1] <= 0.1 * deviation) return;
    ++num_clear_rows;
    num_equal += ArgMax(ours) == ArgMax(reference) ? 1 : 0;
  }
};

constexpr const char* kTiny = "models/DeepSeek-V4.1-Tiny";

void ExpectWithin(const TestModelOptions& options, const TestModelOptions& reference_options,
                  const std::string& what, const Bounds& bounds) {
  const auto reference = TestModel::Load(reference_options);
  const auto model = TestModel::Load(options);
  ASSERT_NE(reference, nullptr);
  ASSERT_NE(model, nullptr);
  Agreement agreement;
  for (const GoldenCase& c : ReadGoldenFile("tiny.jsonl")) {
    std::vector<int32_t> ids = c.prompt_ids;
    ids.insert(ids.end(), c.greedy_ids.begin(), c.greedy_ids.end());
    reference->Reset(0);
    model->Reset(0);
    const std::vector<Row> expected = reference->Feed(0, ids, 512);
    const std::vector<Row> got = model->Feed(0, ids, 512);
    for (size_t i = 0; i < ids.size(); ++i) agreement.Add(got[i], expected[i]);
  }
  const double kl = agreement.kl / agreement.num_rows;
  const double cosine = agreement.cosine / agreement.num_rows;
  const double share = static_cast<double>(agreement.num_equal) / agreement.num_clear_rows;
  std::printf("%s: %lld rows, KL %.4f, cosine %.4f, argmax equal on %.2f%% of %lld clear rows\n",
              what.c_str(), static_cast<long long>(agreement.num_rows), kl, cosine, 100 * share,
              static_cast<long long>(agreement.num_clear_rows));
  EXPECT_LE(kl, bounds.max_mean_kl);
  EXPECT_GE(cosine, bounds.min_mean_cosine);
  EXPECT_GE(share, bounds.min_argmax_share);
  EXPECT_GT(kl, 0) << "the mode makes no difference";
}

// The parameter is the name of an instruction set.
class NumericModes : public ::testing::TestWithParam<std::string> {
 protected:
  TestModelOptions Mode(Numerics numerics) const {
    return {.folder = kTiny, .isa = GetParam(), .numerics = numerics};
  }
};

TEST_P(NumericModes, Bf16StaysCloseToFp32) {
  ExpectWithin(Mode(Numerics::kBf16), Mode(Numerics::kFp32), "bf16 on " + GetParam(),
               {0.003, 0.99, 0.998});
}

TEST_P(NumericModes, ProductionStaysCloseToFp32) {
  ExpectWithin(Mode(Numerics::kProduction), Mode(Numerics::kFp32), "production on " + GetParam(),
               {0.006, 0.985, 0.995});
}

TEST(NumericModesAcrossInstructionSets, ProductionStaysCloseToItself) {
  const std::vector<std::string> isas = backend::UsableIsas("cpu");
  if (isas.size() < 2) GTEST_SKIP() << "this machine has one instruction set";
  const auto production = [](const std::string& isa) -> TestModelOptions {
    return {.folder = kTiny, .isa = isa, .numerics = Numerics::kProduction};
  };
  ExpectWithin(production(isas.back()), production(isas.front()),
               "production, " + isas.back() + " and " + isas.front(), {0.004, 0.99, 0.997});
}

TEST_P(NumericModes, ChunksAgreeBitwiseInEveryMode) {
  for (const Numerics numerics : {Numerics::kBf16, Numerics::kProduction}) {
    for (const char* folder : {"models/DeepSeek-V4.1-Tiny", "tests/fixtures/branches"}) {
      const auto model =
          TestModel::Load({.folder = folder, .isa = GetParam(), .numerics = numerics});
      ASSERT_NE(model, nullptr);
      std::vector<int32_t> ids;
      for (int32_t i = 0; i < 90; ++i) ids.push_back(i * 37 % model->config().vocab_size);
      model->Reset(0);
      model->Reset(1);
      const std::vector<Row> one_shot = model->Feed(0, ids, 512);
      const std::vector<Row> chunks = model->Feed(1, ids, 7);
      for (size_t i = 0; i < ids.size(); ++i) {
        ASSERT_TRUE(one_shot[i] == chunks[i]) << folder << " row " << i;
      }
      EXPECT_TRUE(model->SaveState(0) == model->SaveState(1)) << folder;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, NumericModes, ::testing::ValuesIn(backend::UsableIsas("cpu")),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace deepinfer::golden
