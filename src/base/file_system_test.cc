#include "base/file_system.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/faulty_file_system.h"
#include "base/temp_dir.h"

namespace deepinfer {
namespace {

class FileSystemTest : public testing::Test {
 protected:
  TempDir dir_;
  FileSystem& fs_ = PosixFileSystem();
};

TEST_F(FileSystemTest, WritesAndReadsAtPositions) {
  const std::unique_ptr<File> file = *fs_.Open(dir_ / "f", OpenMode::kCreateNew);
  ASSERT_TRUE(file->WriteAt(3, "def").ok());
  ASSERT_TRUE(file->WriteAt(0, "abc").ok());
  EXPECT_EQ(*file->Size(), 6u);
  std::string out(10, '.');
  EXPECT_EQ(*file->ReadAt(2, out), 4u);
  EXPECT_EQ(out.substr(0, 4), "cdef");
  EXPECT_EQ(file->ReadExactly(2, out).code(), StatusCode::kDataLoss);
  ASSERT_TRUE(file->Resize(2).ok());
  EXPECT_EQ(*ReadFile(fs_, dir_ / "f", 100), "ab");
}

TEST_F(FileSystemTest, OpenModes) {
  EXPECT_EQ(fs_.Open(dir_ / "f", OpenMode::kRead).status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(WriteFileAtomically(fs_, dir_ / "f", "abc").ok());
  EXPECT_EQ(fs_.Open(dir_ / "f", OpenMode::kCreateNew).status().code(),
            StatusCode::kInvalidArgument);
  ASSERT_TRUE(fs_.Open(dir_ / "f", OpenMode::kReadWrite).ok());
  EXPECT_EQ(fs_.Stat(dir_ / "f")->num_bytes, 3u);
  ASSERT_TRUE(fs_.Open(dir_ / "f", OpenMode::kTruncate).ok());
  EXPECT_EQ(fs_.Stat(dir_ / "f")->num_bytes, 0u);
}

TEST_F(FileSystemTest, FailuresNamePathAndReason) {
  EXPECT_EQ(fs_.Map(dir_ / "none").status().message(),
            dir_ / "none" + ": cannot open: No such file or directory");
  EXPECT_EQ(ReadFile(fs_, dir_.path(), 10).status().code(), StatusCode::kInvalidArgument);
  ASSERT_EQ(mkfifo((dir_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(fs_.Open(dir_ / "pipe", OpenMode::kRead).status().code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(WriteFileAtomically(fs_, dir_ / "f", "abcd").ok());
  EXPECT_EQ(ReadFile(fs_, dir_ / "f", 3).status().message(),
            dir_ / "f" + ": expected at most 3 bytes, got a file of 4");
}

TEST_F(FileSystemTest, MapShowsTheBytesAndOutlivesTheName) {
  ASSERT_TRUE(WriteFileAtomically(fs_, dir_ / "f", std::string(10'000, 'x') + "end").ok());
  const MappedFile map = *fs_.Map(dir_ / "f");
  ASSERT_TRUE(fs_.Remove(dir_ / "f").ok());
  ASSERT_EQ(map.num_bytes(), 10'003u);
  map.Advise(5'000, 5'003, MappedFile::Access::kWillNeed);
  map.Advise(0, 10'003, MappedFile::Access::kRandom);
  map.Advise(0, 10'003, MappedFile::Access::kDontNeed);
  EXPECT_EQ(std::string_view(map.data() + 9'999, 4), "xend");
}

TEST_F(FileSystemTest, MapOfAnEmptyFileIsEmpty) {
  ASSERT_TRUE(WriteFileAtomically(fs_, dir_ / "f", "").ok());
  EXPECT_EQ(fs_.Map(dir_ / "f")->num_bytes(), 0u);
}

TEST_F(FileSystemTest, FoldersLinksAndRename) {
  ASSERT_TRUE(fs_.CreateDirectories(dir_ / "a/b/c").ok());
  ASSERT_TRUE(fs_.CreateDirectories(dir_ / "a/b/c/").ok());
  ASSERT_TRUE(WriteFileAtomically(fs_, dir_ / "a/f", "1").ok());
  ASSERT_TRUE(WriteFileAtomically(fs_, dir_ / "a/g", "22").ok());
  ASSERT_TRUE(fs_.CreateSymlink("../f", dir_ / "a/b/link").ok());
  EXPECT_EQ(*fs_.ReadSymlink(dir_ / "a/b/link"), "../f");
  EXPECT_EQ(fs_.Stat(dir_ / "a/b/link")->type, FileType::kFile);
  EXPECT_EQ(fs_.StatLink(dir_ / "a/b/link")->type, FileType::kSymlink);
  EXPECT_EQ(*fs_.List(dir_ / "a"), (std::vector<std::string>{"b", "f", "g"}));
  ASSERT_TRUE(fs_.Rename(dir_ / "a/g", dir_ / "a/f").ok());
  EXPECT_EQ(*ReadFile(fs_, dir_ / "a/b/link", 9), "22");
  EXPECT_EQ(fs_.Remove(dir_ / "a").code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(IsDirectory(fs_, dir_ / "a/b/c"));
  EXPECT_FALSE(Exists(fs_, dir_ / "a/g"));
  EXPECT_FALSE(fs_.CreateDirectories(dir_ / "a/f/x").ok());
}

TEST_F(FileSystemTest, LockExcludesASecondHolderUntilReleased) {
  std::unique_ptr<FileLock> first = *fs_.Lock(dir_ / "lock", std::chrono::milliseconds(0));
  EXPECT_EQ(fs_.Lock(dir_ / "lock", std::chrono::milliseconds(0)).status().code(),
            StatusCode::kDeadlineExceeded);
  first.reset();
  EXPECT_TRUE(fs_.Lock(dir_ / "lock", std::chrono::milliseconds(0)).ok());
}

TEST_F(FileSystemTest, FreeBytesIsPositive) { EXPECT_GT(*fs_.FreeBytes(dir_.path()), 0u); }

TEST_F(FileSystemTest, AtomicWriteLeavesOldContentWhenTheDiskFills) {
  FaultyFileSystem faulty(fs_);
  ASSERT_TRUE(WriteFileAtomically(faulty, dir_ / "f", "old").ok());
  faulty.SetRoomBytes(2);
  EXPECT_EQ(WriteFileAtomically(faulty, dir_ / "f", "new!").code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(*ReadFile(fs_, dir_ / "f", 9), "old");
  EXPECT_EQ(*fs_.List(dir_.path()), (std::vector<std::string>{"f"}));
}

TEST_F(FileSystemTest, FaultyFailsExactlyTheNthCall) {
  ASSERT_TRUE(WriteFileAtomically(fs_, dir_ / "f", "abcd").ok());
  FaultyFileSystem faulty(fs_);
  faulty.FailNth(FileOp::kRead, 2, DataLoss("bad sector"));
  EXPECT_TRUE(ReadFile(faulty, dir_ / "f", 9).ok());
  EXPECT_EQ(ReadFile(faulty, dir_ / "f", 9).status().message(), dir_ / "f" + ": bad sector");
  EXPECT_TRUE(ReadFile(faulty, dir_ / "f", 9).ok());
  faulty.ShortenNthRead(1);
  EXPECT_EQ(ReadFile(faulty, dir_ / "f", 9).status().code(), StatusCode::kDataLoss);
  faulty.FailAll(FileOp::kOpen, NotFound("gone"));
  EXPECT_FALSE(ReadFile(faulty, dir_ / "f", 9).ok());
  faulty.Heal();
  EXPECT_TRUE(ReadFile(faulty, dir_ / "f", 9).ok());
  EXPECT_EQ(faulty.num_calls(FileOp::kRead), 5);
}

TEST(Paths, JoinParentBase) {
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
  EXPECT_EQ(JoinPath("a", "/b"), "/b");
  EXPECT_EQ(ParentPath("a/b/"), "a");
  EXPECT_EQ(ParentPath("a"), ".");
  EXPECT_EQ(ParentPath("/a"), "/");
  EXPECT_EQ(BaseName("a/b/"), "b");
  EXPECT_EQ(BaseName("a"), "a");
}

}  // namespace
}  // namespace deepinfer
