#include "backend/cpu/isa.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace deepinfer::cpu {
namespace {

struct CpuidRegs {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

CpuidRegs Cpuid(uint32_t leaf, uint32_t subleaf) {
  CpuidRegs r;
  if (__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) return {};
  return r;
}

bool Bit(uint32_t word, int32_t bit) { return ((word >> bit) & 1) != 0; }

// Register state that the operating system saves; 0 without XSAVE.
uint64_t EnabledXState() {
  if (!Bit(Cpuid(1, 0).ecx, 27)) return 0;
  uint32_t lo = 0, hi = 0;
  __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
  return (uint64_t{hi} << 32) | lo;
}

// Linux hands out the tile registers on request only (arch_prctl, ARCH_REQ_XCOMP_PERM, XTILEDATA).
bool RequestTilePermission() {
  constexpr long kArchReqXcompPerm = 0x1023;
  constexpr long kXTileData = 18;
  return syscall(SYS_arch_prctl, kArchReqXcompPerm, kXTileData) == 0;
}

Isa Detect() {
  constexpr uint64_t kYmmState = 0x6;       // xmm, ymm
  constexpr uint64_t kZmmState = 0xe6;      // and opmask, zmm
  constexpr uint64_t kTileState = 0x600e6;  // and tile configuration, tile data
  const uint64_t xstate = EnabledXState();
  const CpuidRegs leaf1 = Cpuid(1, 0);
  const CpuidRegs leaf7 = Cpuid(7, 0);
  const CpuidRegs leaf7_1 = Cpuid(7, 1);

  const bool fma = Bit(leaf1.ecx, 12), f16c = Bit(leaf1.ecx, 29), avx2 = Bit(leaf7.ebx, 5);
  if ((xstate & kYmmState) != kYmmState || !fma || !f16c || !avx2) return Isa::kAuto;

  const bool f = Bit(leaf7.ebx, 16), dq = Bit(leaf7.ebx, 17), bw = Bit(leaf7.ebx, 30),
             vl = Bit(leaf7.ebx, 31);
  if ((xstate & kZmmState) != kZmmState || !f || !dq || !bw || !vl) return Isa::kAvx2;

  const bool vbmi = Bit(leaf7.ecx, 1), vnni = Bit(leaf7.ecx, 11), bf16 = Bit(leaf7_1.eax, 5);
  if (!vbmi || !vnni || !bf16) return Isa::kAvx512;

  const bool tile = Bit(leaf7.edx, 24), tile_bf16 = Bit(leaf7.edx, 22),
             tile_int8 = Bit(leaf7.edx, 25);
  if ((xstate & kTileState) != kTileState || !tile || !tile_bf16 || !tile_int8 ||
      !RequestTilePermission()) {
    return Isa::kAvx512Bf16;
  }
  return Isa::kAmx;
}

}  // namespace

std::string_view IsaName(Isa isa) {
  switch (isa) {
    case Isa::kAuto:
      return "auto";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx512Bf16:
      return "avx512bf16";
    case Isa::kAmx:
      return "amx";
  }
  return "unknown";
}

Isa WidestIsa() {
  static const Isa widest = Detect();
  return widest;
}

bool HasIsa(Isa isa) {
  const Isa widest = WidestIsa();
  if (isa == Isa::kAuto) return widest != Isa::kAuto;
  return static_cast<int32_t>(isa) <= static_cast<int32_t>(widest);
}

}  // namespace deepinfer::cpu
