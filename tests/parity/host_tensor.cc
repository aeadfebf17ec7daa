#include "parity/host_tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/check.h"
#include "tensor/bf16.h"

namespace deepinfer::parity {
namespace {

float RandomSign(Rng& rng) { return (rng() & 1) != 0 ? -1.0f : 1.0f; }

float Draw(Rng& rng, DType dtype, Fill fill) {
  switch (fill) {
    case Fill::kLargeRange:
      return std::ldexp(RandomSign(rng) * (1.0f + UniformInt(rng, 0, 127) / 128.0f),
                        UniformInt(rng, -20, 20));
    case Fill::kZeros:
      return RandomSign(rng) * 0.0f;
    case Fill::kDenormals: {
      const uint32_t mantissa = static_cast<uint32_t>(UniformInt(rng, 1, 127)) << 16;
      const float value = std::bit_cast<float>(mantissa | (dtype == DType::kF32 ? 0x1234u : 0u));
      return RandomSign(rng) * value;
    }
    case Fill::kNormal:
    case Fill::kMixedRows:
      return Normal(rng);
  }
  return 0;
}

Fill FillOfRow(Fill fill, int64_t row) {
  if (fill != Fill::kMixedRows) return fill;
  constexpr Fill kKinds[] = {Fill::kNormal, Fill::kLargeRange, Fill::kZeros, Fill::kDenormals};
  return kKinds[row % 4];
}

// Elements in front of, along and behind an axis.
struct AxisSplit {
  AxisSplit(const std::vector<int64_t>& shape, int32_t axis) : along(shape[axis]) {
    for (int32_t i = 0; i < axis; ++i) outer *= shape[i];
    for (size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  }
  int64_t outer = 1, along = 1, inner = 1;
};

HostTensor RandomF8Codes(Rng& rng, int64_t num_rows, int64_t num_cols) {
  HostTensor codes = Zeros(DType::kF8E4M3, {num_rows, num_cols});
  for (uint8_t& code : codes.bytes) {
    code = static_cast<uint8_t>(rng());
    if ((code & 0x7F) == 0x7F) code ^= 1;  // not NaN
  }
  return codes;
}

// Scales around 1 / (rms * sqrt(num_cols)), where `rms` is that of uniform codes.
HostTensor RandomScales(Rng& rng, std::vector<int64_t> shape, float rms, int64_t num_cols) {
  HostTensor scales = Zeros(DType::kUE8M0, std::move(shape));
  const int32_t exponent =
      -static_cast<int32_t>(std::lround(std::log2(rms * std::sqrt(static_cast<float>(num_cols)))));
  for (uint8_t& scale : scales.bytes) {
    scale = static_cast<uint8_t>(127 + exponent + UniformInt(rng, -2, 1));
  }
  return scales;
}

}  // namespace

int64_t HostTensor::num_elements() const {
  int64_t n = 1;
  for (const int64_t dim : shape) n *= dim;
  return n;
}

TensorView HostTensor::View() { return ViewOf(bytes.data(), dtype, shape); }

float HostTensor::GetF32(int64_t i) const {
  return dtype == DType::kF32 ? as<float>()[i] : Bf16ToF32(as<bf16>()[i]);
}

void HostTensor::SetF32(int64_t i, float value) {
  if (dtype == DType::kF32) {
    as<float>()[i] = value;
  } else {
    as<bf16>()[i] = F32ToBf16(value);
  }
}

TensorView ViewOf(void* data, DType dtype, const std::vector<int64_t>& s) {
  switch (s.size()) {
    case 1:
      return TensorView(data, dtype, {s[0]});
    case 2:
      return TensorView(data, dtype, {s[0], s[1]});
    case 3:
      return TensorView(data, dtype, {s[0], s[1], s[2]});
  }
  DI_CHECK(false, "dims=", s.size());
  return {};
}

HostTensor Zeros(DType dtype, std::vector<int64_t> shape) {
  HostTensor tensor{dtype, std::move(shape), {}};
  tensor.bytes.resize(static_cast<size_t>(tensor.num_elements()) * BitsOf(dtype) / 8);
  return tensor;
}

Rng RngFor(std::string_view case_name) {
  const char* other_draw = std::getenv("DI_SEED");
  uint64_t seed = 1469598103934665603u;  // FNV-1a: the same on every machine
  if (other_draw != nullptr) seed += std::strtoull(other_draw, nullptr, 10);
  for (const char c : case_name) seed = (seed ^ static_cast<uint8_t>(c)) * 1099511628211u;
  return Rng(seed);
}

int32_t UniformInt(Rng& rng, int32_t min, int32_t max) {
  return min + static_cast<int32_t>(rng() % (static_cast<uint64_t>(max) - min + 1));
}

float Normal(Rng& rng) {
  const double u = (static_cast<double>(rng() >> 11) + 0.5) * 0x1p-53;
  const double angle = static_cast<double>(rng() >> 11) * 0x1p-53 * 6.283185307179586;
  return static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(angle));
}

HostTensor Random(Rng& rng, DType dtype, std::vector<int64_t> shape, Fill fill, float factor) {
  HostTensor tensor = Zeros(dtype, std::move(shape));
  const int64_t num_rows = tensor.shape[0];
  const int64_t width = num_rows == 0 ? 0 : tensor.num_elements() / num_rows;
  for (int64_t row = 0; row < num_rows; ++row) {
    for (int64_t i = row * width; i < (row + 1) * width; ++i) {
      tensor.SetF32(i, Draw(rng, dtype, FillOfRow(fill, row)) * factor);
    }
  }
  return tensor;
}

HostTensor RandomNormWeight(Rng& rng, std::vector<int64_t> shape) {
  HostTensor tensor = Zeros(DType::kBF16, std::move(shape));
  for (int64_t i = 0; i < tensor.num_elements(); ++i) tensor.SetF32(i, 1 + 0.1f * Normal(rng));
  return tensor;
}

HostWeight RandomWeight(Rng& rng, DType dtype, int64_t num_rows, int64_t num_cols) {
  if (dtype == DType::kF8E4M3) {
    return {RandomF8Codes(rng, num_rows, num_cols),
            RandomScales(rng, {(num_rows + 31) / 32, (num_cols + 31) / 32}, 90.0f, num_cols)};
  }
  if (dtype == DType::kF4E2M1) {
    HostTensor codes = Zeros(DType::kF4E2M1, {num_rows, num_cols});
    for (uint8_t& code : codes.bytes) code = static_cast<uint8_t>(rng());
    return {std::move(codes), RandomScales(rng, {num_rows, num_cols / 32}, 2.9f, num_cols)};
  }
  const float factor = 1.0f / std::sqrt(static_cast<float>(num_cols));
  return {Random(rng, dtype, {num_rows, num_cols}, Fill::kNormal, factor), {}};
}

HostTensor Slice(const HostTensor& tensor, int32_t axis, int64_t begin, int64_t count) {
  const AxisSplit split(tensor.shape, axis);
  std::vector<int64_t> shape = tensor.shape;
  shape[axis] = count;
  HostTensor part = Zeros(tensor.dtype, shape);
  const size_t row_bytes = static_cast<size_t>(split.inner) * BitsOf(tensor.dtype) / 8;
  for (int64_t o = 0; o < split.outer; ++o) {
    std::copy_n(tensor.bytes.begin() + (o * split.along + begin) * row_bytes, count * row_bytes,
                part.bytes.begin() + o * count * row_bytes);
  }
  return part;
}

void Paste(HostTensor& tensor, int32_t axis, int64_t begin, const HostTensor& part) {
  const AxisSplit split(tensor.shape, axis);
  const int64_t count = part.shape[axis];
  const size_t row_bytes = static_cast<size_t>(split.inner) * BitsOf(tensor.dtype) / 8;
  for (int64_t o = 0; o < split.outer; ++o) {
    std::copy_n(part.bytes.begin() + o * count * row_bytes, count * row_bytes,
                tensor.bytes.begin() + (o * split.along + begin) * row_bytes);
  }
}

}  // namespace deepinfer::parity
