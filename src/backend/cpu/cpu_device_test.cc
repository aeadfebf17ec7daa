#include "backend/cpu/cpu_device.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "backend/cpu/cpu_stream.h"

namespace deepinfer::cpu {
namespace {

TEST(CpuDevice, RefusesAMissingInstructionSetByName) {
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16, Isa::kAmx}) {
    const auto device = CreateCpuDevice({.num_threads = 1, .isa = isa});
    EXPECT_EQ(device.ok(), HasIsa(isa));
    if (HasIsa(isa)) continue;
    EXPECT_EQ(device.status().code(), StatusCode::kUnimplemented);
    EXPECT_NE(device.status().message().find(IsaName(isa)), std::string::npos);
  }
}

TEST(CpuDevice, RefusesBadThreadCounts) {
  EXPECT_EQ(CreateCpuDevice({.num_threads = -1}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(CreateCpuDevice({.num_threads = 1 << 20}).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(CpuDevice, ParsesInstructionSetNames) {
  EXPECT_EQ(*ParseIsa("avx512bf16"), Isa::kAvx512Bf16);
  EXPECT_EQ(ParseIsa("neon").status().code(), StatusCode::kInvalidArgument);
}

TEST(CpuDevice, AllocatesZeroedAlignedMemory) {
  auto device = CreateCpuDevice({.num_threads = 1});
  ASSERT_TRUE(device.ok()) << device.status().ToString();
  for (const size_t num_bytes : {size_t{0}, size_t{1}, size_t{100}, size_t{3} << 20}) {
    const Result<Buffer> buffer = (*device)->Allocate(num_bytes);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % 64, 0u);
    const auto* bytes = static_cast<const uint8_t*>(buffer->data());
    for (size_t i = 0; i < num_bytes; ++i) ASSERT_EQ(bytes[i], 0);
  }
}

TEST(CpuDevice, RefusesAnImpossibleSize) {
  auto device = CreateCpuDevice({.num_threads = 1});
  ASSERT_TRUE(device.ok());
  EXPECT_EQ((*device)->Allocate(size_t{1} << 60).status().code(), StatusCode::kResourceExhausted);
}

TEST(CpuDevice, ImportsWeightsInPlace) {
  auto device = CreateCpuDevice({.num_threads = 1});
  ASSERT_TRUE(device.ok());
  float data[4] = {1, 2, 3, 4};
  const auto weight = (*device)->ImportWeight(TensorView(data, DType::kF32, {2, 2}));
  ASSERT_TRUE(weight.ok());
  EXPECT_EQ(weight->view.data(), data);
  EXPECT_EQ(weight->storage.data(), nullptr);
}

TEST(CpuStream, CopiesAndKnowsItsDevice) {
  auto device = CreateCpuDevice({.num_threads = 2});
  ASSERT_TRUE(device.ok());
  const auto stream = (*device)->CreateStream();
  EXPECT_EQ(&stream->device(), device->get());
  EXPECT_EQ(CpuStream::From(*stream).team().num_threads(), 2);
  int32_t a[2] = {1, 2}, b[2] = {0, 0};
  stream->CopyToDevice(b, a, sizeof(a));
  EXPECT_EQ(b[1], 2);
  stream->FillZero(a, sizeof(a));
  EXPECT_EQ(a[0], 0);
}

}  // namespace
}  // namespace deepinfer::cpu
