// A checkpoint on a disk that fails: at every single operation, in turn, the failure comes back as it is, no
// half-made checkpoint can be opened, and no descriptor or mapping stays behind.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/faulty_file_system.h"
#include "base/strings.h"
#include "base/temp_dir.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_writer.h"
#include "checkpoint/synthesize.h"

namespace deepinfer::checkpoint {
namespace {

constexpr std::string_view kTiny = DI_SOURCE_DIR "/models/DeepSeek-V4.1-Tiny";

int64_t NumOpenFiles() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return std::distance(begin(entries), end(entries));
}

int64_t NumMappingsOf(std::string_view name) {
  std::ifstream maps("/proc/self/maps");
  int64_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(name) != std::string::npos) ++count;
  }
  return count;
}

// Runs `action` with the first, second, ... call of `op` failing until none is left to fail.  Each time the
// action must report that failure, and `check` looks at what is left.
template <typename Action, typename Check>
void FailEach(FaultyFileSystem& faulty, FileOp op, Action action, Check check) {
  constexpr int64_t kMaxCalls = 2'000;
  for (int64_t n = 1; n <= kMaxCalls; ++n) {
    SCOPED_TRACE(StrCat("op ", op, " call ", n));
    faulty.Heal();
    const int64_t before = faulty.num_calls(op);
    faulty.FailNth(op, n, ResourceExhausted("injected"));
    const Status status = action();
    if (faulty.num_calls(op) - before < n) {
      EXPECT_TRUE(status.ok()) << status.ToString();
      EXPECT_GT(n, 1) << "the action never calls this operation";
      return;
    }
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status.ToString();
    EXPECT_NE(status.message().find("injected"), std::string::npos) << status.message();
    check();
    if (testing::Test::HasFailure()) return;
  }
  FAIL() << "more than " << kMaxCalls << " calls";
}

TEST(CheckpointFault, OpenReportsEveryFailureAndLeaksNothing) {
  FaultyFileSystem faulty(PosixFileSystem());
  const int64_t open_files = NumOpenFiles();
  for (const FileOp op : {FileOp::kStat, FileOp::kOpen, FileOp::kRead, FileOp::kMap}) {
    FailEach(
        faulty, op, [&] { return Checkpoint::Open(faulty, std::string(kTiny)).status(); },
        [&] {
          EXPECT_EQ(NumOpenFiles(), open_files);
          EXPECT_EQ(NumMappingsOf(".safetensors"), 0);
        });
  }
}

TEST(CheckpointFault, AShortReadOfTheIndexIsDataLoss) {
  FaultyFileSystem faulty(PosixFileSystem());
  faulty.ShortenNthRead(1);
  const Status status = Checkpoint::Open(faulty, std::string(kTiny)).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_NE(status.message().find("model.safetensors.index.json"), std::string::npos);
}

// L01 of the known failures, on every shard of a real checkpoint: one byte, one tensor, half of the file.
TEST(CheckpointFault, ACutShardIsRefusedByName) {
  FileSystem& fs = PosixFileSystem();
  const Checkpoint whole = *Checkpoint::Open(fs, std::string(kTiny));
  for (const SafetensorsFile& shard : whole.shards()) {
    TempDir dir;
    for (const std::string& name : *fs.List(std::string(kTiny))) {
      ASSERT_TRUE(fs.CreateSymlink(JoinPath(kTiny, name), dir / name).ok());
    }
    ASSERT_TRUE(Checkpoint::Open(fs, dir.path()).ok());
    const std::string name = BaseName(shard.path());
    ASSERT_TRUE(fs.Remove(dir / name).ok());
    std::filesystem::copy_file(shard.path(), dir / name);
    uint64_t last_tensor_bytes = 0;
    uint64_t last_offset = 0;
    for (const TensorInfo& tensor : shard.tensors()) {
      if (tensor.num_bytes > 0 && tensor.offset >= last_offset) {
        last_offset = tensor.offset;
        last_tensor_bytes = tensor.num_bytes;
      }
    }
    for (const uint64_t keep : {shard.file_bytes() - 1, shard.file_bytes() - last_tensor_bytes,
                                shard.file_bytes() / 2, shard.header().size(), uint64_t{0}}) {
      ASSERT_TRUE((*fs.Open(dir / name, OpenMode::kReadWrite))->Resize(keep).ok());
      const Status status = Checkpoint::Open(fs, dir.path()).status();
      EXPECT_EQ(status.code(), StatusCode::kDataLoss) << keep;
      EXPECT_NE(status.message().find(dir / name), std::string::npos) << status.message();
    }
  }
}

class WriterFaultTest : public testing::Test {
 protected:
  // Writes a checkpoint of three shards.
  Status WriteCheckpoint() {
    const std::vector<TensorSpec> specs = {{"a", "U8", {8}}, {"b", "F32", {2}}, {"c", "BF16", {4}}};
    DI_ASSIGN_OR_RETURN(const auto writer, CheckpointWriter::Create(faulty_, dir_ / "out", specs,
                                                                    {.max_shard_bytes = 8}));
    for (size_t i = 0; i < specs.size(); ++i) DI_RETURN_IF_ERROR(writer->Write(i, 0, "12345678"));
    return writer->Finish();
  }
  // After a failure: nothing that opens, no temporary file, and a second try (elsewhere) works.
  void ExpectNoCheckpoint() {
    EXPECT_FALSE(Checkpoint::Open(PosixFileSystem(), dir_ / "out").ok());
    if (!Exists(PosixFileSystem(), dir_ / "out")) return;
    for (const std::string& name : *PosixFileSystem().List(dir_ / "out")) {
      EXPECT_FALSE(name.ends_with(".tmp")) << name;
    }
    std::filesystem::remove_all(dir_ / "out");
  }

  TempDir dir_;
  FaultyFileSystem faulty_{PosixFileSystem()};
};

TEST_F(WriterFaultTest, EveryFailureLeavesNoCheckpoint) {
  const int64_t open_files = NumOpenFiles();
  for (const FileOp op :
       {FileOp::kCreateDirectories, FileOp::kStat, FileOp::kFreeBytes, FileOp::kOpen,
        FileOp::kWrite, FileOp::kResize, FileOp::kSync, FileOp::kRename}) {
    FailEach(
        faulty_, op, [&] { return WriteCheckpoint(); },
        [&] {
          ExpectNoCheckpoint();
          EXPECT_EQ(NumOpenFiles(), open_files);
        });
    EXPECT_TRUE(Checkpoint::Open(PosixFileSystem(), dir_ / "out").ok());
    std::filesystem::remove_all(dir_ / "out");
  }
}

TEST_F(WriterFaultTest, SynthesisStopsAtAFullDiskOnAnyNumberOfThreads) {
  const std::string config =
      *ReadFile(PosixFileSystem(), DI_SOURCE_DIR "/tests/fixtures/branches/config.json", 1 << 20);
  for (const int32_t num_threads : {1, 4}) {
    for (const int64_t n : {1, 2, 7, 100, 1'000}) {
      faulty_.FailNth(FileOp::kWrite, n, ResourceExhausted("injected"));
      const Status status =
          Synthesize(faulty_, config, dir_ / "out", {.num_threads = num_threads}).status();
      EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << n;
      ExpectNoCheckpoint();
    }
  }
}

}  // namespace
}  // namespace deepinfer::checkpoint
