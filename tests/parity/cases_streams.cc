// EmbedStreams, HcCoeff, HcWriteNorm and FinalNormHead.
#include <string>

#include "backend/ops/checks.h"
#include "backend/ops/streams.h"
#include "base/strings.h"
#include "parity/parity_case.h"

namespace deepinfer::parity {
namespace {

constexpr float kEps = 1e-20f;

Tolerance Chain(DType act) { return act == DType::kF32 ? kChainF32 : kChainBf16; }

CaseSpec EmbedCase(int64_t num_tokens, int64_t n, int64_t hidden_size, DType act) {
  return {StrCat("streams/embed ", DTypeName(act), " T", num_tokens, " n", n, " D", hidden_size),
          [=](Rng& rng) {
            ParityCase c;
            c.ops = {"EmbedStreams"};
            c.num_rows = num_tokens;
            constexpr int32_t kVocab = 19;
            HostTensor ids = Zeros(DType::kI32, {num_tokens});
            for (int64_t t = 0; t < num_tokens; ++t) {
              ids.as<int32_t>()[t] = UniformInt(rng, -1, kVocab);  // both ends are outside
            }
            c.In("token_ids", std::move(ids), 0);
            c.In("embed", Random(rng, DType::kBF16, {kVocab, hidden_size}), kShared);
            c.Out("streams", act, {num_tokens, n, hidden_size}, {});
            c.Out("pre", DType::kF32, {num_tokens, n}, {});
            c.run = [](backend::Stream& stream, const Bound& b) {
              ops::EmbedStreams(stream, {.token_ids = b["token_ids"],
                                         .embed = b["embed"],
                                         .streams = b["streams"],
                                         .pre = b["pre"]});
            };
            return c;
          }};
}

CaseSpec CoeffCase(int64_t num_tokens, int64_t n, int64_t hidden_size, DType act, Fill fill) {
  return {StrCat("streams/hc_coeff ", DTypeName(act), " T", num_tokens, " n", n, " D", hidden_size,
                 fill == Fill::kMixedRows ? " mixed" : ""),
          [=](Rng& rng) {
            ParityCase c;
            c.ops = {"HcCoeff"};
            c.num_rows = num_tokens;
            const int64_t num_coeffs = (2 + n) * n;
            const Tolerance tolerance = n * hidden_size > 8192 ? kLongChainF32 : kChainF32;
            c.In("streams", Random(rng, act, {num_tokens, n, hidden_size}, fill), 0);
            c.Weight("fn",
                     {Random(rng, DType::kF32, {num_coeffs, n * hidden_size}, Fill::kNormal, 0.02f),
                      {}});
            c.Weight("base", {Random(rng, DType::kF32, {num_coeffs}), {}});
            c.Weight("scale", {Random(rng, DType::kF32, {3}), {}});
            c.Out("pre", DType::kF32, {num_tokens, n}, Numbers(tolerance));
            c.Out("post", DType::kF32, {num_tokens, n}, Numbers(tolerance));
            c.Out("comb", DType::kF32, {num_tokens, n, n}, Numbers(tolerance));
            c.run = [](backend::Stream& stream, const Bound& b) {
              ops::HcCoeff(stream, {.streams = b["streams"],
                                    .fn = b["fn"],
                                    .base = b["base"],
                                    .scale = b["scale"],
                                    .rms_norm_eps = kEps,
                                    .hc_eps = 1e-6f,
                                    .num_sinkhorn_iters = 20,
                                    .pre = b["pre"],
                                    .post = b["post"],
                                    .comb = b["comb"]});
            };
            return c;
          }};
}

struct WriteNormParts {
  int64_t num_slots = 0;  // 0: no write part
  bool has_norm = true;
  bool has_quant = false;
};

CaseSpec WriteNormCase(int64_t num_tokens, int64_t n, int64_t hidden_size, DType act,
                       WriteNormParts parts, Fill fill = Fill::kNormal) {
  return {StrCat("streams/hc_write_norm ", DTypeName(act), " T", num_tokens, " n", n, " D",
                 hidden_size, " slots ", parts.num_slots, parts.has_norm ? " norm" : "",
                 parts.has_quant ? " quant" : "", fill == Fill::kMixedRows ? " mixed" : ""),
          [=](Rng& rng) {
            ParityCase c;
            c.ops = {"HcWriteNorm"};
            c.num_rows = num_tokens;
            // Without a write part the streams are input alone: they must come back unchanged.
            const Compare streams = parts.num_slots > 0 ? Numbers(Chain(act)) : Compare();
            c.InOut("streams", Random(rng, act, {num_tokens, n, hidden_size}, fill), 0, streams);
            if (parts.num_slots > 0) {
              c.In("delta", Random(rng, act, {num_tokens, parts.num_slots, hidden_size}, fill), 0);
              c.In("post", Random(rng, DType::kF32, {num_tokens, n}), 0);
              c.In("comb", Random(rng, DType::kF32, {num_tokens, n, n}), 0);
            }
            if (parts.has_norm) {
              c.In("pre", Random(rng, DType::kF32, {num_tokens, n}), 0);
              c.Weight("norm", {RandomNormWeight(rng, {hidden_size}), {}});
              c.Out("x", act, {num_tokens, hidden_size}, Numbers(Chain(act)));
            }
            if (parts.has_quant) {
              c.Out("x_quant", DType::kBF16, {num_tokens, hidden_size}, Numbers(kF8GridBf16));
            }
            c.run = [](backend::Stream& stream, const Bound& b) {
              ops::HcWriteNorm(stream, {.delta = b["delta"],
                                        .post = b["post"],
                                        .comb = b["comb"],
                                        .streams = b["streams"],
                                        .pre = b["pre"],
                                        .norm = b["norm"],
                                        .rms_norm_eps = kEps,
                                        .x = b["x"],
                                        .x_quant = b["x_quant"]});
            };
            return c;
          }};
}

CaseSpec HeadCase(int64_t num_tokens, int64_t num_rows, int64_t n, int64_t hidden_size,
                  int64_t vocab_size, DType act) {
  return {StrCat("streams/final_norm_head ", DTypeName(act), " T", num_tokens, " R", num_rows, " n",
                 n, " D", hidden_size, " V", vocab_size),
          [=](Rng& rng) {
            ParityCase c;
            c.ops = {"FinalNormHead"};
            c.num_rows = num_rows;
            c.In("streams", Random(rng, act, {num_tokens, n, hidden_size}), kShared);
            c.In("pre", Random(rng, DType::kF32, {num_tokens, n}), kShared);
            c.Weight("norm", {RandomNormWeight(rng, {hidden_size}), {}});
            c.Weight("head", RandomWeight(rng, DType::kBF16, vocab_size, hidden_size));
            HostTensor rows = Zeros(DType::kI32, {num_rows});
            for (int64_t r = 0; r < num_rows; ++r) {
              rows.as<int32_t>()[r] = UniformInt(rng, 0, static_cast<int32_t>(num_tokens) - 1);
            }
            c.In("row_idx", std::move(rows), 0);
            c.Out("hidden", act, {num_rows, hidden_size}, Numbers(Chain(act)));
            c.Out("logits", DType::kF32, {num_rows, vocab_size},
                  Numbers(act == DType::kF32 ? kChainF32 : kBf16InF32));
            c.run = [](backend::Stream& stream, const Bound& b) {
              ops::FinalNormHead(stream, {.streams = b["streams"],
                                          .pre = b["pre"],
                                          .norm = b["norm"],
                                          .head = b.Weight("head"),
                                          .rms_norm_eps = kEps,
                                          .row_idx = b["row_idx"],
                                          .hidden = b["hidden"],
                                          .logits = b["logits"]});
            };
            return c;
          }};
}

}  // namespace

std::vector<CaseSpec> StreamsCases() {
  std::vector<CaseSpec> cases;
  for (const DType act : {DType::kF32, DType::kBF16}) {
    cases.push_back(EmbedCase(7, 4, 160, act));
    cases.push_back(EmbedCase(3, 2, 37, act));
    cases.push_back(EmbedCase(2, 4, 5120, act));

    cases.push_back(CoeffCase(5, 4, 160, act, Fill::kMixedRows));
    cases.push_back(CoeffCase(3, 2, 37, act, Fill::kNormal));
    cases.push_back(CoeffCase(2, 3, 96, act, Fill::kNormal));
    cases.push_back(CoeffCase(17, 4, 5120, act, Fill::kNormal));

    cases.push_back(WriteNormCase(5, 4, 160, act, {.num_slots = 1}, Fill::kMixedRows));
    cases.push_back(WriteNormCase(5, 4, 160, act, {.num_slots = 3}, Fill::kMixedRows));
    cases.push_back(WriteNormCase(4, 2, 37, act, {.num_slots = 1}));
    cases.push_back(WriteNormCase(4, 4, 72, act, {.num_slots = 2, .has_norm = false}));
    cases.push_back(WriteNormCase(4, 4, 72, act, {.num_slots = 0}));
    cases.push_back(WriteNormCase(9, 4, 5120, act, {.num_slots = 7}));

    cases.push_back(HeadCase(9, 5, 4, 160, 70, act));
    cases.push_back(HeadCase(1, 1, 2, 37, 3, act));
    cases.push_back(HeadCase(3, 2, 4, 5120, 100, act));
  }
  constexpr DType kBF16 = DType::kBF16;
  cases.push_back(
      WriteNormCase(6, 4, 160, kBF16, {.num_slots = 3, .has_quant = true}, Fill::kMixedRows));
  cases.push_back(WriteNormCase(6, 4, 96, kBF16, {.num_slots = 0, .has_quant = true}));
  cases.push_back(WriteNormCase(5, 4, 5120, kBF16, {.num_slots = 1, .has_quant = true}));
  return cases;
}

}  // namespace deepinfer::parity
