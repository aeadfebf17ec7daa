// What this machine can do at most, measured: the yardstick that benchmarks print shares of.
//
// Threading: called outside any region of the team; takes a second or two.
#pragma once

#include "backend/cpu/isa.h"
#include "backend/cpu/team.h"
#include "deepinfer/status.h"

namespace deepinfer::cpu {

// All cores of the team together.
struct MachineLimits {
  // Bytes a second read and summed up from a buffer far larger than the caches, each thread its own
  // part from begin to end.
  double read_bytes_per_s = 0;
  // Multiply-adds, each counted as two, that keep their operands in registers: of f32 numbers, and
  // of bf16 numbers (0 where the instruction set has none).
  double f32_flops_per_s = 0;
  double bf16_flops_per_s = 0;

  // The rate of the widest kind of multiply-add.
  double peak_flops_per_s() const {
    return bf16_flops_per_s > f32_flops_per_s ? bf16_flops_per_s : f32_flops_per_s;
  }
};

// The best of several short runs with instructions of `isa`, which the machine must have.
// kResourceExhausted when there is no room for the buffer (4 times the last cache, 256 MiB at
// least).
Result<MachineLimits> MeasureMachine(Team& team, Isa isa);

// One of the three alone.
Result<double> MeasureReadBandwidth(Team& team);
double MeasureF32Flops(Team& team, Isa isa);
double MeasureBf16Flops(Team& team, Isa isa);

}  // namespace deepinfer::cpu
