// A tensor that owns its bytes in host memory, and the standard generators that fill it.
//
// Threading: values.
#pragma once

#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "tensor/tensor_view.h"

namespace deepinfer::parity {

struct HostTensor {
  DType dtype = DType::kU8;
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;

  int64_t num_elements() const;
  // A view of `bytes`, valid until they move.
  TensorView View();

  float GetF32(int64_t i) const;  // f32 or bf16
  void SetF32(int64_t i, float value);
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(bytes.data());
  }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(bytes.data());
  }
};

// A tensor of this view's dtype and shape.
TensorView ViewOf(void* data, DType dtype, const std::vector<int64_t>& shape);

HostTensor Zeros(DType dtype, std::vector<int64_t> shape);

// Random numbers of one case: a pure function of the case's name and of DI_SEED, which gives other
// draws (the suite as such runs without it).
using Rng = std::mt19937_64;
Rng RngFor(std::string_view case_name);
int32_t UniformInt(Rng& rng, int32_t min, int32_t max);  // both ends included
float Normal(Rng& rng);

// How the values of a tensor are drawn.
enum class Fill {
  kNormal,      // N(0, 1)
  kLargeRange,  // magnitudes 2^-20 .. 2^20, either sign
  kZeros,       // zeros of either sign
  kDenormals,   // fp32 subnormals (bf16 ones in a bf16 tensor) of either sign
  kMixedRows,   // the four kinds above in turn along the leading axis
};

// An f32 or bf16 tensor.
HostTensor Random(Rng& rng, DType dtype, std::vector<int64_t> shape, Fill fill = Fill::kNormal,
                  float factor = 1.0f);

// Norm weights: 1 + 0.1 N.
HostTensor RandomNormWeight(Rng& rng, std::vector<int64_t> shape);

// A projection weight [num_rows, num_cols] whose products with N(0, 1) are about N(0, 1).
// Quantised ones use every finite code, and scales that differ from tile to tile.
struct HostWeight {
  HostTensor data;
  HostTensor scale;  // no shape when the dtype has none
};
HostWeight RandomWeight(Rng& rng, DType dtype, int64_t num_rows, int64_t num_cols);

// Rows [begin, begin + count) along `axis`.
HostTensor Slice(const HostTensor& tensor, int32_t axis, int64_t begin, int64_t count);
// Writes `part` over the rows [begin, ...) of `tensor` along `axis`.
void Paste(HostTensor& tensor, int32_t axis, int64_t begin, const HostTensor& part);

}  // namespace deepinfer::parity
