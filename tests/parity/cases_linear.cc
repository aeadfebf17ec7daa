// Linear and GroupedLinear.
#include <array>
#include <string>

#include "backend/ops/linear.h"
#include "base/strings.h"
#include "parity/caches.h"
#include "parity/parity_case.h"

namespace deepinfer::parity {
namespace {

struct LinearShape {
  int64_t m, n, k;
};

Tolerance ToleranceFor(DType y) { return y == DType::kF32 ? kSumF32 : kSumBf16; }

CaseSpec LinearCase(LinearShape s, DType x, DType w, DType y, Fill fill) {
  std::string name =
      StrCat("linear/", DTypeName(x), " x ", DTypeName(w), " to ", DTypeName(y), " M", s.m, " N",
             s.n, " K", s.k, fill == Fill::kMixedRows ? " mixed" : "");
  return {name, [=](Rng& rng) {
            ParityCase c;
            c.ops = {"Linear"};
            c.num_rows = s.m;
            c.In("x", Random(rng, x, {s.m, s.k}, fill), 0);
            c.Weight("weight", RandomWeight(rng, w, s.n, s.k));
            c.Out("y", y, {s.m, s.n}, Numbers(ToleranceFor(y)));
            c.run = [](backend::Stream& stream, const Bound& b) {
              ops::Linear(stream, {.x = b["x"], .weight = b.Weight("weight"), .y = b["y"]});
            };
            return c;
          }};
}

// Mode P: quantised rows in, quantised rows out.
CaseSpec QuantizedCase(LinearShape s, DType w, int32_t num_groups) {
  return {StrCat("linear/quantized ", DTypeName(w), " M", s.m, " N", s.n, " K", s.k, " groups ",
                 num_groups),
          [=](Rng& rng) {
            ParityCase c;
            c.ops = {"Linear", "GroupedLinear"};
            c.num_rows = s.m;
            HostTensor x = Random(rng, DType::kBF16, {s.m, num_groups * s.k});
            QuantizeToQ8(x);  // as mode P hands rows to a projection
            c.In("x", std::move(x), 0);
            c.Weight("weight", RandomWeight(rng, w, num_groups * s.n, s.k));
            c.Out("y", DType::kBF16, {s.m, num_groups * s.n}, Numbers(kF8GridF32));
            c.run = [=](backend::Stream& stream, const Bound& b) {
              const ops::OutputFormat output = ops::OutputFormat::kQuantized;
              if (num_groups == 1) {
                ops::Linear(
                    stream,
                    {.x = b["x"], .weight = b.Weight("weight"), .y = b["y"], .output = output});
              } else {
                ops::GroupedLinear(stream, {.x = b["x"],
                                            .weight = b.Weight("weight"),
                                            .num_groups = num_groups,
                                            .y = b["y"],
                                            .output = output});
              }
            };
            return c;
          }};
}

// `n` and `k` of one group.
CaseSpec GroupedCase(LinearShape s, int32_t num_groups, DType act, DType w) {
  return {
      StrCat("linear/grouped ", DTypeName(act), " x ", DTypeName(w), " M", s.m, " N", s.n, " K",
             s.k, " groups ", num_groups),
      [=](Rng& rng) {
        ParityCase c;
        c.ops = {"GroupedLinear"};
        c.num_rows = s.m;
        c.In("x", Random(rng, act, {s.m, num_groups * s.k}), 0);
        c.Weight("weight", RandomWeight(rng, w, num_groups * s.n, s.k));
        c.Out("y", act, {s.m, num_groups * s.n}, Numbers(ToleranceFor(act)));
        c.run = [=](backend::Stream& stream, const Bound& b) {
          ops::GroupedLinear(
              stream,
              {.x = b["x"], .weight = b.Weight("weight"), .num_groups = num_groups, .y = b["y"]});
        };
        return c;
      }};
}

}  // namespace

std::vector<CaseSpec> LinearCases() {
  constexpr DType kF32 = DType::kF32, kBF16 = DType::kBF16;
  constexpr DType kWeights[] = {DType::kF32, DType::kBF16, DType::kF8E4M3, DType::kF4E2M1};
  constexpr std::array<DType, 2> kInOut[] = {
      {kF32, kF32}, {kBF16, kBF16}, {kBF16, kF32}, {kF32, kBF16}};
  std::vector<CaseSpec> cases;
  for (const DType w : kWeights) {
    for (const auto& [x, y] : kInOut) {
      cases.push_back(LinearCase({5, 72, 160}, x, w, y, Fill::kMixedRows));
    }
    for (const DType act : {kF32, kBF16}) {
      for (const LinearShape shape :
           {LinearShape{1, 96, 128}, {3, 33, 96}, {37, 48, 64}, {70, 40, 320}, {18, 1, 32}}) {
        cases.push_back(LinearCase(shape, act, w, act, Fill::kNormal));
      }
      for (const LinearShape shape : {LinearShape{3, 40, 5120}, {2, 40, 4096}, {9, 33, 1280}}) {
        cases.push_back(LinearCase(shape, act, w, act, Fill::kNormal));
      }
      cases.push_back(GroupedCase({5, 33, 96}, 3, act, w));
      cases.push_back(GroupedCase({3, 16, 4096}, 2, act, w));
    }
    cases.push_back(QuantizedCase({5, 64, 96}, w, 1));
    cases.push_back(QuantizedCase({9, 32, 128}, w, 3));
    cases.push_back(QuantizedCase({3, 48, 64}, w, 2));  // groups of 32 that straddle two parts
  }
  for (const DType w :
       {DType::kF32, DType::kBF16, DType::kF8E4M3}) {  // K that is no multiple of 32
    for (const DType act : {kF32, kBF16}) {
      cases.push_back(LinearCase({4, 40, 70}, act, w, act, Fill::kNormal));
      cases.push_back(LinearCase({3, 5, 7}, act, w, act, Fill::kNormal));
    }
  }
  return cases;
}

}  // namespace deepinfer::parity
