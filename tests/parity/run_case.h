// Runs a case on a device: as a whole, or cut into pieces.
#pragma once

#include <map>
#include <string>

#include "backend/device.h"
#include "parity/parity_case.h"

namespace deepinfer::parity {

// The outputs of a case by name, unspecified elements zeroed.
using Outputs = std::map<std::string, HostTensor>;

// All rows in one call.  Throws InternalError when an op writes behind the end of a tensor.
Outputs RunWhole(backend::Device& device, const ParityCase& c);

// The rows in calls of at most `piece_len`, each a batch of one sequence (or of no sequence).  State
// is carried from piece to piece; the last sequence goes first.
Outputs RunPieces(backend::Device& device, const ParityCase& c, int64_t piece_len);

// A call without rows, which must change nothing.
Outputs RunNoRows(backend::Device& device, const ParityCase& c);

// The outputs before anything has run: patterns, and the initial state.
Outputs InitialOutputs(const ParityCase& c);

}  // namespace deepinfer::parity
