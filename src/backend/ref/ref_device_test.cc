#include "backend/ref/ref_device.h"

#include "backend/op_table.h"
#include "backend/stream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace deepinfer::ref {
namespace {

TEST(RefDevice, HasEveryOp) { EXPECT_TRUE(backend::MissingOps(RefOps()).empty()); }

TEST(RefDevice, AllocatesZeroedAlignedMemory) {
  const auto device = CreateRefDevice();
  for (const size_t num_bytes : {size_t{0}, size_t{1}, size_t{1000}, size_t{3} << 20}) {
    const Result<Buffer> buffer = device->Allocate(num_bytes);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % 64, 0u);
    EXPECT_EQ(buffer->num_bytes(), num_bytes);
    const auto* bytes = static_cast<const uint8_t*>(buffer->data());
    for (size_t i = 0; i < num_bytes; ++i) ASSERT_EQ(bytes[i], 0);
  }
}

TEST(RefDevice, RefusesAnImpossibleSizeByName) {
  const auto device = CreateRefDevice();
  for (const size_t num_bytes : {size_t{1} << 60, ~size_t{0}}) {
    const auto buffer = device->Allocate(num_bytes);
    EXPECT_EQ(buffer.status().code(), StatusCode::kResourceExhausted);
    EXPECT_THAT(buffer.status().message(), testing::HasSubstr("ref: expected room for"));
  }
}

TEST(RefDevice, ImportsWeightsInPlace) {
  const auto device = CreateRefDevice();
  float data[2] = {1, 2};
  const auto weight = device->ImportWeight(TensorView(data, DType::kF32, {2}));
  ASSERT_TRUE(weight.ok());
  EXPECT_EQ(weight->view.data(), data);
  EXPECT_EQ(weight->storage.data(), nullptr);
}

TEST(RefStream, CopiesAndClears) {
  const auto device = CreateRefDevice();
  const auto stream = device->CreateStream();
  EXPECT_EQ(&stream->device(), device.get());
  const int32_t source[2] = {1, 2};
  int32_t there[2] = {}, moved[2] = {}, back[2] = {};
  stream->CopyToDevice(there, source, sizeof(source));
  stream->CopyOnDevice(moved, there, sizeof(there));
  stream->CopyToHost(back, moved, sizeof(moved));
  stream->FillZero(there, sizeof(there));
  stream->Synchronize();
  EXPECT_EQ(back[1], 2);
  EXPECT_EQ(there[1], 0);
}

}  // namespace
}  // namespace deepinfer::ref
