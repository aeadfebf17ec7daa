#include "backend/cpu/linear/f4_table.h"

#include <limits>

#include "tensor/bf16.h"
#include "tensor/float4.h"
#include "tensor/float8.h"

namespace deepinfer::cpu {
namespace {

constexpr uint16_t DecodedBits(int32_t code, int32_t scale) {
  const float value = F4E2M1ToF32(static_cast<uint8_t>(code));
  if (scale == 255) return 0x7fc0;  // the scale that is no number
  // An f32 overflow is not allowed in a constant: 4 and 6 times 2^126 and above.
  const double product = double{value} * UE8M0ToF32(static_cast<uint8_t>(scale));
  if (product > std::numeric_limits<float>::max()) return 0x7f80;
  if (product < std::numeric_limits<float>::lowest()) return 0xff80;
  return F32ToBf16(static_cast<float>(product)).bits;
}

constexpr std::array<F4WordTable, 256> MakeWordTables() {
  std::array<F4WordTable, 256> tables = {};
  for (int32_t scale = 0; scale < 256; ++scale) {
    for (int32_t i = 0; i < 32; ++i) tables[scale].words[i] = DecodedBits(i % 16, scale);
  }
  return tables;
}

constexpr std::array<F4ByteTable, 256> MakeByteTables() {
  std::array<F4ByteTable, 256> tables = {};
  for (int32_t scale = 0; scale < 256; ++scale) {
    for (int32_t i = 0; i < 16; ++i) {
      const uint16_t bits = DecodedBits(i, scale);
      tables[scale].high[i] = static_cast<uint8_t>(bits >> 8);
      tables[scale].low[i] = static_cast<uint8_t>(bits & 0xff);
    }
  }
  return tables;
}

}  // namespace

// constinit: made by the compiler, there is nothing to run before main.
constinit const std::array<F4WordTable, 256> kF4WordTables = MakeWordTables();
constinit const std::array<F4ByteTable, 256> kF4ByteTables = MakeByteTables();

}  // namespace deepinfer::cpu
