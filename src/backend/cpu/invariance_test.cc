// The kernels that share out work give a row the same bits with any number of threads, whatever is
// computed beside it and however a sequence is cut, at sizes that are shared out.  (That they are
// right is for the parity suite, whose cases are small.)
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "backend/cpu/cpu_device.h"
#include "backend/cpu/testing/host_tensors.h"
#include "backend/ops/attention.h"
#include "backend/ops/compress.h"
#include "backend/ops/engram.h"
#include "backend/ops/indexer.h"
#include "backend/ops/streams.h"
#include "tensor/quantize.h"

namespace deepinfer::cpu {
namespace {

struct Runner {
  Runner(Isa isa, int32_t num_threads)
      : device(std::move(CreateCpuDevice({.num_threads = num_threads, .isa = isa})).value()),
        stream(device->CreateStream()) {}
  std::unique_ptr<backend::Device> device;
  std::unique_ptr<backend::Stream> stream;
};

// Every instruction set of this machine; one runner of a single thread, one of three.
void ForEachIsa(const std::function<void(backend::Stream& one, backend::Stream& three)>& body) {
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16, Isa::kAmx}) {
    if (!HasIsa(isa)) continue;
    SCOPED_TRACE(std::string(IsaName(isa)));
    Runner one(isa, 1), three(isa, 3);
    body(*one.stream, *three.stream);
  }
}

testing::AssertionResult SameBits(const TensorView& a, const TensorView& b) {
  if (a.num_bytes() != b.num_bytes()) return testing::AssertionFailure() << "sizes differ";
  for (size_t i = 0; i < a.num_bytes(); ++i) {
    if (a.as<uint8_t>()[i] != b.as<uint8_t>()[i]) {
      return testing::AssertionFailure() << "byte " << i << " of " << a.num_bytes();
    }
  }
  return testing::AssertionSuccess();
}

ops::HcCoeffArgs CoeffArgs(HostTensors& host, DType act, int64_t num_rows) {
  constexpr int64_t kStreams = 4, kHidden = 1300, kCoeffs = 24;  // five pieces and a tail
  ops::HcCoeffArgs args;
  args.streams = host.Normal(act, {num_rows, kStreams, kHidden});
  args.fn = host.Normal(DType::kF32, {kCoeffs, kStreams * kHidden}, 0.02f);
  args.base = host.Normal(DType::kF32, {kCoeffs});
  args.scale = host.Normal(DType::kF32, {3});
  args.rms_norm_eps = 1e-20f;
  args.hc_eps = 1e-6f;
  args.num_sinkhorn_iters = 20;
  args.pre = host.Empty(DType::kF32, {num_rows, kStreams});
  args.post = host.Empty(DType::kF32, {num_rows, kStreams});
  args.comb = host.Empty(DType::kF32, {num_rows, kStreams, kStreams});
  return args;
}

ops::HcCoeffArgs RowsOf(ops::HcCoeffArgs args, int64_t begin, int64_t count) {
  for (TensorView* view : {&args.streams, &args.pre, &args.post, &args.comb}) {
    *view = view->Rows(begin, count);
  }
  return args;
}

TEST(CpuInvariance, HcCoeff) {
  ForEachIsa([](backend::Stream& one, backend::Stream& three) {
    for (const DType act : {DType::kF32, DType::kBF16}) {
      constexpr int64_t kRows = 53;  // tiles of rows for three threads, and some left over
      HostTensors host;
      const ops::HcCoeffArgs args = CoeffArgs(host, act, kRows);
      ops::HcCoeffArgs again = args;
      again.pre = host.Empty(DType::kF32, {kRows, 4});
      again.post = host.Empty(DType::kF32, {kRows, 4});
      again.comb = host.Empty(DType::kF32, {kRows, 4, 4});
      ops::HcCoeff(three, args);
      // Alone, then five together, then the rest: one by one, in fours, and in tiles.
      ops::HcCoeff(three, RowsOf(again, 0, 1));
      ops::HcCoeff(three, RowsOf(again, 1, 5));
      ops::HcCoeff(one, RowsOf(again, 6, kRows - 6));
      EXPECT_TRUE(SameBits(args.pre, again.pre));
      EXPECT_TRUE(SameBits(args.post, again.post));
      EXPECT_TRUE(SameBits(args.comb, again.comb));
    }
  });
}

