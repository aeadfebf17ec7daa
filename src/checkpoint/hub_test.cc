#include "checkpoint/hub.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/faulty_file_system.h"
#include "base/strings.h"
#include "base/temp_dir.h"
#include "checkpoint/hub_download.h"
#include "checkpoint/hub_test_server.h"

namespace deepinfer {
namespace {

using hub::HubTestServer;

std::string Pattern(size_t num_bytes, int32_t salt) {
  std::string out(num_bytes, '\0');
  for (size_t i = 0; i < num_bytes; ++i) {
    out[i] = static_cast<char>((i * 131 + i / 251 + static_cast<size_t>(salt)) & 0xff);
  }
  return out;
}

class HubTest : public testing::Test {
 protected:
  HubTest() {
    server_.AddFile("config.json", "{\"model_type\": \"deepseek_v41\"}", false);
    server_.AddFile("tokenizer.json", "{}", false);
    server_.AddFile("README.json.md", "not wanted", false);
    server_.AddFile("model.safetensors.index.json",
                    "{\"weight_map\": {\"a\": \"model-00001-of-00002.safetensors\", "
                    "\"b\": \"model-00002-of-00002.safetensors\"}}",
                    false);
    server_.AddFile(kShard1, shard1_, true);
    server_.AddFile(kShard2, shard2_, true);
    options_.cache_dir = dir_ / "cache";
    options_.endpoint = server_.endpoint();
  }

  Result<std::string> Resolve(FileSystem& fs = PosixFileSystem()) {
    return ResolveModel("org/name", options_, {fs, *http_, clock_, {}});
  }

  std::string Content(const std::string& folder, const std::string& name) {
    const Result<std::string> text = ReadFile(PosixFileSystem(), JoinPath(folder, name), 1 << 24);
    return text.ok() ? *text : text.status().ToString();
  }

  // The ranges asked for one file, in order.
  std::vector<std::string> RangesOf(const std::string& name) {
    std::vector<std::string> ranges;
    for (const hub::SeenRequest& request : server_.requests()) {
      if (BaseName(request.path) == name) ranges.push_back(request.range);
    }
    return ranges;
  }

