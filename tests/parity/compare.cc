#include "parity/compare.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "base/strings.h"
#include "tensor/quantize.h"

namespace deepinfer::parity {
namespace {

// Size of one unit in the last place at `magnitude`.
double UlpAt(double magnitude, int32_t mantissa_bits) {
  if (magnitude < kTiny) return kTiny;
  return std::ldexp(1.0, static_cast<int32_t>(std::floor(std::log2(magnitude))) - mantissa_bits);
}

constexpr int64_t kMinNumbers = 16;  // that are judged together

struct RowError {
  double rel_norm = 0;
  double max_ulp = 0;
  double max_step = 0;
  int64_t num_different = 0;
  bool is_class_mismatch = false;  // finite here, NaN or infinity there
};

RowError Measure(const std::vector<float>& expected, const std::vector<float>& actual,
                 int32_t mantissa_bits) {
  RowError error;
  double sum_error = 0, sum_expected = 0, max_error = 0, max_expected = kTiny;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double b = expected[i], a = actual[i];
    if (!std::isfinite(b) || !std::isfinite(a)) {
      const bool is_same = std::isnan(b) ? std::isnan(a) : a == b;
      error.is_class_mismatch |= !is_same;
      continue;
    }
    sum_expected += b * b;
    max_expected = std::max(max_expected, std::fabs(b));
    if (std::fabs(a - b) <= kTiny) continue;
    ++error.num_different;
    sum_error += (a - b) * (a - b);
    max_error = std::max(max_error, std::fabs(a - b));
  }
  const double rms = std::sqrt(sum_expected / std::max<size_t>(expected.size(), 1));
  for (size_t i = 0; i < expected.size(); ++i) {
    const double b = expected[i], a = actual[i];
    if (!std::isfinite(b) || !std::isfinite(a) || std::fabs(a - b) <= kTiny) continue;
    const double ulp = UlpAt(std::max(std::fabs(b), rms), mantissa_bits);
    error.max_ulp = std::max(error.max_ulp, std::fabs(a - b) / ulp);
  }
  error.max_step = max_error / max_expected;
  error.rel_norm = sum_error == 0 ? 0 : std::sqrt(sum_error / std::max(sum_expected, 1e-60));
  return error;
}

std::string Judge(const RowError& error, const Tolerance& tolerance) {
  if (error.is_class_mismatch) return "a number here is NaN or infinite there";
  if (error.rel_norm > tolerance.rel_norm) {
    return StrCat("rel_norm ", error.rel_norm, " > ", tolerance.rel_norm);
  }
  if (error.max_ulp > tolerance.max_ulp) {
    return StrCat("max_ulp ", error.max_ulp, " > ", tolerance.max_ulp);
  }
  if (error.max_step > tolerance.max_step) {
    return StrCat("max_step ", error.max_step, " > ", tolerance.max_step);
  }
  return "";
}

std::string JudgeMismatch(int64_t num_different, int64_t num_values, const Tolerance& tolerance) {
  constexpr double kGranted = 2;  // an edge may be met in the smallest output
  const double limit = kGranted + tolerance.mismatch * static_cast<double>(num_values);
  if (static_cast<double>(num_different) <= limit) return "";
  return StrCat(num_different, " of ", num_values, " numbers differ, limit ", limit);
}

std::vector<float> NumbersAt(const HostTensor& tensor, int64_t begin, int64_t count) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = tensor.GetF32(begin + i);
  return values;
}

std::string CompareRows(const Compare& compare, const HostTensor& expected,
                        const HostTensor& actual) {
  const int32_t mantissa_bits = expected.dtype == DType::kF32 ? 23 : 7;
  const int64_t num_rows = expected.shape[0];
  const int64_t width = num_rows == 0 ? 0 : expected.num_elements() / num_rows;
  const int64_t rows_together = width == 0 ? 1 : (kMinNumbers + width - 1) / width;
  int64_t num_different = 0;
  for (int64_t row = 0; row < num_rows; row += rows_together) {
    const int64_t count = std::min(rows_together, num_rows - row) * width;
    const RowError error = Measure(NumbersAt(expected, row * width, count),
                                   NumbersAt(actual, row * width, count), mantissa_bits);
    const std::string text = Judge(error, compare.tolerance);
    if (!text.empty()) return StrCat("row ", row, ": ", text);
    num_different += error.num_different;
  }
  return JudgeMismatch(num_different, expected.num_elements(), compare.tolerance);
}

