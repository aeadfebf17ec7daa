// How far a backend may be from `ref`, by family and dtype.  The one place for tolerances.
//
// Each row of an output (its leading axis) is judged alone, so that one wrong row can't hide among
// good ones; rows of fewer than 16 numbers are judged together with their neighbours, since a
// single sum may cancel:
//   rel_norm   |a - b|_2 / |b|_2 of the row.  A single bf16 flip is already 2e-3 of a row of 64, so
//              for bf16 the other two say more
//   max_ulp    largest |a - b| in units of the last place of max(|b_i|, rms of the row); a sum that
//              cancels is no more exact than its terms
//   max_step   largest |a - b| as a share of the largest |b_i| of the row; for numbers on a grid,
//              where a flip goes to the neighbouring code
//   mismatch   share of bf16 numbers or quantised codes that may differ, over the whole output (two
//              are always granted).  They differ where a value lies beside a rounding edge
//
// What is not listed is compared bit by bit.
#pragma once

#include <limits>

namespace deepinfer::parity {

inline constexpr double kNotAsked = std::numeric_limits<double>::infinity();

struct Tolerance {
  double rel_norm = kNotAsked;
  double max_ulp = kNotAsked;
  double max_step = kNotAsked;
  double mismatch = kNotAsked;
};

// fp32 results of sums: another order of 32 .. 8192 terms.
inline constexpr Tolerance kSumF32 = {.rel_norm = 3e-6, .max_ulp = 128};

// The same rounded to bf16 at the end: most values are equal, the others one unit off.
inline constexpr Tolerance kSumBf16 = {.rel_norm = 8e-3, .max_ulp = 1, .mismatch = 2e-3};

// Chains with several bf16 roundings (norm, then rotation): a flip in front moves what follows.
inline constexpr Tolerance kChainBf16 = {.rel_norm = 8e-3, .max_ulp = 3, .mismatch = 1e-2};

// fp32 chains with exp, sqrt or division behind a sum.
inline constexpr Tolerance kChainF32 = {.rel_norm = 8e-6, .max_ulp = 512};

// Chains behind the n*D = 20480 terms of a hyper-connection, where the ascending sum of `ref` is
// itself the less exact one.
inline constexpr Tolerance kLongChainF32 = {.rel_norm = 3e-5, .max_ulp = 1024};

// bf16 numbers kept in f32, and f32 sums over inputs that were rounded to bf16 in the op.
inline constexpr Tolerance kBf16InF32 = {.rel_norm = 2e-3, .max_ulp = 0x1p17};

// Numbers on a quantiser's grid behind fp32 or bf16 arithmetic.  The largest magnitude of a group
// lies in the upper half of the format's range: a step of f8e4m3 is at most 32 of 256 of it, one of
// f4e2m1 2 of 4.
inline constexpr Tolerance kF8GridF32 = {.max_step = 0.13, .mismatch = 1e-3};
inline constexpr Tolerance kF8GridBf16 = {.max_step = 0.13, .mismatch = 1e-2};
inline constexpr Tolerance kF4GridF32 = {.max_step = 0.51, .mismatch = 1e-3};
inline constexpr Tolerance kF4GridBf16 = {.max_step = 0.51, .mismatch = 1e-2};

// Attention in modes B and P: probabilities are rounded to bf16 relative to a maximum, which is the
// row's or, in a kernel that takes the keys in pieces, a piece's (model.md 6.5).  Each term then
// moves by up to 2^-9 of itself and the sum by about 2^-9, a 32nd of an f8e4m3 step: a few codes in
// a hundred.
inline constexpr Tolerance kAttentionBf16 = {.rel_norm = 4e-3, .max_ulp = 6};
inline constexpr Tolerance kF8GridAttention = {.max_step = 0.13, .mismatch = 8e-2};

// Attention in mode F with scores of about 100: a unit in their last place is 8e-6, and that is the
// relative error of a term.
inline constexpr Tolerance kPeakedAttentionF32 = {.rel_norm = 3e-5, .max_ulp = 1024};

// Absolute differences below this are equal: products of subnormals, which bf16 hardware flushes,
// and up to 1e10 times that behind a norm whose eps is 1e-20.
inline constexpr double kTiny = 1e-26;

}  // namespace deepinfer::parity
