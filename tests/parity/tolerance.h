// How far a backend may be from `ref`, by family and dtype.  The one place for tolerances.
//
// Each row of an output (its leading axis) is judged alone, so that one wrong row can't hide among
// good ones; rows of fewer than 16 numbers are judged together with their neighbours, since a single
// sum may cancel:
//   rel_norm   |a - b|_2 / |b|_2 of the row; not asked of fewer than 16 bf16 numbers, where one flip
//              is too large a part
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
inline constexpr Tolerance kSumF32 = {.rel_norm = 3e-6, .max_ulp = 128};

// The same rounded to bf16 at the end: most values are equal, the others one unit off.
inline constexpr Tolerance kSumBf16 = {.rel_norm = 2e-3, .max_ulp = 1};

// Chains with several bf16 roundings (norm, then rotation): a flip in front moves what follows.
inline constexpr Tolerance kChainBf16 = {.rel_norm = 2e-3, .max_ulp = 3};

// fp32 chains with exp, sqrt or division behind a sum.
inline constexpr Tolerance kChainF32 = {.rel_norm = 8e-6, .max_ulp = 512};

// Chains behind the n*D = 20480 terms of a hyper-connection, where the ascending sum of `ref` is
// itself the less exact one.
inline constexpr Tolerance kLongChainF32 = {.rel_norm = 3e-5, .max_ulp = 1024};

// bf16 numbers kept in f32, and f32 sums over inputs that were rounded to bf16 in the op.
inline constexpr Tolerance kBf16InF32 = {.rel_norm = 2e-3, .max_ulp = 0x1p17};

// Numbers on a quantiser's grid behind fp32 or bf16 arithmetic.
inline constexpr Tolerance kQuantizedF32 = {.rel_norm = 2e-2, .mismatch = 1e-3};
inline constexpr Tolerance kQuantizedBf16 = {.rel_norm = 4e-2, .mismatch = 1e-2};

// Attention in modes B and P: probabilities are rounded to bf16 relative to a maximum, which is the
// row's or, in a kernel that takes the keys in pieces, a piece's (model.md 6.5).  Each term then
// moves by up to 2^-9 of itself and the sum by about 2^-9, a 32nd of an f8e4m3 step: a few codes in
// a hundred.
inline constexpr Tolerance kAttentionBf16 = {.rel_norm = 4e-3, .max_ulp = 6};
inline constexpr Tolerance kQuantizedAttention = {.rel_norm = 4e-2, .mismatch = 8e-2};

// Attention in mode F with scores of about 100: a unit in their last place is 8e-6, and that is the
// relative error of a term.
inline constexpr Tolerance kPeakedAttentionF32 = {.rel_norm = 3e-5, .max_ulp = 1024};

// Absolute differences below this are equal: products of subnormals, which bf16 hardware flushes,
// and up to 1e10 times that behind a norm whose eps is 1e-20.
inline constexpr double kTiny = 1e-26;

}  // namespace deepinfer::parity
