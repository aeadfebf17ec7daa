#include "backend/cpu/linear/project.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "backend/cpu/cpu_device.h"
#include "tensor/bf16.h"
#include "tensor/float4.h"
#include "tensor/float8.h"

namespace deepinfer::cpu {
namespace {

constexpr Isa kIsas[] = {Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16, Isa::kAmx};
constexpr DType kWeightTypes[] = {DType::kF8E4M3, DType::kF4E2M1, DType::kBF16, DType::kF32};

// A weight in a stored format and the numbers it stands for.
struct TestWeight {
  std::vector<uint8_t> data, scale;
  std::vector<double> values;
  ops::WeightView view;
};

uint8_t FiniteF8(std::mt19937& rng) {
  const auto code = static_cast<uint8_t>(rng());
  return (code & 0x7f) == 0x7f ? 0x01 : code;
}

// Random codes under scales in [scale_min, scale_max].
TestWeight MakeWeight(DType dtype, int64_t n, int64_t k, int32_t scale_min, int32_t scale_max) {
  std::mt19937 rng(static_cast<uint32_t>(n * 131 + k));
  const auto random_scale = [&] {
    return static_cast<uint8_t>(
        scale_min + static_cast<int32_t>(rng() % static_cast<uint32_t>(scale_max - scale_min + 1)));
  };
  TestWeight w;
  w.values.resize(static_cast<size_t>(n * k));
  w.data.resize(static_cast<size_t>(n * k * BitsOf(dtype) / 8));
  if (dtype == DType::kF8E4M3) {
    const int64_t scale_cols = (k + 31) / 32;
    w.scale.resize(static_cast<size_t>((n + 31) / 32 * scale_cols));
    for (uint8_t& s : w.scale) s = random_scale();
    for (int64_t i = 0; i < n * k; ++i) {
      w.data[i] = FiniteF8(rng);
      w.values[i] = double{F8E4M3ToF32(w.data[i])} *
                    UE8M0ToF32(w.scale[i / k / 32 * scale_cols + i % k / 32]);
    }
    w.view.scale = TensorView(w.scale.data(), DType::kUE8M0, {(n + 31) / 32, scale_cols});
  } else if (dtype == DType::kF4E2M1) {
    w.scale.resize(static_cast<size_t>(n * k / 32));
    for (uint8_t& s : w.scale) s = random_scale();
    for (uint8_t& b : w.data) b = static_cast<uint8_t>(rng());
    for (int64_t i = 0; i < n * k; ++i) {
      w.values[i] = double{F4E2M1ToF32(F4CodeAt(w.data.data(), i))} * UE8M0ToF32(w.scale[i / 32]);
    }
    w.view.scale = TensorView(w.scale.data(), DType::kUE8M0, {n, k / 32});
  } else {
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < n * k; ++i) {
      const float value = dtype == DType::kBF16 ? RoundToBf16(normal(rng)) : normal(rng);
      w.values[i] = value;
      if (dtype == DType::kBF16) {
        reinterpret_cast<bf16*>(w.data.data())[i] = F32ToBf16(value);
      } else {
        reinterpret_cast<float*>(w.data.data())[i] = value;
      }
    }
  }
  w.view.data = TensorView(w.data.data(), dtype, {n, k});
  return w;
}

// Rows of x of which one is large, one tiny and one zero.
std::vector<float> MakeX(int64_t m, int64_t k, DType dtype) {
  std::mt19937 rng(7);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<size_t>(m * k));
  for (int64_t i = 0; i < m * k; ++i) {
    const int64_t row = i / k;
    const float factor = row % 5 == 1 ? 1e4f : row % 5 == 2 ? 1e-20f : row % 5 == 3 ? 0.0f : 1.0f;
    x[i] = dtype == DType::kBF16 ? RoundToBf16(normal(rng) * factor) : normal(rng) * factor;
  }
  return x;
}

std::vector<float> Project(Isa isa, int32_t num_threads, DType x_dtype, const float* x, int64_t m,
                           const ops::WeightView& weight) {
  auto device = CreateCpuDevice({.num_threads = num_threads, .isa = isa});
  const auto stream = (*device)->CreateStream();
  CpuStream& cpu = CpuStream::From(*stream);
  const int64_t n = weight.num_rows(), k = weight.num_cols();
  std::vector<uint16_t> x_bf16(static_cast<size_t>(m * k));
  for (int64_t i = 0; i < m * k; ++i) x_bf16[i] = F32ToBf16(x[i]).bits;
  void* data = x_dtype == DType::kBF16 ? static_cast<void*>(x_bf16.data())
                                       : const_cast<void*>(static_cast<const void*>(x));
  std::vector<float> y(static_cast<size_t>(m * n), NAN);
  ProjectF32(cpu, cpu.NewOpArena(), TensorView(data, x_dtype, {m, k}), weight, y.data(), n);
  return y;
}

