#include "checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>

#include "base/json.h"
#include "base/temp_dir.h"
#include "checkpoint/test_files.h"

namespace deepinfer::checkpoint {
namespace {

class CheckpointTest : public testing::Test {
 protected:
  void Write(std::string_view name, std::string_view bytes) {
    ASSERT_TRUE(WriteFileAtomically(fs_, dir_ / name, bytes).ok());
  }
  // A shard with one U8 tensor of one byte for each name.
  void WriteShard(std::string_view file, const std::vector<std::string>& names) {
    std::string header;
    for (size_t i = 0; i < names.size(); ++i) {
      header += (i > 0 ? "," : "") + HeaderEntry(names[i], "U8", {1}, i, i + 1);
    }
    Write(file, SafetensorsBytes("{" + header + "}", std::string(names.size(), 'x')));
  }
  void WriteIndex(const std::vector<std::pair<std::string, std::string>>& map) {
    json::Value weight_map = json::Value::Object();
    for (const auto& [name, shard] : map) weight_map.Set(name, shard);
    Write(kIndexFile, json::Write(json::Value::Object({{"weight_map", weight_map}})));
  }
  std::string Refusal(StatusCode code) {
    const Result<Checkpoint> checkpoint = Checkpoint::Open(fs_, dir_.path());
    if (checkpoint.ok()) return "accepted";
    EXPECT_EQ(checkpoint.status().code(), code) << checkpoint.status().ToString();
    std::string message = checkpoint.status().message();
    for (size_t at; (at = message.find(dir_.path())) != std::string::npos;) {
      message.replace(at, dir_.path().size(), "DIR");
    }
    return message;
  }

