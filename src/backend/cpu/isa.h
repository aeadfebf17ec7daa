// Instruction sets of the CPU backend and what this machine has of them.
//
// Each level includes the ones before it.  Results are bitwise reproducible within one level and
// differ by rounding between levels. Threading: thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

namespace deepinfer::cpu {

enum class Isa : int32_t {
  kAuto = 0,        // the widest that the machine has
  kAvx2 = 1,        // AVX2, FMA, F16C
  kAvx512 = 2,      // AVX-512 F, BW, DQ, VL
  kAvx512Bf16 = 3,  // and BF16, VNNI, VBMI
  kAmx = 4,         // and AMX tiles with bf16 and int8 products
};

// "auto", "avx2", "avx512", "avx512bf16", "amx".
std::string_view IsaName(Isa isa);

// Whether the processor has it and the operating system saves its registers.  kAuto: whether there
// is any.  For kAmx this asks the kernel for permission to use tiles, once a process.
bool HasIsa(Isa isa);

// The widest level that HasIsa, or kAuto when the machine has not even AVX2.
Isa WidestIsa();

}  // namespace deepinfer::cpu
