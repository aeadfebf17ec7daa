#include "backend/all/registry.h"

#include "backend/op_table.h"
#include "backend/stream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace deepinfer::backend {
namespace {

TEST(Registry, CreatesTheReference) {
  auto device = CreateDevice({.name = "ref"});
  ASSERT_TRUE(device.ok()) << device.status().ToString();
  EXPECT_EQ((*device)->properties().name, "ref");
  EXPECT_TRUE(MissingOps((*device)->CreateStream()->ops()).empty());
}

TEST(Registry, CreatesTheCpuWithEveryUsableInstructionSet) {
  for (const std::string& isa : UsableIsas("cpu")) {
    auto device = CreateDevice({.name = "cpu", .num_threads = 1, .isa = isa});
    ASSERT_TRUE(device.ok()) << device.status().ToString();
    EXPECT_EQ((*device)->properties().name, "cpu:" + isa);
  }
}

TEST(Registry, NamesTheFolderOfAPlannedBackend) {
  const auto device = CreateDevice({.name = "cuda"});
  EXPECT_EQ(device.status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(device.status().message(), testing::HasSubstr("src/backend/cuda"));
}

TEST(Registry, ListsTheBackendsWhenTheNameIsUnknown) {
  const auto device = CreateDevice({.name = "tpu"});
  EXPECT_EQ(device.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(device.status().message(), "backend: expected one of ref, cpu, got \"tpu\"");
}

TEST(Registry, RefusesOptionsThatDoNotFit) {
  EXPECT_EQ(CreateDevice({.name = "ref", .num_threads = 2}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(CreateDevice({.name = "ref", .isa = "avx2"}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(CreateDevice({.name = "cpu", .isa = "neon"}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(CreateDevice({.name = "cpu", .num_threads = -1}).status().code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace deepinfer::backend