  static constexpr const char* kShard1 = "model-00001-of-00002.safetensors";
  static constexpr const char* kShard2 = "model-00002-of-00002.safetensors";
  const std::string shard1_ = Pattern(300'000, 1);
  const std::string shard2_ = Pattern(70'000, 2);
  TempDir dir_;
  HubTestServer server_;
  HubOptions options_;
  FakeClock clock_;
  std::unique_ptr<HttpClient> http_ = CreateHttpClient();
};

TEST_F(HubTest, DownloadsIntoThePublicCacheLayout) {
  const Result<std::string> folder = Resolve();
  ASSERT_TRUE(folder.ok()) << folder.status().ToString();
  const std::string repo = options_.cache_dir + "/models--org--name";
  EXPECT_EQ(*folder, StrCat(repo, "/snapshots/", HubTestServer::kCommit));
  EXPECT_EQ(Content(*folder, kShard1), shard1_);
  EXPECT_EQ(Content(*folder, kShard2), shard2_);
  EXPECT_EQ(Content(repo, "refs/main"), HubTestServer::kCommit);
  EXPECT_EQ(PosixFileSystem().ReadSymlink(JoinPath(*folder, kShard1))->substr(0, 12),
            "../../blobs/");
  EXPECT_FALSE(Exists(PosixFileSystem(), JoinPath(*folder, "README.json.md")));
}

TEST_F(HubTest, ACompleteSnapshotNeedsNoNetwork) {
  ASSERT_TRUE(Resolve().ok());
  const size_t before = server_.requests().size();
  options_.offline = true;
  EXPECT_TRUE(Resolve().ok());
  EXPECT_EQ(server_.requests().size(), before);
}

TEST_F(HubTest, OfflineWithoutACopyIsNotFound) {
  options_.offline = true;
  const Status status = Resolve().status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(status.message().find("HF_HUB_OFFLINE"), std::string::npos);
}

TEST_F(HubTest, ACutConnectionIsResumedWhereItEnded) {
  server_.cut_after[kShard1] = {100'000, 50'000};
  const Result<std::string> folder = Resolve();
  ASSERT_TRUE(folder.ok()) << folder.status().ToString();
  EXPECT_EQ(Content(*folder, kShard1), shard1_);
  EXPECT_EQ(RangesOf(kShard1), (std::vector<std::string>{"", "bytes=100000-", "bytes=150000-"}));
}

TEST_F(HubTest, ALaterRunGoesOnWithThePartialFile) {
  server_.cut_after[kShard1] = {100'000, 0, 0, 0, 0, 0};
  options_.max_attempts = 2;
  EXPECT_EQ(Resolve().status().code(), StatusCode::kUnavailable);
  server_.StopCutting();
  const Result<std::string> folder = Resolve();
  ASSERT_TRUE(folder.ok()) << folder.status().ToString();
  EXPECT_EQ(Content(*folder, kShard1), shard1_);
  EXPECT_EQ(RangesOf(kShard1).back(), "bytes=100000-");
}

TEST_F(HubTest, AServerThatIgnoresRangesIsReadFromTheStart) {
  server_.cut_after[kShard1] = {100'000};
  server_.ignore_ranges = true;
  const Result<std::string> folder = Resolve();
  ASSERT_TRUE(folder.ok()) << folder.status().ToString();
  EXPECT_EQ(Content(*folder, kShard1), shard1_);
}

TEST_F(HubTest, ATokenStaysWithTheEndpoint) {
  HubTestServer cdn;
  cdn.AddFile(kShard1, shard1_, true);
  cdn.AddFile(kShard2, shard2_, true);
  cdn.AddFile("config.json", "{\"model_type\": \"deepseek_v41\"}", false);
  cdn.AddFile("tokenizer.json", "{}", false);
  cdn.AddFile("model.safetensors.index.json",
              "{\"weight_map\": {\"a\": \"model-00001-of-00002.safetensors\", "
              "\"b\": \"model-00002-of-00002.safetensors\"}}",
              false);
  server_.redirect_files_to = cdn.endpoint();
  server_.required_token = "secret";
  options_.token = "secret";
  const Result<std::string> folder = Resolve();
  ASSERT_TRUE(folder.ok()) << folder.status().ToString();
  EXPECT_EQ(Content(*folder, kShard2), shard2_);
  for (const hub::SeenRequest& request : cdn.requests()) EXPECT_EQ(request.authorization, "");
}

TEST_F(HubTest, AMissingTokenIsNamed) {
  server_.required_token = "secret";
  const Status status = Resolve().status();
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated);
  EXPECT_NE(status.message().find("HF_TOKEN"), std::string::npos);
}

TEST_F(HubTest, AnUnknownModelIsNotFound) {
  server_.info_status = 404;
  EXPECT_EQ(Resolve().status().code(), StatusCode::kNotFound);
}

TEST_F(HubTest, AMissingFileIsNotFoundAndNamed) {
  server_.status_sent[kShard2] = 404;
  const Status status = Resolve().status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(status.message().find(kShard2), std::string::npos);
}

TEST_F(HubTest, APassingFaultIsRetriedWithGrowingPauses) {
  server_.num_503_first[kShard1] = 3;
  const Result<std::string> folder = Resolve();
  ASSERT_TRUE(folder.ok()) << folder.status().ToString();
  EXPECT_EQ(clock_.slept(), std::chrono::milliseconds(500 + 1000 + 2000));
}

TEST_F(HubTest, AWrongChecksumIsTriedOnceMoreThenRefusedAndRemoved) {
  server_.content_sent[kShard1] = Pattern(300'000, 9);
  const Status status = Resolve().status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_NE(status.message().find("checksum"), std::string::npos);
  EXPECT_EQ(RangesOf(kShard1).size(), 2u);
  const std::string blobs = options_.cache_dir + "/models--org--name/blobs";
  for (const std::string& name : *PosixFileSystem().List(blobs)) {
    EXPECT_NE(ReadFile(PosixFileSystem(), JoinPath(blobs, name), 1 << 24)->size(), 300'000u);
  }
}

TEST_F(HubTest, MoreBytesThanAnnouncedAreRefused) {
  server_.content_sent[kShard2] = shard2_ + "tail";
  EXPECT_EQ(Resolve().status().code(), StatusCode::kDataLoss);
}

TEST_F(HubTest, AFullDiskIsSeenBeforeTheFirstByte) {
  FaultyFileSystem fs(PosixFileSystem());
  fs.SetRoomBytes(100'000);
  const Status status = Resolve(fs).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("free"), std::string::npos);
  EXPECT_TRUE(RangesOf(kShard1).empty());
}

TEST_F(HubTest, AWriteErrorEndsTheDownloadAndALaterRunFinishesIt) {
  FaultyFileSystem fs(PosixFileSystem());
  fs.FailNth(FileOp::kWrite, 4, DataLoss("disk: input/output error"));
  EXPECT_EQ(Resolve(fs).status().code(), StatusCode::kDataLoss);
  EXPECT_TRUE(Resolve().ok());
}

TEST_F(HubTest, TheDefaultModelMayLieInANamedFolder) {
  options_.local_model_dir = dir_.path();
  const HubEnvironment environment{PosixFileSystem(), *http_, clock_, {}};
  EXPECT_EQ(*ResolveModel(std::string(kDefaultModelId), options_, environment), dir_.path());
  options_.local_model_dir = dir_ / "absent";
  EXPECT_EQ(ResolveModel(std::string(kDefaultModelId), options_, environment).status().code(),
            StatusCode::kNotFound);
}

TEST_F(HubTest, AnExistingFolderIsTakenAsItIs) {
  const HubEnvironment environment{PosixFileSystem(), *http_, clock_, {}};
  EXPECT_EQ(*ResolveModel(dir_.path(), options_, environment), dir_.path());
}

TEST_F(HubTest, WhatIsNeitherFolderNorIdIsRefused) {
  const HubEnvironment environment{PosixFileSystem(), *http_, clock_, {}};
  for (const char* model : {"", "name", "a/b/c", "../x/y", "a/..", "a/b@", "a/b@../c", "/a/b"}) {
    EXPECT_EQ(ResolveModel(model, options_, environment).status().code(),
              StatusCode::kInvalidArgument)
        << model;
  }
}

TEST(HubInfo, NamesThatLeaveTheFolderAreNotFetched) {
  const Result<hub::RemoteModel> model = hub::ParseModelInfo(
      R"({"sha": "0123456789abcdef0123456789abcdef01234567", "siblings": [
          {"rfilename": "../up.json", "blobId": "x"}, {"rfilename": "/etc/a.json"},
          {"rfilename": "sub/a.json"}, {"rfilename": ".hidden.json"},
          {"rfilename": "a.json", "blobId": "0123456789abcdef0123456789abcdef01234567", "size": 3}]})");
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  ASSERT_EQ(model->files.size(), 1u);
  EXPECT_EQ(model->files[0].path, "a.json");
}

TEST(HubInfo, DigestsMustBeHexadecimal) {
  EXPECT_FALSE(hub::ParseModelInfo(
                   R"({"sha": "0123456789abcdef0123456789abcdef01234567", "siblings": [
                       {"rfilename": "a.json", "blobId": "../../x"}]})")
                   .ok());
  EXPECT_FALSE(hub::ParseModelInfo(R"({"sha": "../..", "siblings": []})").ok());
}

TEST(HubOptions, FollowTheVariablesInTheirOrder) {
  std::map<std::string, std::string> env = {{"HOME", "/h"}};
  const auto get = [&](const char* name) {
    const auto it = env.find(name);
    return it == env.end() ? nullptr : it->second.c_str();
  };
  EXPECT_EQ(HubOptionsFromEnvironment(get)->cache_dir, "/h/.cache/huggingface/hub");
  env["HF_HOME"] = "/hf";
  EXPECT_EQ(HubOptionsFromEnvironment(get)->cache_dir, "/hf/hub");
  env["HF_HUB_CACHE"] = "/c";
  env["HF_ENDPOINT"] = "http://mirror:8080/";
  env["HF_HUB_OFFLINE"] = "1";
  EXPECT_EQ(HubOptionsFromEnvironment(get)->cache_dir, "/c");
  EXPECT_EQ(HubOptionsFromEnvironment(get)->endpoint, "http://mirror:8080");
  EXPECT_TRUE(HubOptionsFromEnvironment(get)->offline);
  env["HF_HUB_OFFLINE"] = "maybe";
  EXPECT_EQ(HubOptionsFromEnvironment(get).status().code(), StatusCode::kInvalidArgument);
}

TEST(HttpUrls, RedirectTargetsAreCompleted) {
  EXPECT_EQ(ResolveUrl("https://a.b/c/d?x", "/e"), "https://a.b/e");
  EXPECT_EQ(ResolveUrl("https://a.b/c/d?x", "e"), "https://a.b/c/e");
  EXPECT_EQ(ResolveUrl("https://a.b/c/d", "//e.f/g"), "https://e.f/g");
  EXPECT_EQ(ResolveUrl("https://a.b", "http://e.f/g"), "http://e.f/g");
  EXPECT_EQ(OriginOf("HTTPS://A.b/x"), "https://a.b:443");
  EXPECT_EQ(OriginOf("http://u:p@a.b:81/x"), "http://a.b:81");
  EXPECT_EQ(OriginOf("http://[::1]/x"), "http://[::1]:80");
  EXPECT_EQ(OriginOf("ftp://a.b"), "");
}

}  // namespace
}  // namespace deepinfer
