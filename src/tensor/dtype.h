// The element types that occur in checkpoints, caches and activations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace deepinfer {

enum class DType : uint8_t {
  kF32,
  kBF16,
  kF8E4M3,  // fp8 "fn": 1-4-3, bias 7, no infinities, max 448
  kF4E2M1,  // two codes a byte, element 2j in the low nibble; shapes count elements, not bytes
  kUE8M0,   // a power of two: 2^(byte - 127)
  kI32,
  kI64,
  kU8,  // raw bytes: cache records, masks
};

// Bits of one element: 4 for kF4E2M1.
constexpr int32_t BitsOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kI32:
      return 32;
    case DType::kBF16:
      return 16;
    case DType::kF8E4M3:
    case DType::kUE8M0:
    case DType::kU8:
      return 8;
    case DType::kF4E2M1:
      return 4;
    case DType::kI64:
      return 64;
  }
  return 0;
}

// "f32", "bf16", "f8e4m3", "f4e2m1", "ue8m0", "i32", "i64", "u8".
constexpr std::string_view DTypeName(DType dtype) {
  constexpr std::string_view kNames[] = {"f32",   "bf16", "f8e4m3", "f4e2m1",
                                         "ue8m0", "i32",  "i64",    "u8"};
  return kNames[static_cast<size_t>(dtype)];
}

}  // namespace deepinfer
