#include "engine/loader.h"

#include <gtest/gtest.h>

#include "base/file_system.h"
#include "base/temp_dir.h"
#include "deepinfer/engine.h"
#include "engine/model_folder.h"

namespace deepinfer::engine {
namespace {

constexpr const char* kTiny = DI_SOURCE_DIR "/models/DeepSeek-V4.1-Tiny";

TEST(ModelFolder, WithoutANameTheBuiltinModelIsFound) {
  const auto folder = FindModelFolder("");
  ASSERT_TRUE(folder.ok()) << folder.status().ToString();
  EXPECT_TRUE(folder->is_builtin);
  EXPECT_TRUE(Exists(PosixFileSystem(), folder->path + "/config.json"));
}

TEST(ModelFolder, NamedFolderIsTakenAsItIs) {
  const auto folder = FindModelFolder(kTiny);
  ASSERT_TRUE(folder.ok()) << folder.status().ToString();
  EXPECT_FALSE(folder->is_builtin);
  EXPECT_EQ(folder->path, kTiny);
}

TEST(ModelFolder, FirstFolderWithAConfigWins) {
  const auto folder = FirstModelFolder(PosixFileSystem(), {"/nonexistent", kTiny, "/also-not"});
  ASSERT_TRUE(folder.ok());
  EXPECT_EQ(folder->path, kTiny);
}

TEST(ModelFolder, MissingBuiltinModelNamesThePlaces) {
  const Status status = FirstModelFolder(PosixFileSystem(), {"/a", "/b"}).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(status.message().find("/a, /b"), std::string::npos);
}

TEST(Loader, LoadsTheTinyModel) {
  const auto parts = LoadEngineParts({.model = kTiny, .device = "ref"});
  ASSERT_TRUE(parts.ok()) << parts.status().ToString();
  EXPECT_EQ(parts->sizes.max_model_len, 16384);
  EXPECT_EQ(parts->info.eos_token_ids, (std::vector<int32_t>{1}));
  EXPECT_EQ(parts->info.sampling_defaults.top_p, 0.95);
  EXPECT_EQ(parts->info.name, "DeepSeek-V4.1-Tiny");
}

TEST(Loader, MissingFolderIsNamed) {
  const Status status = LoadEngineParts({.model = "/nonexistent/model"}).status();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("/nonexistent/model"), std::string::npos);
}

TEST(Loader, EachMissingFileIsNamed) {
  FileSystem& fs = PosixFileSystem();
  for (const char* missing : {"config.json", "tokenizer.json", "model.safetensors.index.json",
                              "model-00002-of-00003.safetensors"}) {
    const TempDir folder;
    const auto names = fs.List(kTiny);
    ASSERT_TRUE(names.ok());
    for (const std::string& name : *names) {
      if (name == missing) continue;
      ASSERT_TRUE(fs.CreateSymlink(JoinPath(kTiny, name), JoinPath(folder.path(), name)).ok());
    }
    const Status status = LoadEngineParts({.model = folder.path(), .device = "ref"}).status();
    EXPECT_FALSE(status.ok()) << missing;
    EXPECT_NE(status.message().find(missing), std::string::npos) << status.ToString();
  }
}

TEST(Loader, BackendsThatDoNotExistYetAreRefusedByName) {
  for (const char* device : {"nvidia", "ascend"}) {
    const Status status = LoadEngineParts({.model = kTiny, .device = device}).status();
    EXPECT_EQ(status.code(), StatusCode::kUnimplemented) << device;
    EXPECT_NE(status.message().find("src/backend/"), std::string::npos) << status.ToString();
  }
}

TEST(Engine, CreateRefusesABadConfigBeforeItLoads) {
  EXPECT_EQ(Engine::Create({.model = "/nonexistent", .max_num_seqs = 0}).status().message(),
            "max_num_seqs: expected 1..65536, got \"0\"");
  EXPECT_EQ(
      Engine::Create({.model = kTiny, .device = "ref", .max_model_len = 99999}).status().message(),
      "max_model_len: expected at most 16384 (the checkpoint's max_position_embeddings), "
      "got 99999");
  EXPECT_EQ(Engine::Create({.model = kTiny, .device = "ref", .banned_token_ids = "4096"})
                .status()
                .message(),
            "banned_token_ids: expected ids below the vocabulary's 4096, got 4096");
}

}  // namespace
}  // namespace deepinfer::engine
