// The parity suite: every row of the table on every backend and instruction set of this machine.
//
// For each pair: the outputs agree with `ref`; twice gives the same bits; one thread gives the bits
// of two; each row alone, and the sequence in chunks, gives the bits of the batch; a call without
// rows changes nothing.  `ref` itself is checked for all but the first.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/all/registry.h"
#include "backend/op_table.h"
#include "base/strings.h"
#include "gtest/gtest.h"
#include "parity/compare.h"
#include "parity/parity_case.h"
#include "parity/run_case.h"

namespace deepinfer::parity {
namespace {

// A backend with one of its instruction sets.
struct Variant {
  std::string name;
  backend::DeviceOptions options;
};

std::vector<Variant> AllVariants() {
  std::vector<Variant> variants;
  for (const std::string_view backend : backend::BuiltBackends()) {
    for (const std::string& isa : backend::UsableIsas(backend)) {
      Variant variant{std::string(backend), {.name = std::string(backend), .isa = isa}};
      if (!isa.empty()) variant.name += ":" + isa;
      variants.push_back(std::move(variant));
    }
  }
  return variants;
}

std::unique_ptr<backend::Device> Create(const Variant& variant, int32_t num_threads) {
  backend::DeviceOptions options = variant.options;
  options.num_threads = num_threads;
  auto device = backend::CreateDevice(options);
  if (!device.ok()) ADD_FAILURE() << device.status().ToString();
  return device.ok() ? std::move(device).value() : nullptr;
}

// A case with the reference's outputs; only the latest is kept, since tests run case by case.
struct Expected {
  std::string name;
  ParityCase parity_case;
  Outputs outputs;
};

const Expected& ExpectedOf(const CaseSpec& spec) {
  static Expected latest;
  if (latest.name != spec.name) {
    Rng rng = RngFor(spec.name);
    latest.parity_case = spec.make(rng);
    const auto ref = backend::CreateDevice({.name = "ref"});
    latest.outputs = RunWhole(**ref, latest.parity_case);
    latest.name = spec.name;
  }
  return latest;
}

void ExpectSameBits(const Outputs& expected, const Outputs& actual, const std::string& what) {
  for (const auto& [name, tensor] : expected) {
    const std::string difference = BitwiseDifference(tensor, actual.at(name));
    EXPECT_EQ(difference, "") << what << ": " << name;
  }
}

// The kernels that a case needs and the device lacks.
std::string MissingKernels(backend::Device& device, const ParityCase& c) {
  const auto stream = device.CreateStream();
  std::string missing;
  for (const std::string_view op : backend::MissingOps(stream->ops())) {
    for (const std::string_view needed : c.ops) {
      if (op == needed) missing += std::string(missing.empty() ? "" : ", ") + std::string(op);
    }
  }
  return missing;
}

class ParityTest : public testing::Test {
 public:
  ParityTest(CaseSpec spec, Variant variant)
      : spec_(std::move(spec)), variant_(std::move(variant)) {}

  void TestBody() override {
    const bool is_ref = variant_.options.name == "ref";
    const auto device = Create(variant_, is_ref ? 1 : 2);
    ASSERT_NE(device, nullptr);
    const Expected& expected = ExpectedOf(spec_);
    const ParityCase& c = expected.parity_case;
    const std::string missing = MissingKernels(*device, c);
    if (!missing.empty()) GTEST_SKIP() << variant_.name << " has no kernel for " << missing;

    const Outputs whole = RunWhole(*device, c);
    for (const auto& [name, tensor] : expected.outputs) {
      EXPECT_EQ(Difference(c.args.at(name).compare, tensor, whole.at(name)), "")
          << "against ref: " << name;
    }
    ExpectSameBits(whole, RunWhole(*device, c), "run twice");
    if (!is_ref) ExpectSameBits(whole, RunWhole(*Create(variant_, 1), c), "one thread");
    ExpectSameBits(whole, RunPieces(*device, c, 1), "each row alone");
    for (const int64_t piece_len : {3, 8, 20}) {
      if (c.num_rows <= piece_len) continue;
      ExpectSameBits(whole, RunPieces(*device, c, piece_len), StrCat("chunks of ", piece_len));
    }
    ExpectSameBits(InitialOutputs(c), RunNoRows(*device, c), "no rows");
  }

 private:
  const CaseSpec spec_;
  const Variant variant_;
};

void RegisterAll() {
  const std::vector<Variant> variants = AllVariants();
  for (const auto& cases : {LinearCases(), StreamsCases(), AttentionCases(), CompressCases(),
                            IndexerCases(), MoeCases(), EngramCases()}) {
    for (const CaseSpec& spec : cases) {
      for (const Variant& variant : variants) {
        testing::RegisterTest("Parity", (spec.name + "@" + variant.name).c_str(), nullptr, nullptr,
                              __FILE__, __LINE__, [spec, variant]() -> testing::Test* {
                                return new ParityTest(spec, variant);
                              });
      }
    }
  }
}

}  // namespace
}  // namespace deepinfer::parity

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  deepinfer::parity::RegisterAll();
  return RUN_ALL_TESTS();
}