struct RegionBytes {
  int64_t data = 0, scales = 0;
};

RegionBytes BytesOf(const Region& region) {
  switch (region.kind) {
    case Region::Kind::kFp8:
      return {region.width, region.width / kQ8Group};
    case Region::Kind::kFp4Main:
      return {region.width / 2, region.width / kQ4sGroup};
    case Region::Kind::kIndexKey:
      return {region.width / 2, region.width / kQ4xGroup};
    case Region::Kind::kF32:
      return {region.width * int64_t{sizeof(float)}, 0};
  }
  return {};
}

std::vector<float> Decode(const Region& region, const HostTensor& pool) {
  std::vector<float> values(region.width);
  const uint8_t* data = pool.bytes.data() + region.begin;
  const uint8_t* scales = pool.bytes.data() + region.scales_begin;
  switch (region.kind) {
    case Region::Kind::kFp8:
      DequantizeQ8(data, scales, region.width, values.data());
      break;
    case Region::Kind::kFp4Main:
      DequantizeQ4s(data, scales, region.width, values.data());
      break;
    case Region::Kind::kIndexKey:
      DequantizeQ4x(data, scales, region.width, values.data());
      break;
    case Region::Kind::kF32:
      std::copy_n(reinterpret_cast<const float*>(data), region.width, values.data());
      break;
  }
  return values;
}

std::string CompareRecords(const Compare& compare, const HostTensor& expected,
                           const HostTensor& actual) {
  HostTensor rest = actual;  // with the regions replaced: all else must be equal
  int64_t num_different = 0, num_values = 0;
  for (size_t i = 0; i < compare.regions.size(); ++i) {
    const Region& region = compare.regions[i];
    const RegionBytes bytes = BytesOf(region);
    std::copy_n(expected.bytes.begin() + region.begin, bytes.data,
                rest.bytes.begin() + region.begin);
    std::copy_n(expected.bytes.begin() + region.scales_begin, bytes.scales,
                rest.bytes.begin() + region.scales_begin);
    const RowError error = Measure(Decode(region, expected), Decode(region, actual), 23);
    const std::string text = Judge(error, compare.tolerance);
    if (!text.empty()) return StrCat("record ", i, " at byte ", region.begin, ": ", text);
    num_different += error.num_different;
    num_values += region.width;
  }
  std::string text = JudgeMismatch(num_different, num_values, compare.tolerance);
  if (!text.empty()) return text;
  text = BitwiseDifference(expected, rest);
  return text.empty() ? "" : StrCat("outside of the records: ", text);
}

}  // namespace

std::string BitwiseDifference(const HostTensor& expected, const HostTensor& actual) {
  DI_CHECK(expected.bytes.size() == actual.bytes.size(), "sizes ", expected.bytes.size(), " and ",
           actual.bytes.size());
  const auto [e, a] =
      std::mismatch(expected.bytes.begin(), expected.bytes.end(), actual.bytes.begin());
  if (e == expected.bytes.end()) return "";
  const int64_t byte = e - expected.bytes.begin();
  const int64_t element = byte * 8 / BitsOf(expected.dtype);
  std::string text = StrCat("element ", element, " of ", expected.num_elements());
  if (expected.dtype == DType::kF32 || expected.dtype == DType::kBF16) {
    return StrCat(text, ": expected ", expected.GetF32(element), ", got ", actual.GetF32(element));
  }
  return StrCat(text, ": expected byte ", int32_t{*e}, ", got ", int32_t{*a});
}

std::string Difference(const Compare& compare, const HostTensor& expected,
                       const HostTensor& actual) {
  switch (compare.kind) {
    case Compare::Kind::kBitwise:
      return BitwiseDifference(expected, actual);
    case Compare::Kind::kNumbers:
      return CompareRows(compare, expected, actual);
    case Compare::Kind::kRecords:
      return CompareRecords(compare, expected, actual);
  }
  return "";
}

}  // namespace deepinfer::parity
