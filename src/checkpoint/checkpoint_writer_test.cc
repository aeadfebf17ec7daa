#include "checkpoint/checkpoint_writer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "base/faulty_file_system.h"
#include "base/temp_dir.h"
#include "checkpoint/checkpoint.h"

namespace deepinfer::checkpoint {
namespace {

const std::vector<TensorSpec> kSpecs = {
    {"odd.scale", "F8_E8M0", {3}}, {"a.weight", "F32", {2, 2}},      {"b.weight", "BF16", {3}},
    {"empty", "F32", {0, 4}},      {"c.weight", "F8_E4M3", {64, 2}}, {"scalar", "F32", {}},
};

// Byte j of tensor i.
std::string Content(size_t i, uint64_t num_bytes) {
  std::string out;
  for (uint64_t j = 0; j < num_bytes; ++j) out += static_cast<char>(17 * i + j);
  return out;
}

Status WriteAll(CheckpointWriter& writer, const std::vector<TensorSpec>& specs) {
  for (size_t i = specs.size(); i-- > 0;) {  // any order
    const std::string bytes = Content(i, *BytesOf(specs[i]));
    const size_t half = bytes.size() / 2;
    DI_RETURN_IF_ERROR(writer.Write(i, half, std::string_view(bytes).substr(half)));
    DI_RETURN_IF_ERROR(writer.Write(i, 0, std::string_view(bytes).substr(0, half)));
  }
  return writer.Finish();
}

class CheckpointWriterTest : public testing::Test {
 protected:
  void ExpectContent() {
    const Checkpoint checkpoint = *Checkpoint::Open(fs_, dir_ / "out");
    ASSERT_EQ(checkpoint.entries().size(), kSpecs.size());
    for (size_t i = 0; i < kSpecs.size(); ++i) {
      const TensorInfo* info = checkpoint.Find(kSpecs[i].name);
      ASSERT_NE(info, nullptr);
      EXPECT_EQ(info->dtype, kSpecs[i].dtype);
      EXPECT_EQ(info->shape, kSpecs[i].shape);
      for (const SafetensorsFile& shard : checkpoint.shards()) {
        if (shard.path() == checkpoint.FileOf(kSpecs[i].name)) {
          EXPECT_EQ(shard.DataOf(*info), Content(i, info->num_bytes));
        }
      }
    }
  }

