// WindowWrite (contract: backend/ops/attention.h).
#include <algorithm>
#include <cstring>

#include "backend/cpu/attention/attention_kernels.h"

namespace deepinfer::cpu {

void WindowWrite(backend::Stream&, const ops::WindowWriteArgs& args) {
  const size_t record_bytes = args.kv_record.row_bytes();
  const int32_t* cu_seqlens_q = args.batch.cu_seqlens_q.as<int32_t>();
  const int32_t* positions = args.batch.positions.as<int32_t>();
  const int32_t* state_slot = args.batch.state_slot.as<int32_t>();
  for (int32_t seq = 0; seq < args.batch.num_seqs; ++seq) {
    uint8_t* ring = args.ring.pool.as<uint8_t>() +
                    static_cast<size_t>(state_slot[seq]) * args.ring.pool.row_bytes() +
                    args.ring.offset;
    const int32_t end = cu_seqlens_q[seq + 1];
    const int32_t begin = std::max(cu_seqlens_q[seq], end - args.ring.ring_len);
    for (int32_t row = begin; row < end; ++row) {
      const size_t entry = static_cast<size_t>(positions[row] % args.ring.ring_len);
      std::memcpy(ring + entry * record_bytes,
                  args.kv_record.as<uint8_t>() + static_cast<size_t>(row) * record_bytes,
                  record_bytes);
    }
  }
}

}  // namespace deepinfer::cpu
