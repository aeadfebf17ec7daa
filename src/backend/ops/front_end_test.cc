// The front ends: what they refuse, and what reaches a kernel.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/op_table.h"
#include "backend/ops/checks.h"
#include "base/check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace deepinfer::ops {
namespace {

int32_t g_num_calls = 0;  // of the counting kernels; one test at a time

template <typename Args>
void CountCall(backend::Stream&, const Args&) {
  ++g_num_calls;
}

backend::OpTable CountingTable() {
  backend::OpTable table;
#define DI_COUNT(Name, slot) table.slot = CountCall<Name##Args>;
  DI_OP_LIST(DI_COUNT)
#undef DI_COUNT
  return table;
}

// A stream with an op table and nothing else.
class FakeStream : public backend::Stream {
 public:
  explicit FakeStream(backend::OpTable table) : table_(table) {}
  backend::Device& device() const override { DI_FATAL("no device"); }
  const backend::OpTable& ops() const override { return table_; }
  void CopyToDevice(void*, const void*, size_t) override {}
  void CopyToHost(void*, const void*, size_t) override {}
  void CopyOnDevice(void*, const void*, size_t) override {}
  void FillZero(void*, size_t) override {}
  void Synchronize() override {}

 private:
  backend::OpTable table_;
};

// Views of memory that is never touched.
TensorView View(DType dtype, std::initializer_list<int64_t> shape) {
  static int64_t memory[1];
  return TensorView(memory, dtype, shape);
}
TensorView F32(std::initializer_list<int64_t> shape) { return View(DType::kF32, shape); }
TensorView Bf16(std::initializer_list<int64_t> shape) { return View(DType::kBF16, shape); }
TensorView I32(std::initializer_list<int64_t> shape) { return View(DType::kI32, shape); }
TensorView U8(std::initializer_list<int64_t> shape) { return View(DType::kU8, shape); }

WeightView F8Weight(int64_t n, int64_t k) {
  return {View(DType::kF8E4M3, {n, k}), View(DType::kUE8M0, {(n + 31) / 32, (k + 31) / 32})};
}

BatchView Batch(int32_t num_tokens, int32_t num_seqs) {
  return {num_tokens,          num_seqs,        I32({num_tokens}), I32({num_tokens}),
          I32({num_seqs + 1}), I32({num_seqs}), I32({num_seqs}),   I32({num_seqs, 4})};
}

// The message of the InternalError that `call` throws, or "" when it throws none.
template <typename Call>
std::string Refusal(Call call) {
  try {
    call();
  } catch (const InternalError& error) {
    return error.what();
  }
  return "";
}

class FrontEnd : public testing::Test {
 protected:
  void SetUp() override { g_num_calls = 0; }
  FakeStream stream_{CountingTable()};
};

TEST_F(FrontEnd, CallsTheKernelOnceWhenTheContractHolds) {
  Linear(stream_, {.x = F32({3, 70}), .weight = F8Weight(40, 70), .y = F32({3, 40})});
  Linear(stream_, {.x = Bf16({3, 64}), .weight = {Bf16({8, 64}), {}}, .y = F32({3, 8})});
  EXPECT_EQ(g_num_calls, 2);
}

TEST_F(FrontEnd, AStepWithoutRowsReachesNoKernel) {
  Linear(stream_, {.x = F32({0, 70}), .weight = F8Weight(40, 70), .y = F32({0, 40})});
  WindowWrite(stream_, {.batch = Batch(0, 2),
                        .kv_record = U8({0, 66}),
                        .ring = {.pool = U8({4, 1000}), .offset = 0, .ring_len = 8}});
  EXPECT_EQ(g_num_calls, 0);
}

TEST_F(FrontEnd, NamesTheOpWithoutAKernel) {
  FakeStream empty{backend::OpTable()};
  const LinearArgs args = {.x = F32({1, 32}), .weight = F8Weight(8, 32), .y = F32({1, 8})};
  EXPECT_THAT(Refusal([&] { Linear(empty, args); }),
              testing::HasSubstr("Linear: this device has no kernel"));
}

TEST_F(FrontEnd, SaysWhatWasExpectedAndWhatCame) {
  const LinearArgs args = {.x = F32({3, 64}), .weight = F8Weight(40, 70), .y = F32({3, 40})};
  EXPECT_THAT(Refusal([&] { Linear(stream_, args); }),
              testing::HasSubstr("Linear: weight: expected f8e4m3[40, 64], got f8e4m3[40, 70]"));
}

TEST_F(FrontEnd, RefusesScalesThatDoNotBelongToTheWeight) {
  LinearArgs args = {.x = F32({3, 64}), .weight = F8Weight(40, 64), .y = F32({3, 40})};
  args.weight.scale = View(DType::kUE8M0, {40, 2});  // one a row is the F4 pair's
  EXPECT_NE(Refusal([&] { Linear(stream_, args); }), "");
  args.weight.scale = {};
  EXPECT_NE(Refusal([&] { Linear(stream_, args); }), "");
  args.weight = {View(DType::kF4E2M1, {40, 64}), View(DType::kUE8M0, {40, 2})};
  EXPECT_EQ(Refusal([&] { Linear(stream_, args); }), "");
  args.weight = {F32({40, 64}), View(DType::kUE8M0, {40, 2})};
  EXPECT_NE(Refusal([&] { Linear(stream_, args); }), "");
}

TEST_F(FrontEnd, RefusesQuantisedOutputThatIsNotBf16InGroups) {
  LinearArgs args = {.x = Bf16({3, 64}), .weight = F8Weight(64, 64), .y = Bf16({3, 64})};
  args.output = OutputFormat::kQuantized;
  EXPECT_EQ(Refusal([&] { Linear(stream_, args); }), "");
  args.y = F32({3, 64});
  EXPECT_NE(Refusal([&] { Linear(stream_, args); }), "");
  args.y = Bf16({3, 40});
  args.weight = F8Weight(40, 64);
  EXPECT_NE(Refusal([&] { Linear(stream_, args); }), "");
}

HcWriteNormArgs WriteNorm(int64_t num_tokens) {
  return {.delta = Bf16({num_tokens, 3, 64}),
          .post = F32({num_tokens, 4}),
          .comb = F32({num_tokens, 4, 4}),
          .streams = Bf16({num_tokens, 4, 64}),
          .pre = F32({num_tokens, 4}),
          .norm = Bf16({64}),
          .x = Bf16({num_tokens, 64}),
          .x_quant = Bf16({num_tokens, 64})};
}

TEST_F(FrontEnd, OptionalPartsComeWholeOrNotAtAll) {
  HcWriteNormArgs args = WriteNorm(2);
  HcWriteNorm(stream_, args);
  args.delta = args.post = args.comb = {};
  HcWriteNorm(stream_, args);  // norm part alone
  EXPECT_EQ(g_num_calls, 2);
  args.pre = {};
  EXPECT_THAT(Refusal([&] { HcWriteNorm(stream_, args); }),
              testing::HasSubstr("expected all or none of x, pre, norm, got 2 of 3"));
  args.x = args.norm = args.x_quant = {};
  EXPECT_NE(Refusal([&] { HcWriteNorm(stream_, args); }), "");  // neither part
}

TEST_F(FrontEnd, QuantisedXNeedsABf16X) {
  HcWriteNormArgs args = WriteNorm(2);
  args.streams = F32({2, 4, 64});
  args.delta = F32({2, 3, 64});
  args.x = F32({2, 64});
  EXPECT_THAT(Refusal([&] { HcWriteNorm(stream_, args); }), testing::HasSubstr("x_quant"));
}

TEST_F(FrontEnd, ActivationsFollowTheNumericMode) {
  QkvAArgs args = {.numerics = Numerics::kFp32,
                   .x = F32({2, 128}),
                   .wq_a = F8Weight(64, 128),
                   .wkv = F8Weight(96, 128),
                   .q_norm = Bf16({64}),
                   .kv_norm = Bf16({96}),
                   .cos_sin = F32({2, 8, 2}),
                   .qr = F32({2, 64}),
                   .kv_record = U8({2, 99})};
  QkvA(stream_, args);
  EXPECT_EQ(g_num_calls, 1);
  args.numerics = Numerics::kProduction;
  EXPECT_NE(Refusal([&] { QkvA(stream_, args); }), "");
  args.x = Bf16({2, 128});
  args.qr = Bf16({2, 64});
  EXPECT_EQ(Refusal([&] { QkvA(stream_, args); }), "");
}

SparseAttentionArgs Attention() {
  return {.batch = Batch(3, 2),
          .q = F32({3, 2, 64}),
          .kv_record = U8({3, 66}),
          .ring = {.pool = U8({4, 1000}), .offset = 10, .ring_len = 14},
          .window = 8,
          .pages = {.pool = U8({9, 5000}), .offset = 100, .entries_per_block = 64},
          .sel = I32({3, 4}),
          .sel_count = I32({3}),
          .attn_sink = F32({2}),
          .cos_sin = F32({3, 8, 2}),
          .out = F32({3, 128})};
}

TEST_F(FrontEnd, CachesMustLieInsideTheirPools) {
  SparseAttentionArgs args = Attention();
  SparseAttention(stream_, args);
  EXPECT_EQ(g_num_calls, 1);
  args.ring.offset = 77;  // 77 + 14 * 66 = 1001
  EXPECT_THAT(Refusal([&] { SparseAttention(stream_, args); }), testing::HasSubstr("ring"));
  args = Attention();
  args.pages.offset = 2700;  // 64 entries of 36 bytes need 2304
  EXPECT_THAT(Refusal([&] { SparseAttention(stream_, args); }), testing::HasSubstr("pages"));
  args = Attention();
  args.ring.ring_len = 6;  // a window of 8 looks back over 7
  EXPECT_THAT(Refusal([&] { SparseAttention(stream_, args); }), testing::HasSubstr("ring_len"));
  args = Attention();
  args.sel = {};
  EXPECT_THAT(Refusal([&] { SparseAttention(stream_, args); }), testing::HasSubstr("sel"));
}

TEST_F(FrontEnd, RowsOfTheIndexerLieInsideTheStep) {
  IndexTopKArgs args = {.batch = Batch(5, 1),
                        .row_begin = 2,
                        .num_rows = 3,
                        .scores = F32({3, 100}),
                        .sel = I32({5, 4}),
                        .sel_count = I32({5})};
  IndexTopK(stream_, args);
  EXPECT_EQ(g_num_calls, 1);
  args.row_begin = 3;
  EXPECT_NE(Refusal([&] { IndexTopK(stream_, args); }), "");
  args.row_begin = 2;
  args.cand = I32({5, 1});
  args.cand_count = I32({5});
  args.candidate_block_size = 3;  // one block of 3 can't carry a selection of 4
  EXPECT_THAT(Refusal([&] { IndexTopK(stream_, args); }), testing::HasSubstr("candidate blocks"));
}

TEST_F(FrontEnd, CompressorAtRatioOneHasNoGate) {
  CompressKvArgs args = {.batch = Batch(3, 2),
                         .compress_ratio = 1,
                         .x = F32({3, 128}),
                         .wkv = {Bf16({64, 128}), {}},
                         .norm = Bf16({64}),
                         .cos_sin = F32({3, 8, 2}),
                         .main_pages = {.pool = U8({9, 5000}), .entries_per_block = 128}};
  CompressKv(stream_, args);
  EXPECT_EQ(g_num_calls, 1);
  args.wgate = args.wkv;
  EXPECT_THAT(Refusal([&] { CompressKv(stream_, args); }), testing::HasSubstr("no wgate"));
  args.compress_ratio = 2;
  args.main_pages.entries_per_block = 64;
  EXPECT_THAT(Refusal([&] { CompressKv(stream_, args); }), testing::HasSubstr("group"));
  args.group = {.pool = U8({4, 2048}), .offset = 0, .ring_len = 2};
  EXPECT_EQ(Refusal([&] { CompressKv(stream_, args); }), "");
}

TEST_F(FrontEnd, BatchArraysAgreeWithTheirCounts) {
  WindowWriteArgs args = {.batch = Batch(3, 2),
                          .kv_record = U8({3, 66}),
                          .ring = {.pool = U8({4, 1000}), .offset = 0, .ring_len = 8}};
  args.batch.cu_seqlens_q = I32({2});
  EXPECT_THAT(Refusal([&] { WindowWrite(stream_, args); }),
              testing::HasSubstr("batch.cu_seqlens_q: expected i32[3]"));
}

TEST(OpTable, ListsMissingOpsAndFillsThem) {
  backend::OpTable table;
  EXPECT_EQ(backend::MissingOps(table).size(), backend::MissingOps(backend::OpTable()).size());
  EXPECT_EQ(backend::MissingOps(table).front(), "Linear");
  table.linear = CountCall<LinearArgs>;
  EXPECT_EQ(backend::MissingOps(table).front(), "GroupedLinear");
  backend::FillMissingOps(table, CountingTable());
  EXPECT_TRUE(backend::MissingOps(table).empty());
}

}  // namespace
}  // namespace deepinfer::ops