TEST(CpuInvariance, HcWriteNorm) {
  ForEachIsa([](backend::Stream& one, backend::Stream& three) {
    for (const int64_t num_rows : {int64_t{2}, int64_t{20}}) {  // shared out by pieces, by rows
      constexpr int64_t kHidden = 2336, kStreams = 4;
      HostTensors host;
      ops::HcWriteNormArgs args;
      args.delta = host.Normal(DType::kBF16, {num_rows, 3, kHidden});
      args.post = host.Normal(DType::kF32, {num_rows, kStreams});
      args.comb = host.Normal(DType::kF32, {num_rows, kStreams, kStreams});
      args.streams = host.Normal(DType::kBF16, {num_rows, kStreams, kHidden});
      args.pre = host.Normal(DType::kF32, {num_rows, kStreams});
      args.norm = host.Normal(DType::kBF16, {kHidden});
      args.rms_norm_eps = 1e-20f;
      args.x = host.Empty(DType::kBF16, {num_rows, kHidden});
      args.x_quant = host.Empty(DType::kBF16, {num_rows, kHidden});
      ops::HcWriteNormArgs again = args;
      again.streams = host.Empty(DType::kBF16, {num_rows, kStreams, kHidden});
      std::memcpy(again.streams.data(), args.streams.data(), args.streams.num_bytes());
      again.x = host.Empty(DType::kBF16, {num_rows, kHidden});
      again.x_quant = host.Empty(DType::kBF16, {num_rows, kHidden});
      ops::HcWriteNorm(one, args);
      ops::HcWriteNorm(three, again);
      EXPECT_TRUE(SameBits(args.streams, again.streams));
      EXPECT_TRUE(SameBits(args.x, again.x));
      EXPECT_TRUE(SameBits(args.x_quant, again.x_quant));
    }
  });
}

// A prompt with its own window records, entries and selection; compress_ratio 1.
struct AttentionCase {
  static constexpr int64_t kHeads = 10, kWidth = 64, kTopK = 90;
  static constexpr int32_t kRows = 230, kWindow = 100;

  AttentionCase(HostTensors& host, Numerics numerics) {
    const DType act = numerics == Numerics::kFp32 ? DType::kF32 : DType::kBF16;
    args.numerics = numerics;
    args.batch = host.OneSequence(kRows, 0);
    args.q = host.Normal(act, {kRows, kHeads, kWidth}, 2.0f);
    const int64_t record_bytes = ops::Fp8RecordBytes(kWidth);
    const TensorView kv = host.Normal(DType::kF32, {kRows, kWidth});
    args.kv_record = host.Empty(DType::kU8, {kRows, record_bytes});
    args.ring = {.pool = host.Empty(DType::kU8, {1, (kWindow + 6) * record_bytes}),
                 .ring_len = kWindow + 6};
    args.window = kWindow;
    const int64_t entry_bytes = ops::Fp4MainRecordBytes(kWidth);
    args.pages = {.pool = host.Empty(DType::kU8, {2, ops::kBlockSize * entry_bytes}),
                  .entries_per_block = ops::kBlockSize};
    for (int64_t i = 0; i < kRows; ++i) {
      uint8_t* record = args.kv_record.as<uint8_t>() + i * record_bytes;
      QuantizeQ8(kv.as<float>() + i * kWidth, kWidth, record, record + kWidth);
      uint8_t* entry = args.pages.pool.as<uint8_t>() + i * entry_bytes;
      QuantizeQ4s(kv.as<float>() + i * kWidth, kWidth, entry, entry + kWidth / 2);
    }
    std::vector<int32_t> sel(kRows * kTopK, -1), sel_count(kRows);
    for (int32_t row = 0; row < kRows; ++row) {
      std::vector<int32_t> all(row + 1);
      std::iota(all.begin(), all.end(), 0);
      std::shuffle(all.begin(), all.end(), host.rng());
      all.resize(std::min<size_t>(all.size(), kTopK));
      std::sort(all.begin(), all.end());
      std::copy(all.begin(), all.end(), sel.begin() + row * kTopK);
      sel_count[row] = static_cast<int32_t>(all.size());
    }
    args.sel = host.Ints({kRows, kTopK}, sel);
    args.sel_count = host.Ints({kRows}, sel_count);
    args.attn_sink = host.Normal(DType::kF32, {kHeads});
    args.cos_sin = host.Normal(DType::kF32, {kRows, 8, 2});
    args.softmax_scale = 1.0f / std::sqrt(static_cast<float>(kWidth));
    args.out = host.Empty(act, {kRows, kHeads * kWidth});
  }