  FileSystem& fs_ = PosixFileSystem();
  TempDir dir_;
};

TEST_F(CheckpointTest, OpensTheTinyModel) {
  const Checkpoint checkpoint = *Checkpoint::Open(fs_, DI_SOURCE_DIR "/models/DeepSeek-V4.1-Tiny");
  EXPECT_EQ(checkpoint.shards().size(), 3u);
  EXPECT_GT(checkpoint.entries().size(), 1000u);
  EXPECT_TRUE(checkpoint.Get("embed.weight", DType::kBF16, {4096, 256}).ok());
  EXPECT_TRUE(checkpoint.Get("layers.0.attn.wq_a.weight", DType::kF8E4M3, {128, 256}).ok());
  EXPECT_TRUE(checkpoint.Get("layers.0.attn.wq_a.scale", DType::kUE8M0, {4, 8}).ok());
  EXPECT_TRUE(checkpoint.Get("layers.3.ffn.experts.5.w1.weight", DType::kF4E2M1, {128, 256}).ok());
  EXPECT_TRUE(checkpoint.Get("layers.0.hc_attn_base", DType::kF32, {24}).ok());
  checkpoint.Advise("layers.1.engram.embed.weight", MappedFile::Access::kRandom);
}

TEST_F(CheckpointTest, SingleFileNeedsNoIndex) {
  WriteShard(kSingleFile, {"b", "a"});
  const Checkpoint checkpoint = *Checkpoint::Open(fs_, dir_.path());
  ASSERT_EQ(checkpoint.entries().size(), 2u);
  EXPECT_EQ(checkpoint.entries()[0].name, "a");
  EXPECT_EQ(checkpoint.num_bytes(), 2u);
  EXPECT_EQ(checkpoint.FileOf("b"), dir_ / kSingleFile);
}

TEST_F(CheckpointTest, PublishedSpellingsBecomeCanonical) {
  EXPECT_EQ(CanonicalName("model.layers.3.attn.wq_a.weight"), "layers.3.attn.wq_a.weight");
  EXPECT_EQ(CanonicalName("model.layers.3.attn.wq_a.weight_scale_inv"), "layers.3.attn.wq_a.scale");
  EXPECT_EQ(CanonicalName("model.layers.1.engram.embed.scale"), "layers.1.engram.embed.scale");
  EXPECT_EQ(CanonicalName("model.embed.weight"), "embed.weight");
  EXPECT_EQ(CanonicalName("model.norm.weight"), "norm.weight");
  EXPECT_EQ(CanonicalName("lm_head.weight"), "head.weight");
  EXPECT_EQ(CanonicalName("model.mtp.0.main_norm.weight"), "mtp.0.main_norm.weight");
  EXPECT_EQ(CanonicalName("head.weight"), "head.weight");
}

TEST_F(CheckpointTest, GetChecksDtypeAndShape) {
  Write(kSingleFile, SafetensorsBytes(StrCat("{", HeaderEntry("f", "F32", {1, 2}, 0, 8), ",",
                                             HeaderEntry("p", "I8", {2, 3}, 8, 14), ",",
                                             HeaderEntry("u", "U8", {2}, 14, 16), ",",
                                             HeaderEntry("odd", "Q3_K", {9}, 16, 17), "}"),
                                      std::string(17, '\0')));
  const Checkpoint checkpoint = *Checkpoint::Open(fs_, dir_.path());
  EXPECT_EQ(checkpoint.Get("f", DType::kF32, {1, 2})->ToString(), "f32[1, 2]");
  EXPECT_EQ(checkpoint.Get("p", DType::kF4E2M1, {2, 6})->num_bytes(), 6u);
  EXPECT_TRUE(checkpoint.Get("u", DType::kUE8M0, {2}).ok());
  EXPECT_TRUE(checkpoint.Get("u", DType::kF4E2M1, {4}).ok());
  const auto refusal = [&](std::string_view name, DType dtype,
                           std::initializer_list<int64_t> shape) {
    return checkpoint.Get(name, dtype, shape).status();
  };
  EXPECT_EQ(refusal("f", DType::kF32, {2, 1}).message(),
            dir_ / kSingleFile + ": tensor \"f\": expected f32[2, 1], got F32[1, 2]");
  EXPECT_EQ(refusal("f", DType::kBF16, {1, 2}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(refusal("odd", DType::kU8, {9}).message(),
            dir_ / kSingleFile + ": tensor \"odd\": expected u8[9], got Q3_K[9]");
  EXPECT_EQ(refusal("none", DType::kF32, {1}).message(),
            dir_.path() + ": expected tensor \"none\", got none");
  EXPECT_EQ(refusal("none", DType::kF32, {1}).code(), StatusCode::kNotFound);
}

TEST_F(CheckpointTest, MisalignedTensorIsReadRightAndCopiedOnce) {
  const float values[2] = {1.5f, -2.25f};
  const std::string data(reinterpret_cast<const char*>(values), sizeof(values));
  std::string header = "{" + HeaderEntry("f", "F32", {2}, 0, 8) + "}";
  while (header.size() % 4 != 1) header += ' ';
  Write(kSingleFile, SafetensorsBytes(header, data));
  Checkpoint opened = *Checkpoint::Open(fs_, dir_.path());
  const TensorView before = *opened.Get("f", DType::kF32, {2});
  const Checkpoint checkpoint = std::move(opened);
  const TensorView view = *checkpoint.Get("f", DType::kF32, {2});
  EXPECT_EQ(view.data(), before.data());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(view.data()) % alignof(float), 0u);
  EXPECT_EQ(std::memcmp(view.data(), values, sizeof(values)), 0);
}

TEST_F(CheckpointTest, SymlinkedCacheFolderLoads) {
  ASSERT_TRUE(fs_.CreateDirectories(dir_ / "blobs").ok());
  ASSERT_TRUE(fs_.CreateDirectories(dir_ / "snapshots/rev").ok());
  WriteShard("blobs/0123", {"a"});
  ASSERT_TRUE(fs_.CreateSymlink("../../blobs/0123", dir_ / "snapshots/rev/model.safetensors").ok());
  ASSERT_TRUE(fs_.CreateSymlink("snapshots/rev", dir_ / "link").ok());
  EXPECT_TRUE(Checkpoint::Open(fs_, dir_ / "link")->Contains("a"));
}

TEST_F(CheckpointTest, MissingPiecesAreNamed) {
  EXPECT_EQ(Refusal(StatusCode::kNotFound),
            "DIR: expected model.safetensors.index.json or model.safetensors, got neither");
  EXPECT_EQ(Checkpoint::Open(fs_, dir_ / "none").status().code(), StatusCode::kNotFound);
  WriteShard("1.safetensors", {"a"});
  EXPECT_EQ(Checkpoint::Open(fs_, dir_ / "1.safetensors").status().code(),
            StatusCode::kInvalidArgument);
  WriteIndex({{"a", "1.safetensors"}, {"b", "2.safetensors"}});
  EXPECT_EQ(Refusal(StatusCode::kNotFound),
            "DIR/2.safetensors: cannot open: No such file or directory");
  WriteShard("2.safetensors", {"c"});
  EXPECT_EQ(Refusal(StatusCode::kDataLoss),
            "DIR/2.safetensors: expected tensor \"b\", which the index puts here, got none");
}

TEST_F(CheckpointTest, DoubledTensorsAreRefusedAndUnlistedOnesLeftOut) {
  WriteShard("1.safetensors", {"a", "extra"});
  WriteShard("2.safetensors", {"b", "extra"});
  WriteIndex({{"a", "1.safetensors"}, {"b", "2.safetensors"}});
  EXPECT_FALSE(Checkpoint::Open(fs_, dir_.path())->Contains("extra"));
  WriteShard("2.safetensors", {"b", "a"});
  EXPECT_EQ(Refusal(StatusCode::kInvalidArgument),
            "tensor \"a\" is in both DIR/1.safetensors and DIR/2.safetensors");
}

TEST_F(CheckpointTest, TwoSpellingsOfOneNameAreRefused) {
  WriteShard(kSingleFile, {"x.weight", "model.x.weight"});
  EXPECT_NE(Refusal(StatusCode::kInvalidArgument).find("is another spelling of the same name"),
            std::string::npos);
  WriteShard(kSingleFile, {"head.weight", "lm_head.weight"});
  EXPECT_NE(Refusal(StatusCode::kInvalidArgument), "accepted");
  WriteShard(kSingleFile, {"x.scale", "model.x.weight_scale_inv"});
  EXPECT_NE(Refusal(StatusCode::kInvalidArgument), "accepted");
}

TEST_F(CheckpointTest, HostileIndexIsRefused) {
  for (const std::string_view shard :
       {"../x", "/etc/passwd", "a/b", "..", ".", "", "a\\\\b", "a\\u0000b"}) {
    Write(kIndexFile, StrCat(R"({"weight_map":{"a":")", shard, "\"}}"));
    EXPECT_NE(Refusal(StatusCode::kInvalidArgument).find("expected a plain file name"),
              std::string::npos)
        << shard;
  }
  for (const std::string_view text :
       {"", "[]", "{}", R"({"weight_map":[]})", R"({"weight_map":{}})", R"({"weight_map":{"a":1}})",
        R"({"weight_map":{"a":"x","a":"y"}})",
        R"({"weight_map":{"a":"x"}} )"
        "x"}) {
    EXPECT_FALSE(ParseIndex(text).ok()) << text;
  }
  Write(kIndexFile, R"({"weight_map":{"a":7}})");
  EXPECT_EQ(Refusal(StatusCode::kInvalidArgument),
            "DIR/model.safetensors.index.json: weight_map[\"a\"]: expected a string, got 7");
}

// The release has 96,000 tensors in 48 shards; this is a quarter of that.  Files are sparse.
TEST_F(CheckpointTest, ManyTensorsOpenFast) {
  constexpr int32_t kShards = 12;
  constexpr int32_t kTensors = 2'000;
  constexpr uint64_t kBytes = 1 << 20;
  std::vector<std::pair<std::string, std::string>> map;
  for (int32_t s = 0; s < kShards; ++s) {
    std::string header;
    const std::string file = StrCat("model-", s, ".safetensors");
    for (uint64_t t = 0; t < kTensors; ++t) {
      const std::string name = StrCat("layers.", s, ".ffn.experts.", t, ".w1.weight");
      header += (t > 0 ? "," : "") +
                HeaderEntry(name, "I8", {1024, kBytes / 1024}, t * kBytes, (t + 1) * kBytes);
      map.emplace_back(name, file);
    }
    const std::string bytes = SafetensorsBytes("{" + header + "}", "");
    const std::unique_ptr<File> out = *fs_.Open(dir_ / file, OpenMode::kCreateNew);
    ASSERT_TRUE(out->WriteAt(0, bytes).ok());
    ASSERT_TRUE(out->Resize(bytes.size() + kTensors * kBytes).ok());
  }
  WriteIndex(map);
  const auto start = std::chrono::steady_clock::now();
  const Checkpoint checkpoint = *Checkpoint::Open(fs_, dir_.path());
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(checkpoint.entries().size(), map.size());
  EXPECT_EQ(checkpoint.num_bytes(), map.size() * kBytes);
  EXPECT_TRUE(
      checkpoint.Get("layers.7.ffn.experts.1999.w1.weight", DType::kF4E2M1, {1024, 2048}).ok());
  // About 0.1 s, 5 s under a thread sanitizer; comparing each name with each takes more than half a minute.
  EXPECT_LT(took, std::chrono::seconds(20));
  RecordProperty("open_ms", static_cast<int>(took / std::chrono::milliseconds(1)));
}

}  // namespace
}  // namespace deepinfer::checkpoint
