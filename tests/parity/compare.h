// Comparison of an output with the reference's, by the rules of tolerance.h.
#pragma once

#include <string>

#include "parity/host_tensor.h"
#include "parity/parity_case.h"

namespace deepinfer::parity {

// "" when `actual` is close enough to `expected`; else one line that says how far off it is, where.
std::string Difference(const Compare& compare, const HostTensor& expected,
                       const HostTensor& actual);

// "" when all bytes are equal; else the first element that differs.
std::string BitwiseDifference(const HostTensor& expected, const HostTensor& actual);

}  // namespace deepinfer::parity
