#include "checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include "base/faulty_file_system.h"
#include "base/temp_dir.h"
#include "checkpoint/test_files.h"

namespace deepinfer::checkpoint {
namespace {

class SafetensorsTest : public testing::Test {
 protected:
  // Writes `bytes` and opens them.
  Result<SafetensorsFile> Open(std::string_view bytes) {
    EXPECT_TRUE(WriteFileAtomically(PosixFileSystem(), path_, bytes).ok());
    return SafetensorsFile::Open(PosixFileSystem(), path_);
  }
  // The refusal without the path that it must start with.
  std::string Refusal(std::string_view bytes) {
    const Result<SafetensorsFile> file = Open(bytes);
    if (file.ok()) return "accepted";
    EXPECT_EQ(file.status().code(), StatusCode::kDataLoss);
    EXPECT_TRUE(file.status().message().starts_with(path_ + ": ")) << file.status().message();
    return file.status().message().substr(path_.size() + 2);
  }

  TempDir dir_;
  const std::string path_ = dir_ / "a.safetensors";
};

// The refusal of a header in front of 8 bytes of data.
std::string HeaderRefusal(std::string_view header) {
  const auto parsed = ParseSafetensorsHeader(header, 8);
  return parsed.ok() ? "accepted" : parsed.status().message();
}

TEST_F(SafetensorsTest, FindsEachTensorsBytes) {
  const std::string header =
      StrCat("{\"__metadata__\":{\"format\":\"pt\"},", HeaderEntry("b", "U8", {2, 1}, 0, 2), ",",
             HeaderEntry("a", "F32", {1}, 2, 6), "}");
  const SafetensorsFile file = *Open(SafetensorsBytes(header, "bbAAAA"));
  ASSERT_EQ(file.tensors().size(), 2u);
  EXPECT_EQ(file.tensors()[0].name, "b");
  EXPECT_EQ(file.DataOf(file.tensors()[0]), "bb");
  EXPECT_EQ(file.DataOf(file.tensors()[1]), "AAAA");
  EXPECT_EQ(file.tensors()[0].ToString(), "U8[2, 1]");
  EXPECT_EQ(file.header(), header);
  file.Advise(file.tensors()[1], MappedFile::Access::kRandom);
}

TEST_F(SafetensorsTest, LoadsValidButUnusualFiles) {
  const std::string entry = HeaderEntry("a", "U8", {2}, 0, 2);
  // Odd header lengths by padding, on either side of the object.
  for (const std::string padding : {" ", "  ", "       "}) {
    const SafetensorsFile file = *Open(SafetensorsBytes("{" + entry + "}" + padding, "xy"));
    EXPECT_EQ(file.DataOf(file.tensors()[0]), "xy");
  }
  // Any order, gaps, bytes behind the last tensor.
  const SafetensorsFile file = *Open(SafetensorsBytes(
      StrCat("{", HeaderEntry("z", "U8", {1}, 5, 6), ",", HeaderEntry("a", "U8", {2}, 1, 3), "}"),
      "_ab__z__"));
  EXPECT_EQ(file.DataOf(file.tensors()[0]), "z");
  EXPECT_EQ(file.DataOf(file.tensors()[1]), "ab");
  // Empty tensors, also in the middle of another one and with huge other axes; scalars; no tensor at all.
  EXPECT_TRUE(Open(SafetensorsBytes(StrCat("{", HeaderEntry("e", "F32", {0, 5}, 1, 1), ",",
                                           HeaderEntry("h", "F32", {1'000'000'000, 0, 7}, 2, 2),
                                           ",", HeaderEntry("s", "U8", {}, 0, 1), ",",
                                           HeaderEntry("u", "U8", {1}, 1, 2), "}"),
                                    "xy"))
                  .ok());
  EXPECT_TRUE(Open(SafetensorsBytes("{}", "")).ok());
  EXPECT_TRUE(Open(SafetensorsBytes("{\"__metadata__\":{}}", "")).ok());
}

TEST_F(SafetensorsTest, UnknownDtypeLoadsWithoutASizeCheck) {
  const SafetensorsFile file =
      *Open(SafetensorsBytes("{" + HeaderEntry("q", "Q3_K", {100}, 0, 3) + "}", "abc"));
  EXPECT_EQ(file.tensors()[0].ToString(), "Q3_K[100]");
  EXPECT_EQ(Refusal(SafetensorsBytes("{" + HeaderEntry("q", "Q3_K", {100}, 0, 4) + "}", "abc")),
            "tensor \"q\": its data ends at byte 4, but the file holds only 3 bytes of data "
            "(truncated?)");
}

TEST_F(SafetensorsTest, EveryTruncationIsRefused) {
  const std::string whole = SafetensorsBytes(
      StrCat("{", HeaderEntry("a", "F32", {2}, 0, 8), ",", HeaderEntry("b", "U8", {4}, 8, 12), "}"),
      "12345678abcd");
  ASSERT_TRUE(Open(whole).ok());
  const std::unique_ptr<File> file = *PosixFileSystem().Open(path_, OpenMode::kReadWrite);
  for (size_t size = whole.size(); size-- > 0;) {
    ASSERT_TRUE(file->Resize(size).ok());
    const Status status = SafetensorsFile::Open(PosixFileSystem(), path_).status();
    ASSERT_EQ(status.code(), StatusCode::kDataLoss) << size;
    ASSERT_TRUE(status.message().starts_with(path_ + ": ")) << status.message();
  }
  EXPECT_EQ(Refusal(std::string_view(whole).substr(0, whole.size() - 1)),
            "tensor \"b\": its data ends at byte 12, but the file holds only 11 bytes of data "
            "(truncated?)");
  EXPECT_EQ(Refusal(""), "expected a safetensors file, got 0 bytes");
}

TEST_F(SafetensorsTest, HeaderLengthIsCheckedAgainstFileAndLimit) {
  EXPECT_EQ(Refusal(std::string("\x10\0\0\0\0\0\0\0{}", 10)),
            "its header of 16 bytes is longer than the file of 10 (truncated?)");
  EXPECT_EQ(Refusal(std::string(8, '\xff') + "{}"),
            "expected a header of at most 100000000 bytes, got 18446744073709551615 (not a "
            "safetensors file?)");
  EXPECT_EQ(Refusal(std::string(8, '\0')),
            "header is damaged: at byte 0: expected a value, got nothing");
}

TEST_F(SafetensorsTest, MissingFileIsNotFound) {
  EXPECT_EQ(SafetensorsFile::Open(PosixFileSystem(), dir_ / "none").status().code(),
            StatusCode::kNotFound);
  FaultyFileSystem faulty(PosixFileSystem());
  faulty.FailNth(FileOp::kMap, 1, ResourceExhausted("no memory"));
  EXPECT_EQ(SafetensorsFile::Open(faulty, path_).status().message(), "no memory");
}

TEST(SafetensorsHeader, RefusesOverlaps) {
  EXPECT_EQ(HeaderRefusal(StrCat("{", HeaderEntry("a", "U8", {4}, 2, 6), ",",
                                 HeaderEntry("b", "U8", {3}, 0, 3), "}")),
            "tensor \"a\": its bytes overlap those of tensor \"b\"");
  EXPECT_NE(HeaderRefusal(StrCat("{", HeaderEntry("a", "U8", {8}, 0, 8), ",",
                                 HeaderEntry("b", "U8", {2}, 2, 4), ",",
                                 HeaderEntry("c", "U8", {2}, 6, 8), "}")),
            "accepted");
}

TEST(SafetensorsHeader, RefusesSizesThatDoNotFit) {
  EXPECT_EQ(HeaderRefusal("{" + HeaderEntry("a", "F32", {2}, 0, 7) + "}"),
            "tensor \"a\": expected 8 bytes for F32[2], got 7");
  EXPECT_EQ(HeaderRefusal("{" + HeaderEntry("a", "F4", {3}, 0, 2) + "}"),
            "tensor \"a\": expected a shape of whole bytes below 2^60, got F4[3]");
  // 2^62 elements of 4 bytes wrap to 0 in 64 bits.
  EXPECT_EQ(
      HeaderRefusal("{" + HeaderEntry("a", "F32", {int64_t{1} << 31, int64_t{1} << 31}, 0, 0) +
                    "}"),
      "tensor \"a\": expected a shape of whole bytes below 2^60, got F32[2147483648, 2147483648]");
  EXPECT_EQ(HeaderRefusal("{" + HeaderEntry("a", "U8", {2}, 5, 3) + "}"),
            "tensor \"a\": expected data_offsets in ascending order, got 5 and 3");
  EXPECT_EQ(HeaderRefusal("{" + HeaderEntry("a", "U8", {2}, 8, 10) + "}"),
            "tensor \"a\": its data ends at byte 10, but the file holds only 8 bytes of data "
            "(truncated?)");
}

TEST(SafetensorsHeader, RefusesWrongTypesByName) {
  EXPECT_EQ(HeaderRefusal(R"({"a":{"dtype":5,"shape":[],"data_offsets":[0,1]}})"),
            "tensor \"a\": dtype: expected a string, got 5");
  EXPECT_EQ(HeaderRefusal(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})"),
            "tensor \"a\": shape: expected no negative axis, got -1");
  EXPECT_EQ(HeaderRefusal(R"({"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}})"),
            "tensor \"a\": shape[0]: expected an integer, got 1.0");
  EXPECT_EQ(HeaderRefusal(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}})"),
            "tensor \"a\": data_offsets: expected two offsets, got an array of 1");
  EXPECT_EQ(HeaderRefusal(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[-1,0]}})"),
            "tensor \"a\": data_offsets[0]: expected an unsigned 64-bit integer, got -1");
  EXPECT_EQ(
      HeaderRefusal(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,18446744073709551616]}})"),
      "tensor \"a\": data_offsets[1]: expected an unsigned 64-bit integer, got "
      "18446744073709551616");
  EXPECT_EQ(HeaderRefusal(R"({"a":{"dtype":"U8","data_offsets":[0,1]}})"),
            "tensor \"a\": shape: expected a value, got none");
  EXPECT_EQ(HeaderRefusal(R"({"a":3})"), "tensor \"a\": expected an object, got 3");
  EXPECT_EQ(HeaderRefusal("[]"), "header: expected an object, got an array of 0");
  EXPECT_EQ(HeaderRefusal("{" + HeaderEntry("a", "U8", std::vector<int64_t>(17, 1), 0, 1) + "}"),
            "tensor \"a\": shape: expected at most 16 axes, got 17");
}

TEST(SafetensorsHeader, RefusesANameThatOccursTwice) {
  EXPECT_EQ(HeaderRefusal(StrCat("{", HeaderEntry("a", "U8", {1}, 0, 1), ",",
                                 HeaderEntry("a", "U8", {1}, 1, 2), "}")),
            "header is damaged: at byte 0: in the object that starts here, key \"a\" occurs twice");
}

}  // namespace
}  // namespace deepinfer::checkpoint
