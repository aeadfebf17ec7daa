// EmbedStreams (contract: backend/ops/streams.h).
#include <algorithm>
#include <cstring>

#include "backend/cpu/cpu_stream.h"
#include "backend/cpu/streams/streams_kernels.h"
#include "tensor/bf16.h"

namespace deepinfer::cpu {
namespace {

void Convert(const bf16* x, int64_t n, bf16* out) {
  std::memcpy(out, x, static_cast<size_t>(n) * sizeof(bf16));
}
void Convert(const bf16* x, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = Bf16ToF32(x[i]);
}

template <typename Act>
void EmbedRows(const ops::EmbedStreamsArgs& args, int64_t begin, int64_t end) {
  const int64_t num_streams = args.streams.dim(1), hidden_size = args.streams.dim(2);
  for (int64_t row = begin; row < end; ++row) {
    const int64_t id = args.token_ids.as<int32_t>()[row];
    Act* out = args.streams.as<Act>() + row * num_streams * hidden_size;
    if (id >= 0 && id < args.embed.dim(0)) {
      Convert(args.embed.as<bf16>() + id * hidden_size, hidden_size, out);
    } else {
      std::fill(out, out + hidden_size, Act{});
    }
    for (int64_t j = 1; j < num_streams; ++j) {
      std::memcpy(out + j * hidden_size, out, static_cast<size_t>(hidden_size) * sizeof(Act));
    }
    float* pre = args.pre.as<float>() + row * num_streams;
    std::fill(pre, pre + num_streams, 0.0f);
    pre[0] = 1.0f;
  }
}

}  // namespace

void EmbedStreams(backend::Stream& stream, const ops::EmbedStreamsArgs& args) {
  const auto rows = [&](int64_t begin, int64_t end, int32_t) {
    if (args.streams.dtype() == DType::kF32) {
      EmbedRows<float>(args, begin, end);
    } else {
      EmbedRows<bf16>(args, begin, end);
    }
  };
  const int64_t num_rows = args.streams.dim(0);
  constexpr int64_t kMinParallelElements = 1 << 17;
  if (args.streams.num_elements() < kMinParallelElements) {
    rows(0, num_rows, 0);
  } else {
    CpuStream::From(stream).team().ParallelFor(num_rows, rows);
  }
}

}  // namespace deepinfer::cpu
