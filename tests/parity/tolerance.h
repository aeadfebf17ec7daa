// How far a backend may be from `ref`, by family and dtype.  The one place for tolerances.
//
// Each row of an output (its leading axis) is judged alone, so that one wrong row can't hide among
// good ones:
//   rel_norm   |a - b|_2 / |b|_2 of the row
//   max_ulp    largest |a - b| in units of the last place of max(|b_i|, rms of the row); a sum that
//              cancels is no more exact than its terms
//   mismatch   share of quantised codes that may differ, over the whole output.  A code differs
//              where the value lies beside a rounding edge; how far is bounded by rel_norm
//
// What is not listed is compared bit by bit.
#pragma once

namespace deepinfer::parity {

struct Tolerance {
  double rel_norm = 0;
  double max_ulp = 0;
  double mismatch = 0;
};

// fp32 results of sums: another order of 32 .. 8192 terms.
inline constexpr Tolerance kSumF32 = {.rel_norm = 2e-6, .max_ulp = 128};

// The same rounded to bf16 at the end: most values are equal, the others one unit off.
inline constexpr Tolerance kSumBf16 = {.rel_norm = 1e-3, .max_ulp = 1};

// Chains with several bf16 roundings (norm, then rotation): a flip in front moves what follows.
inline constexpr Tolerance kChainBf16 = {.rel_norm = 2e-3, .max_ulp = 3};

// fp32 chains with exp, sqrt or division behind a sum.
inline constexpr Tolerance kChainF32 = {.rel_norm = 4e-6, .max_ulp = 256};

// bf16 numbers kept in f32, and f32 sums over inputs that were rounded to bf16 in the op.
inline constexpr Tolerance kBf16InF32 = {.rel_norm = 2e-3, .max_ulp = 0x1p17};

// Numbers on a quantiser's grid behind fp32 or bf16 arithmetic.
inline constexpr Tolerance kQuantizedF32 = {.rel_norm = 2e-2, .mismatch = 1e-3};
inline constexpr Tolerance kQuantizedBf16 = {.rel_norm = 4e-2, .mismatch = 1e-2};

// Attention in modes B and P: probabilities are rounded to bf16 relative to a maximum, which is the
// row's or, in a kernel that goes through the keys once, a running one.
inline constexpr Tolerance kAttentionBf16 = {.rel_norm = 4e-3, .max_ulp = 3};
inline constexpr Tolerance kQuantizedAttention = {.rel_norm = 4e-2, .mismatch = 4e-2};

// Absolute differences below this are equal: products of subnormals, which bf16 hardware flushes.
inline constexpr double kTiny = 1e-30;

}  // namespace deepinfer::parity