  // Rows [begin, begin + count), with the ring as the rows before have left it.
  ops::SparseAttentionArgs Chunk(HostTensors& host, int32_t begin, int32_t count) const {
    ops::SparseAttentionArgs chunk = args;
    chunk.batch = host.OneSequence(count, begin);
    for (TensorView* view :
         {&chunk.q, &chunk.kv_record, &chunk.sel, &chunk.sel_count, &chunk.cos_sin, &chunk.out}) {
      *view = view->Rows(begin, count);
    }
    return chunk;
  }

  ops::SparseAttentionArgs args;
};

TEST(CpuInvariance, SparseAttentionInChunksAndThreads) {
  ForEachIsa([](backend::Stream& one, backend::Stream& three) {
    for (const Numerics numerics : {Numerics::kFp32, Numerics::kBf16, Numerics::kProduction}) {
      HostTensors host;
      AttentionCase prompt(host, numerics);
      ops::SparseAttention(three, prompt.args);
      const TensorView whole = prompt.args.out;
      prompt.args.out = host.Empty(whole.dtype(), {whole.dim(0), whole.dim(1)});
      int32_t begin = 0;
      for (const int32_t count : {150, 1, 2, 70, 7}) {
        const ops::SparseAttentionArgs chunk = prompt.Chunk(host, begin, count);
        ops::SparseAttention(count > 50 ? one : three, chunk);
        ops::WindowWrite(one, {chunk.batch, chunk.kv_record, chunk.ring});
        begin += count;
      }
      ASSERT_EQ(begin, AttentionCase::kRows);
      EXPECT_TRUE(SameBits(whole, prompt.args.out));
    }
  });
}

ops::IndexScoreArgs ScoreArgs(HostTensors& host, int32_t num_rows, int32_t num_entries) {
  constexpr int64_t kHeads = 5, kWidth = 64;
  constexpr int64_t kKeyBytes = ops::IndexKeyDataBytes(kWidth) + ops::IndexKeyScaleBytes(kWidth);
  ops::IndexScoreArgs args;
  args.batch = host.OneSequence(num_rows, num_entries - num_rows);
  args.num_rows = num_rows;
  args.index_topk = 40;
  args.index_q = host.Normal(DType::kF32, {num_rows, kHeads, kWidth});
  FakeQuantQ4x(args.index_q.as<float>(), args.index_q.num_elements());
  args.index_w = host.Normal(DType::kF32, {num_rows, kHeads});
  const int64_t num_blocks = args.batch.block_table.dim(1);
  args.keys = {.pool = host.Empty(DType::kU8, {num_blocks, ops::kBlockSize * kKeyBytes}),
               .entries_per_block = ops::kBlockSize};
  uint8_t* keys = args.keys.pool.as<uint8_t>();
  for (int64_t i = 0; i < args.keys.pool.num_elements(); ++i) {
    const bool is_code = i % (ops::kBlockSize * kKeyBytes) < ops::kBlockSize * kWidth / 2;
    keys[i] = static_cast<uint8_t>(is_code ? host.rng()() % 256 : 120 + host.rng()() % 12);
  }
  args.scores = host.Normal(DType::kF32, {num_rows, num_entries});
  return args;
}

