// Route, MoeUp and MoeDown.
#include <algorithm>
#include <string>

#include "backend/ops/checks.h"
#include "backend/ops/moe.h"
#include "base/strings.h"
#include "parity/caches.h"
#include "parity/parity_case.h"

namespace deepinfer::parity {
namespace {

const char* ModeName(Numerics numerics) {
  return numerics == Numerics::kFp32 ? "F" : numerics == Numerics::kBf16 ? "B" : "P";
}

struct RouteShape {
  int64_t num_rows, hidden_size, num_experts, num_chosen;
  bool has_images = false;
  bool has_twins = false;  // every second expert has the gate of the one before: scores tie
};

CaseSpec RouteCase(const std::string& what, RouteShape s, DType act) {
  return {StrCat("moe/route ", what, " ", DTypeName(act)), [=](Rng& rng) {
            ParityCase c;
            c.ops = {"Route"};
            c.num_rows = s.num_rows;
            c.In("x", Random(rng, act, {s.num_rows, s.hidden_size}), 0);
            HostWeight gate = RandomWeight(rng, DType::kBF16, s.num_experts, s.hidden_size);
            HostTensor bias = Random(rng, DType::kF32, {s.num_experts}, Fill::kNormal, 0.05f);
            for (int64_t e = 1; s.has_twins && e < s.num_experts; e += 2) {
              Paste(gate.data, 0, e, Slice(gate.data, 0, e - 1, 1));
              bias.as<float>()[e] = bias.as<float>()[e - 1];
            }
            c.Weight("gate", std::move(gate));
            c.Weight("bias", {std::move(bias), {}});
            if (s.has_images) {
              HostTensor is_image = Zeros(DType::kU8, {s.num_rows});
              for (uint8_t& flag : is_image.bytes) flag = static_cast<uint8_t>(rng() & 1);
              c.In("is_image", std::move(is_image), 0);
              c.Weight("bias_vl", {Random(rng, DType::kF32, {s.num_experts}), {}});
            }
            c.Out("expert_idx", DType::kI32, {s.num_rows, s.num_chosen}, {});
            c.Out("expert_weight", DType::kF32, {s.num_rows, s.num_chosen}, Numbers(kChainF32));
            c.run = [](backend::Stream& stream, const Bound& b) {
              ops::Route(stream, {.x = b["x"],
                                  .gate = b.Weight("gate"),
                                  .bias = b["bias"],
                                  .bias_vl = b["bias_vl"],
                                  .is_image = b["is_image"],
                                  .gate_temp = 0.75f,
                                  .routed_scaling_factor = 1.5f,
                                  .expert_idx = b["expert_idx"],
                                  .expert_weight = b["expert_weight"]});
            };
            return c;
          }};
}

struct MoeShape {
  int64_t num_rows, hidden_size, width, shared_width;
  int32_t num_experts, num_chosen;
  float swiglu_limit = 10;
  DType routed = DType::kF4E2M1, shared = DType::kF8E4M3;
  bool all_to_one = false;  // every row takes the same experts
};

void AddExperts(Rng& rng, const MoeShape& s, ParityCase& c, bool is_up) {
  for (int32_t e = 0; e <= s.num_experts; ++e) {  // the last one is shared
    const bool is_shared = e == s.num_experts;
    const DType dtype = is_shared ? s.shared : s.routed;
    const int64_t width = is_shared ? s.shared_width : s.width;
    if (is_up) {
      c.Weight(StrCat("w1.", e), RandomWeight(rng, dtype, width, s.hidden_size));
      c.Weight(StrCat("w3.", e), RandomWeight(rng, dtype, width, s.hidden_size));
    } else {
      c.Weight(StrCat("w2.", e), RandomWeight(rng, dtype, s.hidden_size, width));
    }
  }
}

std::vector<ops::ExpertWeights> ExpertsOf(const Bound& b, int32_t num_experts) {
  std::vector<ops::ExpertWeights> experts;
  for (int32_t e = 0; e <= num_experts; ++e) {
    experts.push_back(
        {b.Weight(StrCat("w1.", e)), b.Weight(StrCat("w3.", e)), b.Weight(StrCat("w2.", e))});
  }
  return experts;
}

// Ascending distinct experts of each row.
HostTensor RandomChoice(Rng& rng, const MoeShape& s) {
  HostTensor idx = Zeros(DType::kI32, {s.num_rows, s.num_chosen});
  for (int64_t t = 0; t < s.num_rows; ++t) {
    int32_t* row = idx.as<int32_t>() + t * s.num_chosen;
    int32_t taken = 0;
    for (int32_t e = 0; e < s.num_experts && taken < s.num_chosen; ++e) {
      const int32_t left = s.num_experts - e, needed = s.num_chosen - taken;
      if (s.all_to_one ? left <= needed : UniformInt(rng, 1, left) <= needed) row[taken++] = e;
    }
  }
  return idx;
}

CaseSpec UpCase(const std::string& what, MoeShape s, Numerics numerics) {
  return {StrCat("moe/up ", what, " ", ModeName(numerics)), [=](Rng& rng) {
            ParityCase c;
            c.ops = {"MoeUp"};
            c.num_rows = s.num_rows;
            const DType act = ops::ActDType(numerics);
            HostTensor x = Random(rng, act, {s.num_rows, s.hidden_size});
            if (numerics == Numerics::kProduction) QuantizeToQ8(x);
            c.In("x", std::move(x), 0);
            AddExperts(rng, s, c, true);
            c.In("expert_idx", RandomChoice(rng, s), 0);
            HostTensor weight = Random(rng, DType::kF32, {s.num_rows, s.num_chosen});
            for (int64_t i = 0; i < weight.num_elements(); ++i) {
              weight.as<float>()[i] = std::abs(weight.as<float>()[i]);
            }
            c.In("expert_weight", std::move(weight), 0);
            const Compare compare = numerics == Numerics::kFp32   ? Numbers(kChainF32)
                                    : numerics == Numerics::kBf16 ? Numbers(kChainBf16)
                                                                  : Numbers(kF8GridBf16);
            c.Out("a", act, {s.num_rows, s.num_chosen, s.width}, compare);
            c.Out("a_shared", act, {s.num_rows, s.shared_width}, compare);
            c.run = [=](backend::Stream& stream, const Bound& b) {
              std::vector<ops::ExpertWeights> experts = ExpertsOf(b, s.num_experts);
              const ops::ExpertWeights shared = experts.back();
              experts.pop_back();
              ops::MoeUp(stream, {.numerics = numerics,
                                  .x = b["x"],
                                  .experts = experts,
                                  .shared = &shared,
                                  .expert_idx = b["expert_idx"],
                                  .expert_weight = b["expert_weight"],
                                  .swiglu_limit = s.swiglu_limit,
                                  .a = b["a"],
                                  .a_shared = b["a_shared"]});
              stream.Synchronize();  // the op may read the experts until then
            };
            return c;
          }};
}

CaseSpec DownCase(const std::string& what, MoeShape s, DType act) {
  return {StrCat("moe/down ", what, " ", DTypeName(act)), [=](Rng& rng) {
            ParityCase c;
            c.ops = {"MoeDown"};
            c.num_rows = s.num_rows;
            c.In("a", Random(rng, act, {s.num_rows, s.num_chosen, s.width}), 0);
            c.In("a_shared", Random(rng, act, {s.num_rows, s.shared_width}), 0);
            AddExperts(rng, s, c, false);
            c.In("expert_idx", RandomChoice(rng, s), 0);
            c.Out("y", act, {s.num_rows, s.num_chosen + 1, s.hidden_size},
                  Numbers(act == DType::kF32 ? kSumF32 : kSumBf16));
            c.run = [=](backend::Stream& stream, const Bound& b) {
              std::vector<ops::ExpertWeights> experts = ExpertsOf(b, s.num_experts);
              const ops::ExpertWeights shared = experts.back();
              experts.pop_back();
              ops::MoeDown(stream, {.a = b["a"],
                                    .a_shared = b["a_shared"],
                                    .expert_idx = b["expert_idx"],
                                    .experts = experts,
                                    .shared = &shared,
                                    .y = b["y"]});
              stream.Synchronize();
            };
            return c;
          }};
}

struct NamedShape {
  const char* name;
  MoeShape shape;
};

}  // namespace

std::vector<CaseSpec> MoeCases() {
  std::vector<CaseSpec> cases;
  for (const DType act : {DType::kF32, DType::kBF16}) {
    cases.push_back(RouteCase("E8 A2", {9, 128, 8, 2}, act));
    cases.push_back(RouteCase("E33 A5 images", {9, 71, 33, 5, true}, act));
    cases.push_back(RouteCase("A1", {5, 96, 16, 1}, act));
    cases.push_back(RouteCase("all experts", {3, 96, 6, 6}, act));
    cases.push_back(RouteCase("ties", {9, 160, 16, 3, false, true}, act));
    cases.push_back(RouteCase("released widths", {3, 5120, 384, 6}, act));
  }
  const NamedShape kShapes[] = {
      {"tiny", {7, 128, 64, 64, 8, 2}},
      {"clamped", {5, 96, 96, 32, 4, 3, 0.5f}},
      {"no clamp", {3, 64, 32, 96, 4, 1, 0.0f}},
      {"one row", {1, 128, 64, 64, 8, 2}},
      {"all to one", {21, 128, 64, 64, 8, 2, 10, DType::kF4E2M1, DType::kF8E4M3, true}},
      {"many rows", {70, 96, 64, 64, 6, 3}},
      {"f8 experts", {5, 128, 64, 64, 4, 2, 10, DType::kF8E4M3, DType::kF8E4M3}},
      {"plain experts", {5, 128, 64, 64, 4, 2, 10, DType::kBF16, DType::kF32}},
      {"released hidden size", {3, 5120, 64, 32, 3, 2}},
      {"released expert width", {2, 64, 2304, 2304, 3, 2}},
  };
  for (const NamedShape& s : kShapes) {
    for (const Numerics numerics : {Numerics::kFp32, Numerics::kBf16, Numerics::kProduction}) {
      cases.push_back(UpCase(s.name, s.shape, numerics));
    }
    for (const DType act : {DType::kF32, DType::kBF16}) {
      cases.push_back(DownCase(s.name, s.shape, act));
    }
  }
  return cases;
}

}  // namespace deepinfer::parity