struct Shape {
  int64_t m, n, k;
};

void ExpectClose(const std::vector<float>& y, const std::vector<float>& x, const TestWeight& w,
                 const Shape& shape, double tolerance) {
  for (int64_t m = 0; m < shape.m; ++m) {
    for (int64_t n = 0; n < shape.n; ++n) {
      double sum = 0, magnitude = 0;
      for (int64_t k = 0; k < shape.k; ++k) {
        const double product = x[m * shape.k + k] * w.values[n * shape.k + k];
        sum += product;
        magnitude += std::abs(product);
      }
      ASSERT_NEAR(y[m * shape.n + n], sum, tolerance * magnitude + 1e-37)
          << "m=" << m << " n=" << n;
    }
  }
}

class ProjectTest : public testing::TestWithParam<std::tuple<Isa, DType, DType>> {
 protected:
  void SetUp() override {
    if (!HasIsa(isa())) GTEST_SKIP() << "this machine lacks " << IsaName(isa());
  }
  Isa isa() const { return std::get<0>(GetParam()); }
  DType x_dtype() const { return std::get<1>(GetParam()); }
  DType w_dtype() const { return std::get<2>(GetParam()); }
};

TEST_P(ProjectTest, AgreesWithDoubles) {
  for (const Shape& shape :
       {Shape{1, 5, 64}, Shape{1, 32, 256}, Shape{3, 70, 96}, Shape{8, 33, 160}, Shape{9, 64, 1088},
        Shape{13, 40, 2304}, Shape{100, 36, 32}}) {
    const TestWeight w = MakeWeight(w_dtype(), shape.n, shape.k, 110, 125);
    const std::vector<float> x = MakeX(shape.m, shape.k, x_dtype());
    const std::vector<float> y = Project(isa(), 2, x_dtype(), x.data(), shape.m, w.view);
    ExpectClose(y, x, w, shape, 1e-6);
    if (HasFatalFailure()) FAIL() << shape.m << "x" << shape.n << "x" << shape.k;
  }
}

// Scales that a checkpoint would hardly have, and that the fast decoders do not cover.
TEST_P(ProjectTest, AgreesWithDoublesUnderExtremeScales) {
  const Shape shape{3, 40, 160};
  for (const auto& [scale_min, scale_max] : {std::pair{1, 30}, std::pair{120, 190}}) {
    const TestWeight w = MakeWeight(w_dtype(), shape.n, shape.k, scale_min, scale_max);
    const std::vector<float> x = MakeX(shape.m, shape.k, x_dtype());
    const std::vector<float> y = Project(isa(), 1, x_dtype(), x.data(), shape.m, w.view);
    ExpectClose(y, x, w, shape, 1e-6);
  }
}

// A row alone, in any batch, with any number of threads: the same bits.
TEST_P(ProjectTest, ARowHasTheSameBitsInEveryBatch) {
  constexpr int64_t kRows = 203;
  for (const Shape& shape : {Shape{kRows, 44, 1120}, Shape{kRows, 32, 64}}) {
    const TestWeight w = MakeWeight(w_dtype(), shape.n, shape.k, 100, 130);
    const std::vector<float> x = MakeX(kRows, shape.k, x_dtype());
    const std::vector<float> all = Project(isa(), 2, x_dtype(), x.data(), kRows, w.view);
    for (const int64_t m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 31, 97}) {
      const int64_t begin = kRows - m;
      const std::vector<float> some =
          Project(isa(), 1, x_dtype(), x.data() + begin * shape.k, m, w.view);
      ASSERT_EQ(std::memcmp(some.data(), all.data() + begin * shape.n,
                            static_cast<size_t>(m * shape.n) * sizeof(float)),
                0)
          << "m=" << m << " k=" << shape.k;
    }
  }
}

std::string NameOf(const testing::TestParamInfo<std::tuple<Isa, DType, DType>>& info) {
  return StrCat(IsaName(std::get<0>(info.param)), "_x_", DTypeName(std::get<1>(info.param)), "_w_",
                DTypeName(std::get<2>(info.param)));
}

INSTANTIATE_TEST_SUITE_P(All, ProjectTest,
                         testing::Combine(testing::ValuesIn(kIsas),
                                          testing::Values(DType::kF32, DType::kBF16),
                                          testing::ValuesIn(kWeightTypes)),
                         NameOf);

}  // namespace
}  // namespace deepinfer::cpu