TEST(CpuInvariance, IndexScoreInGroupsThreadsAndCandidates) {
  ForEachIsa([](backend::Stream& one, backend::Stream& three) {
    constexpr int32_t kRows = 11, kEntries = 2500, kBlockSize = 6;
    HostTensors host;
    const ops::IndexScoreArgs args = ScoreArgs(host, kRows, kEntries);
    ops::IndexScore(three, args);
    ops::IndexScoreArgs again = args;
    again.scores = host.Empty(DType::kF32, {kRows, kEntries});
    std::memcpy(again.scores.data(), args.scores.data(), args.scores.num_bytes());
    for (int32_t row = 0; row < kRows; ++row) {
      ops::IndexScoreArgs alone = again;
      alone.row_begin = row;
      alone.num_rows = 1;
      alone.scores = again.scores.Rows(row, 1);
      ops::IndexScore(one, alone);
    }
    EXPECT_TRUE(SameBits(args.scores, again.scores));

    // A third of the blocks; what is inside them must not change.
    ops::IndexScoreArgs some = args;
    constexpr int64_t kCand = 140;
    std::vector<int32_t> cand;
    for (int32_t row = 0; row < kRows; ++row) {
      for (int32_t i = 0; i < kCand; ++i) cand.push_back(i * 3 - i % 2 + (i == 0 ? 0 : row % 2));
    }
    some.cand = host.Ints({kRows, kCand}, cand);
    some.cand_count = host.Ints({kRows}, std::vector<int32_t>(kRows, kCand));
    some.candidate_block_size = kBlockSize;
    some.scores = host.Empty(DType::kF32, {kRows, kEntries});
    ops::IndexScore(three, some);
    for (int32_t row = 0; row < kRows; ++row) {
      const int32_t visible = kEntries - kRows + row + 1;
      const auto first = cand.begin() + row * kCand;
      for (int32_t j = 0; j < visible; ++j) {
        const bool inside = std::binary_search(first, first + kCand, j / kBlockSize);
        const float expected = inside ? args.scores.as<float>()[row * kEntries + j] : -INFINITY;
        ASSERT_EQ(some.scores.as<float>()[row * kEntries + j], expected) << row << " " << j;
      }
    }
  });
}

