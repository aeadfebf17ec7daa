// EngramHash, EngramGather and EngramInject.
#include <string>

#include "backend/ops/engram.h"
#include "base/strings.h"
#include "parity/caches.h"
#include "parity/parity_case.h"

namespace deepinfer::parity {
namespace {

struct HashShape {
  std::vector<Span> spans;
  int64_t num_layers, max_ngram_size, num_heads;
  int64_t max_multiplier;
  bool has_images = false;
};

HostTensor RandomInt64(Rng& rng, std::vector<int64_t> shape, int64_t min, int64_t max) {
  HostTensor tensor = Zeros(DType::kI64, std::move(shape));
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    tensor.as<int64_t>()[i] = min + static_cast<int64_t>(rng() % static_cast<uint64_t>(max - min));
  }
  return tensor;
}

CaseSpec HashCase(const std::string& what, HashShape s) {
  return {StrCat("engram/hash ", what), [=](Rng& rng) {
            constexpr int32_t kTokenizerSize = 50, kCompressedSize = 23;
            ParityCase c;
            c.ops = {"EngramHash"};
            c.Batch(RandomSequences(rng, s.spans));
            HostTensor ids = Zeros(DType::kI32, {c.num_rows});
            for (int64_t t = 0; t < c.num_rows; ++t) {
              // One in ten lies outside of the map, on either side.
              ids.as<int32_t>()[t] = UniformInt(rng, -2, kTokenizerSize + 3);
            }
            c.In("token_ids", std::move(ids), 0);
            if (s.has_images) {
              HostTensor is_image = Zeros(DType::kU8, {c.num_rows});
              for (uint8_t& flag : is_image.bytes) flag = UniformInt(rng, 0, 4) == 0;
              c.In("is_image", std::move(is_image), 0);
            }
            HostTensor map = Zeros(DType::kI32, {kTokenizerSize});
            for (int32_t i = 0; i < kTokenizerSize; ++i) {
              map.as<int32_t>()[i] = UniformInt(rng, 0, kCompressedSize - 1);
            }
            c.In("compressed_ids", std::move(map), kShared);
            const int64_t num_hashes = (s.max_ngram_size - 1) * s.num_heads;
            c.In("multipliers",
                 RandomInt64(rng, {s.num_layers, s.max_ngram_size}, 1, s.max_multiplier), kShared);
            c.In("primes", RandomInt64(rng, {s.num_layers, num_hashes}, 2, 16000463), kShared);
            c.In("offsets", RandomInt64(rng, {s.num_layers, num_hashes}, 0, 380000000), kShared);
            const RingPlace history = PlaceRing(static_cast<int32_t>(s.max_ngram_size) + 4, 4);
            HostTensor pool = Zeros(DType::kU8, {kNumSlots, history.slot_bytes});
            for (size_t i = 0; i < pool.bytes.size() / 4; ++i) {
              pool.as<int32_t>()[i] = UniformInt(rng, -1, kCompressedSize - 1);
            }
            c.InOut("history", std::move(pool), kShared, {});
            c.Out("row_ids", DType::kI64, {s.num_layers, c.num_rows, num_hashes}, {}, 1);
            c.run = [=](backend::Stream& stream, const Bound& b) {
              ops::EngramHash(stream, {.batch = b.batch(),
                                       .token_ids = b["token_ids"],
                                       .is_image = b["is_image"],
                                       .compressed_ids = b["compressed_ids"],
                                       .multipliers = b["multipliers"],
                                       .primes = b["primes"],
                                       .offsets = b["offsets"],
                                       .pad_id = 2,
                                       .history = history.View(b["history"]),
                                       .row_ids = b["row_ids"]});
            };
            return c;
          }};
}

CaseSpec GatherCase(int64_t num_rows, int64_t num_hashes, int64_t width, DType act) {
  return {StrCat("engram/gather ", DTypeName(act), " T", num_rows, " K", num_hashes, " Ne", width),
          [=](Rng& rng) {
            constexpr int64_t kTableRows = 67;
            ParityCase c;
            c.ops = {"EngramGather"};
            c.num_rows = num_rows;
            HostTensor row_ids = RandomInt64(rng, {num_rows, num_hashes}, 0, kTableRows);
            row_ids.as<int64_t>()[0] = kTableRows - 1;
            c.In("row_ids", std::move(row_ids), 0);
            HostWeight table = RandomWeight(rng, DType::kF8E4M3, kTableRows, width);
            HostTensor scale = Zeros(DType::kUE8M0, {kTableRows, width / 32});  // one a row
            for (uint8_t& byte : scale.bytes) byte = static_cast<uint8_t>(UniformInt(rng, 60, 200));
            c.Weight("table", {std::move(table.data), std::move(scale)});
            c.Out("out", act, {num_rows, num_hashes * width}, {});
            c.run = [](backend::Stream& stream, const Bound& b) {
              ops::EngramGather(stream, {.row_ids = b["row_ids"],
                                         .table = b["table"],
                                         .scale = b["table.scale"],
                                         .out = b["out"]});
            };
            return c;
          }};
}

CaseSpec InjectCase(int64_t num_rows, int64_t n, int64_t hidden_size, DType act, Fill fill,
                    bool has_images) {
  return {StrCat("engram/inject ", DTypeName(act), " T", num_rows, " n", n, " D", hidden_size,
                 fill == Fill::kMixedRows ? " mixed" : "", has_images ? " images" : ""),
          [=](Rng& rng) {
            ParityCase c;
            c.ops = {"EngramInject"};
            c.num_rows = num_rows;
            c.In("kv", Random(rng, act, {num_rows, (n + 1) * hidden_size}, fill), 0);
            for (const char* name : {"q_weight", "k_weight"}) {
              c.Weight(name, {RandomNormWeight(rng, {n, hidden_size}), {}});
            }
            if (has_images) {
              HostTensor is_image = Zeros(DType::kU8, {num_rows});
              for (int64_t t = 0; t < num_rows; ++t) is_image.bytes[t] = t % 3 == 1;
              c.In("is_image", std::move(is_image), 0);
            }
            c.InOut("streams", Random(rng, act, {num_rows, n, hidden_size}, fill), 0,
                    Numbers(act == DType::kF32 ? kChainF32 : kChainBf16));
            c.run = [](backend::Stream& stream, const Bound& b) {
              ops::EngramInject(stream, {.kv = b["kv"],
                                         .q_weight = b["q_weight"],
                                         .k_weight = b["k_weight"],
                                         .is_image = b["is_image"],
                                         .rms_norm_eps = 1e-20f,
                                         .streams = b["streams"]});
            };
            return c;
          }};
}

}  // namespace

std::vector<CaseSpec> EngramCases() {
  const std::vector<Span> ragged = {{0, 9}, {2, 4}, {0, 0}, {40, 1}, {17, 23}};
  constexpr int64_t kReleasedMultiplier = int64_t{93} << 40;  // below 2^63 / 99092
  std::vector<CaseSpec> cases = {
      HashCase("released multipliers", {ragged, 2, 4, 8, kReleasedMultiplier}),
      HashCase("images", {ragged, 2, 4, 2, kReleasedMultiplier, true}),
      HashCase("bigrams", {ragged, 1, 2, 3, 1000, true}),
  };
  for (const DType act : {DType::kF32, DType::kBF16}) {
    cases.push_back(GatherCase(5, 6, 32, act));
    cases.push_back(GatherCase(3, 24, 256, act));
    cases.push_back(GatherCase(2, 3, 96, act));
    cases.push_back(InjectCase(5, 4, 160, act, Fill::kMixedRows, false));
    cases.push_back(InjectCase(5, 2, 37, act, Fill::kNormal, true));
    cases.push_back(InjectCase(3, 4, 5120, act, Fill::kNormal, true));
  }
  return cases;
}

}  // namespace deepinfer::parity