  FileSystem& fs_ = PosixFileSystem();
  TempDir dir_;
};

TEST_F(CheckpointWriterTest, OneShardReadsBack) {
  const auto writer = *CheckpointWriter::Create(fs_, dir_ / "out", kSpecs, {});
  ASSERT_TRUE(WriteAll(*writer, kSpecs).ok());
  EXPECT_EQ(*fs_.List(dir_ / "out"), (std::vector<std::string>{"model.safetensors"}));
  ExpectContent();
}

TEST_F(CheckpointWriterTest, ShardsFollowTheSizeLimitAndGetAnIndex) {
  const auto writer = *CheckpointWriter::Create(fs_, dir_ / "out", kSpecs, {.max_shard_bytes = 20});
  ASSERT_TRUE(WriteAll(*writer, kSpecs).ok());
  // 3 + 16 | 6 + 0 | 128 (too large: alone) | 4
  EXPECT_EQ(*fs_.List(dir_ / "out"),
            (std::vector<std::string>{
                "model-00001-of-00004.safetensors", "model-00002-of-00004.safetensors",
                "model-00003-of-00004.safetensors", "model-00004-of-00004.safetensors",
                "model.safetensors.index.json"}));
  ExpectContent();
}

TEST_F(CheckpointWriterTest, EveryTensorStartsWhereItsTypeWants) {
  const auto writer = *CheckpointWriter::Create(fs_, dir_ / "out", kSpecs, {});
  ASSERT_TRUE(WriteAll(*writer, kSpecs).ok());
  const Checkpoint checkpoint = *Checkpoint::Open(fs_, dir_ / "out");
  const auto address = [&](std::string_view name, DType dtype,
                           std::initializer_list<int64_t> shape) {
    return reinterpret_cast<uintptr_t>(checkpoint.Get(name, dtype, shape)->data());
  };
  const SafetensorsFile& file = checkpoint.shards()[0];
  const auto in_file = [&](uintptr_t a) {
    return a >= reinterpret_cast<uintptr_t>(file.header().data()) &&
           a < reinterpret_cast<uintptr_t>(file.header().data()) + file.file_bytes();
  };
  EXPECT_EQ(address("c.weight", DType::kF8E4M3, {64, 2}) % 64, 0u);
  // A misaligned tensor would have been copied out of the file.
  EXPECT_TRUE(in_file(address("a.weight", DType::kF32, {2, 2})));
  EXPECT_TRUE(in_file(address("b.weight", DType::kBF16, {3})));
  EXPECT_TRUE(in_file(address("scalar", DType::kF32, {})));
}

TEST_F(CheckpointWriterTest, ManyThreadsMayWrite) {
  const std::vector<TensorSpec> specs = {{"x", "U8", {64, 1000}}};
  const auto writer = *CheckpointWriter::Create(fs_, dir_ / "out", specs, {});
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t row = t; row < 64; row += 4) {
        ASSERT_TRUE(writer->Write(0, row * 1000, std::string(1000, static_cast<char>(row))).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(writer->Finish().ok());
  const Checkpoint checkpoint = *Checkpoint::Open(fs_, dir_ / "out");
  const TensorView x = *checkpoint.Get("x", DType::kU8, {64, 1000});
  for (int64_t row = 0; row < 64; ++row) EXPECT_EQ(x.as<char>()[row * 1000 + 999], row);
}

TEST_F(CheckpointWriterTest, WrongSpecsAreRefused) {
  const auto refusal = [&](const std::vector<TensorSpec>& specs) {
    return CheckpointWriter::Create(fs_, dir_ / "out", specs, {}).status().message();
  };
  EXPECT_EQ(refusal({{"a", "U8", {1}}, {"a", "U8", {1}}}), "tensor \"a\" is to be written twice");
  EXPECT_EQ(refusal({{"a", "Q3", {1}}}), "tensor \"a\": unknown dtype \"Q3\"");
  EXPECT_EQ(refusal({{"a", "F4", {3}}}), "tensor \"a\": expected whole bytes, got 12 bits");
  EXPECT_EQ(refusal({{"a", "F32", {int64_t{1} << 40, int64_t{1} << 40}}}),
            "tensor \"a\": expected axes >= 0 and fewer than 2^60 bytes");
}

TEST_F(CheckpointWriterTest, ExistingCheckpointIsNotTouched) {
  ASSERT_TRUE(WriteAll(**CheckpointWriter::Create(fs_, dir_ / "out", kSpecs, {}), kSpecs).ok());
  EXPECT_EQ(CheckpointWriter::Create(fs_, dir_ / "out", kSpecs, {}).status().code(),
            StatusCode::kInvalidArgument);
  ExpectContent();
}

TEST_F(CheckpointWriterTest, NoRoomIsRefusedBeforeTheFirstByte) {
  FaultyFileSystem faulty(fs_);
  faulty.SetRoomBytes(100);
  const Status status = CheckpointWriter::Create(faulty, dir_ / "out", kSpecs, {}).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("of free disk space, got 100 B"), std::string::npos);
  EXPECT_EQ(faulty.num_calls(FileOp::kWrite), 0);
  EXPECT_TRUE(fs_.List(dir_ / "out")->empty());
}

TEST_F(CheckpointWriterTest, AbandonedWriterLeavesNothing) {
  {
    const auto writer = *CheckpointWriter::Create(fs_, dir_ / "out", kSpecs, {});
    ASSERT_TRUE(writer->Write(0, 0, "abc").ok());
    EXPECT_EQ(Checkpoint::Open(fs_, dir_ / "out").status().code(), StatusCode::kNotFound);
  }
  EXPECT_TRUE(fs_.List(dir_ / "out")->empty());
}

}  // namespace
}  // namespace deepinfer::checkpoint
