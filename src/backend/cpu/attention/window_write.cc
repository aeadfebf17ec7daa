// WindowWrite (contract: backend/ops/attention.h).
#include <algorithm>
#include <cstring>

#include "backend/cpu/attention/attention_kernels.h"
#include "backend/cpu/records.h"

namespace deepinfer::cpu {

void WindowWrite(backend::Stream&, const ops::WindowWriteArgs& args) {
  const size_t record_bytes = args.kv_record.row_bytes();
  const int32_t* cu_seqlens_q = args.batch.cu_seqlens_q.as<int32_t>();
  const int32_t* positions = args.batch.positions.as<int32_t>();
  const int32_t* state_slot = args.batch.state_slot.as<int32_t>();
  for (int32_t seq = 0; seq < args.batch.num_seqs; ++seq) {
    const int32_t end = cu_seqlens_q[seq + 1];
    const int32_t begin = std::max(cu_seqlens_q[seq], end - args.ring.ring_len);
    for (int32_t row = begin; row < end; ++row) {
      std::memcpy(RingRecord(args.ring, state_slot[seq], positions[row],
                             static_cast<int64_t>(record_bytes)),
                  args.kv_record.as<uint8_t>() + static_cast<size_t>(row) * record_bytes,
                  record_bytes);
    }
  }
}

}  // namespace deepinfer::cpu