TEST(CpuInvariance, CompressKvInChunksAndThreads) {
  ForEachIsa([](backend::Stream& one, backend::Stream& three) {
    constexpr int32_t kRows = 301, kRatio = 2;
    constexpr int64_t kHidden = 96, kWidth = 128, kKeyWidth = 32;
    HostTensors host;
    ops::CompressKvArgs args;
    args.compress_ratio = kRatio;
    args.x = host.Normal(DType::kBF16, {kRows, kHidden});
    args.wkv.data = host.Normal(DType::kBF16, {kWidth, kHidden}, 0.1f);
    args.wgate.data = host.Normal(DType::kBF16, {kWidth, kHidden}, 0.3f);
    args.norm = host.Normal(DType::kBF16, {kWidth});
    args.wk.data = host.Normal(DType::kBF16, {kKeyWidth, kWidth}, 0.1f);
    args.k_norm = host.Normal(DType::kBF16, {kKeyWidth});
    args.cos_sin = host.Normal(DType::kF32, {kRows, 8, 2});
    args.rms_norm_eps = 1e-20f;
    const auto with_caches = [&](ops::CompressKvArgs a) {
      constexpr int64_t kEntries = ops::kBlockSize / kRatio, kBlocks = 3;
      a.group = {.pool = host.Empty(DType::kU8, {1, 7 * 2 * kWidth * 4}), .ring_len = 7};
      a.main_pages = {
          .pool = host.Empty(DType::kU8, {kBlocks, kEntries * ops::Fp4MainRecordBytes(kWidth)}),
          .entries_per_block = kEntries};
      a.key_pages = {.pool = host.Empty(DType::kU8, {kBlocks, kEntries * (kKeyWidth / 2 + 1)}),
                     .entries_per_block = kEntries};
      return a;
    };
    ops::CompressKvArgs whole = with_caches(args), cut = with_caches(args);
    whole.batch = host.OneSequence(kRows, 0);
    ops::CompressKv(three, whole);
    int32_t begin = 0;
    for (const int32_t count : {1, 200, 2, 1, 97}) {
      ops::CompressKvArgs chunk = cut;
      chunk.batch = host.OneSequence(count, begin);
      chunk.x = args.x.Rows(begin, count);
      chunk.cos_sin = args.cos_sin.Rows(begin, count);
      ops::CompressKv(count > 50 ? one : three, chunk);
      begin += count;
    }
    ASSERT_EQ(begin, kRows);
    EXPECT_TRUE(SameBits(whole.main_pages.pool, cut.main_pages.pool));
    EXPECT_TRUE(SameBits(whole.key_pages.pool, cut.key_pages.pool));
    EXPECT_TRUE(SameBits(whole.group.pool, cut.group.pool));
  });
}

TEST(CpuInvariance, EngramGatherAndInject) {
  ForEachIsa([](backend::Stream& one, backend::Stream& three) {
    constexpr int64_t kRows = 60, kHashes = 6, kWidth = 96, kTableRows = 500, kStreams = 4;
    constexpr int64_t kHidden = 330;
    HostTensors host;
    ops::EngramGatherArgs gather;
    gather.table = host.Empty(DType::kF8E4M3, {kTableRows, kWidth});
    gather.scale = host.Empty(DType::kUE8M0, {kTableRows, kWidth / 32});
    for (int64_t i = 0; i < kTableRows * kWidth; ++i) {
      gather.table.as<uint8_t>()[i] = static_cast<uint8_t>(host.rng()() % 0x7f);
    }
    std::memset(gather.scale.data(), 125, gather.scale.num_bytes());
    gather.row_ids = host.Empty(DType::kI64, {kRows, kHashes});
    for (int64_t i = 0; i < kRows * kHashes; ++i) {
      gather.row_ids.as<int64_t>()[i] = static_cast<int64_t>(host.rng()() % kTableRows);
    }
    gather.out = host.Empty(DType::kBF16, {kRows, kHashes * kWidth});
    ops::EngramGather(one, gather);
    const TensorView rows = gather.out;
    gather.out = host.Empty(DType::kBF16, {kRows, kHashes * kWidth});
    ops::EngramGather(three, gather);
    EXPECT_TRUE(SameBits(rows, gather.out));

    ops::EngramInjectArgs inject;
    inject.kv = host.Normal(DType::kF32, {kRows, (kStreams + 1) * kHidden});
    inject.q_weight = host.Normal(DType::kBF16, {kStreams, kHidden});
    inject.k_weight = host.Normal(DType::kBF16, {kStreams, kHidden});
    inject.rms_norm_eps = 1e-20f;
    inject.streams = host.Normal(DType::kF32, {kRows, kStreams, kHidden});
    ops::EngramInjectArgs again = inject;
    again.streams = host.Empty(DType::kF32, {kRows, kStreams, kHidden});
    std::memcpy(again.streams.data(), inject.streams.data(), inject.streams.num_bytes());
    ops::EngramInject(three, inject);
    ops::EngramInject(one, again);
    EXPECT_TRUE(SameBits(inject.streams, again.streams));
  });
}

}  // namespace
}  // namespace deepinfer::cpu
