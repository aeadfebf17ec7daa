// Arithmetic on one row of logits, the same to the bit on every machine.
//
// Only additions, multiplications and conversions of IEEE floats are used, in one order for each
// element, and sums are taken in integers, so neither the instruction set, nor the vector width, nor
// a different order of summation on another backend can change a drawn token.
//
// Threading: functions without state.
#pragma once

#include <cstdint>
#include <span>

namespace deepinfer::runner {

// exp(x) for x <= 0, relative error below 2e-7; 0 below -87 and for -infinity; 1 for 0.
float ExpNegative(float x);

// The largest element and whether all elements are finite.  Requires a non-empty row.
struct RowScan {
  float max = 0;  // meaningless unless is_finite or the row holds only -infinity beside finite ones
  bool is_finite = false;
};
RowScan ScanRow(std::span<const float> row);

// The largest element; the row may hold -infinity, but no NaN.
float MaxOf(std::span<const float> row);

// The lowest index of an element that equals `value`; -0 equals +0.  Requires that there is one.
int32_t FirstIndexOf(std::span<const float> row, float value);

// weights[i] = exp((row[i] - max) * inverse_temperature).  `max` is the row's largest element.
void ExpWeights(std::span<const float> row, float max, float inverse_temperature, float* weights);

// weights[i] = 0 where row[i] is below `threshold`.
void ZeroWeightsBelow(std::span<const float> row, float threshold, float* weights);

// groups[g] = the largest of row[g], row[g + n], row[g + 2n], ... with n groups; up to n - 1
// elements at the end are left out.  Requires groups.size() <= row.size().
void GroupMaxima(std::span<const float> row, std::span<float> groups);

// A weight in [0, 1] in fixed point.  Sums of 2^17 of them fit into 64 bits.
inline constexpr int32_t kMassBits = 46;
inline uint64_t MassOf(float weight) {
  // By way of the signed type: processors convert to it in one instruction.
  return static_cast<uint64_t>(
      static_cast<int64_t>(static_cast<double>(weight) * static_cast<double>(1ull << kMassBits)));
}
uint64_t SumOfMasses(std::span<const float> weights);

// log(sum of exp(row[i])) with `max` the row's largest element.  Uses weights[0, row.size()).
double LogSumExp(std::span<const float> row, float max, float* weights);

// Maps floats to integers of the same order; -0 and +0 map to one.  Not for NaN.
uint32_t OrderedKey(float value);

}  // namespace deepinfer::runner
