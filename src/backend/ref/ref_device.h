// The reference backend: an executable specification on the host.
//
// One scalar implementation an op, one thread, every sum ascending in fp32: written to be read and
// to be right.  Its op table is complete, so it can lend single ops to a backend under construction
// whose memory the host can read.  Unlike other backends its ops may allocate.
#pragma once

#include <memory>

#include "backend/device.h"
#include "backend/op_table.h"

namespace deepinfer::ref {

// A device over host memory with synchronous streams.
std::unique_ptr<backend::Device> CreateRefDevice();

// Every op.  Lives as long as the process.
const backend::OpTable& RefOps();

}  // namespace deepinfer::ref
