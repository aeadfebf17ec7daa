#include "parity/run_case.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "tensor/buffer.h"

namespace deepinfer::parity {
namespace {

constexpr uint8_t kUnwritten = 0xA5;  // what outputs hold before the op
constexpr uint8_t kCanary = 0x5C;     // what lies behind the end of every tensor
constexpr size_t kCanaryBytes = 64;

// Rows [begin, begin + count) of a case; of one sequence, or of all of them (seq = -1).
struct Piece {
  int64_t begin = 0;
  int64_t count = 0;
  int32_t seq = -1;
  int32_t num_computed_tokens = 0;  // of that sequence, in front of the piece
};

template <typename T>
T ValueOrThrow(Result<T> result) {
  DI_CHECK(result.ok(), result.status().ToString());
  return std::move(result).value();
}

}  // namespace

// The tensors of one call on the device.
class BoundBuilder {
 public:
  BoundBuilder(backend::Device& device, backend::Stream& stream)
      : device_(device), stream_(stream) {}

  void BindTensor(const std::string& name, const HostTensor& host) {
    bound_.views_[name] = ToDevice(name, host);
  }

  void BindWeight(const std::string& name, HostTensor host) {
    kept_.push_back(std::make_unique<HostTensor>(std::move(host)));
    imported_.push_back(ValueOrThrow(device_.ImportWeight(kept_.back()->View())));
    bound_.views_[name] = imported_.back().view;
  }

  void BindRows(const ParityCase& c, const Piece& piece) {
    bound_.num_rows_ = piece.count;
    if (!c.sequences.empty()) BindBatch(c, piece);
  }

  // What the device holds now.  Checks that nothing was written behind the end.
  HostTensor Read(const std::string& name, HostTensor like) {
    std::vector<uint8_t> bytes(like.bytes.size() + kCanaryBytes);
    stream_.CopyToHost(bytes.data(), bound_.views_.at(name).data(), bytes.size());
    stream_.Synchronize();
    for (size_t i = like.bytes.size(); i < bytes.size(); ++i) {
      DI_CHECK(bytes[i] == kCanary, name, " was written ", i - like.bytes.size() + 1,
               " bytes behind its end");
    }
    bytes.resize(like.bytes.size());
    like.bytes = std::move(bytes);
    return like;
  }

  const Bound& bound() const { return bound_; }

 private:
  TensorView ToDevice(const std::string&, const HostTensor& host) {
    std::vector<uint8_t> bytes = host.bytes;
    bytes.resize(bytes.size() + kCanaryBytes, kCanary);
    buffers_.push_back(ValueOrThrow(device_.Allocate(bytes.size())));
    stream_.CopyToDevice(buffers_.back().data(), bytes.data(), bytes.size());
    return ViewOf(buffers_.back().data(), host.dtype, host.shape);
  }

  TensorView Int32s(const std::vector<int32_t>& values, std::vector<int64_t> shape) {
    HostTensor host = Zeros(DType::kI32, std::move(shape));
    std::copy(values.begin(), values.end(), host.as<int32_t>());
    return ToDevice("", host);
  }

  void BindBatch(const ParityCase& c, const Piece& piece) {
    std::vector<HostSequence> sequences = c.sequences;
    if (piece.seq >= 0) {
      sequences = {c.sequences[piece.seq]};
      sequences[0].num_computed_tokens = piece.num_computed_tokens;
      sequences[0].num_new_tokens = static_cast<int32_t>(piece.count);
    } else if (piece.count == 0) {
      for (HostSequence& sequence : sequences) sequence.num_new_tokens = 0;
    }
    std::vector<int32_t> positions, seq_idx, cu_seqlens_q = {0}, computed, slots, blocks;
    for (size_t s = 0; s < sequences.size(); ++s) {
      const HostSequence& sequence = sequences[s];
      for (int32_t i = 0; i < sequence.num_new_tokens; ++i) {
        positions.push_back(sequence.num_computed_tokens + i);
        seq_idx.push_back(static_cast<int32_t>(s));
      }
      cu_seqlens_q.push_back(static_cast<int32_t>(positions.size()));
      computed.push_back(sequence.num_computed_tokens);
      slots.push_back(sequence.state_slot);
      blocks.insert(blocks.end(), sequence.block_table.begin(), sequence.block_table.end());
    }
    const int64_t num_tokens = static_cast<int64_t>(positions.size());
    const int64_t num_seqs = static_cast<int64_t>(sequences.size());
    ops::BatchView& batch = bound_.batch_;
    batch.num_tokens = static_cast<int32_t>(num_tokens);
    batch.num_seqs = static_cast<int32_t>(num_seqs);
    batch.positions = Int32s(positions, {num_tokens});
    batch.seq_idx = Int32s(seq_idx, {num_tokens});
    batch.cu_seqlens_q = Int32s(cu_seqlens_q, {num_seqs + 1});
    batch.num_computed_tokens = Int32s(computed, {num_seqs});
    batch.state_slot = Int32s(slots, {num_seqs});
    batch.block_table = Int32s(blocks, {num_seqs, static_cast<int64_t>(blocks.size()) / num_seqs});
  }

  backend::Device& device_;
  backend::Stream& stream_;
  Bound bound_;
  std::vector<Buffer> buffers_;
  std::vector<std::unique_ptr<HostTensor>> kept_;
  std::vector<backend::ImportedWeight> imported_;
};

namespace {

bool IsOutput(const Arg& arg) { return arg.role == Role::kOut || arg.role == Role::kInOut; }

// Runs one piece and puts its outputs into `outputs`, from where state is read too.
void RunPiece(backend::Device& device, const ParityCase& c, const Piece& piece, Outputs& outputs) {
  const std::unique_ptr<backend::Stream> stream = device.CreateStream();
  BoundBuilder builder(device, *stream);
  builder.BindRows(c, piece);
  for (const auto& [name, arg] : c.args) {
    if (arg.role == Role::kWeight) {
      builder.BindWeight(name, arg.tensor);
      continue;
    }
    const HostTensor& source = IsOutput(arg) ? outputs.at(name) : arg.tensor;
    builder.BindTensor(name, arg.row_axis == kShared
                                 ? source
                                 : Slice(source, arg.row_axis, piece.begin, piece.count));
  }
  c.run(*stream, builder.bound());
  stream->Synchronize();
  for (const auto& [name, arg] : c.args) {
    if (!IsOutput(arg)) continue;
    if (arg.row_axis == kShared) {
      outputs[name] = builder.Read(name, outputs.at(name));
      continue;
    }
    const HostTensor part = Slice(outputs.at(name), arg.row_axis, piece.begin, piece.count);
    Paste(outputs.at(name), arg.row_axis, piece.begin, builder.Read(name, part));
  }
}

void ClearIgnored(const ParityCase& c, Outputs& outputs) {
  for (const auto& [name, arg] : c.args) {
    if (arg.ignored.empty()) continue;
    HostTensor& tensor = outputs.at(name);
    const size_t element_bytes = BitsOf(tensor.dtype) / 8;
    for (size_t i = 0; i < arg.ignored.size(); ++i) {
      if (!arg.ignored[i]) continue;
      std::fill_n(tensor.bytes.begin() + i * element_bytes, element_bytes, 0);
    }
  }
}

std::vector<Piece> CutRows(const ParityCase& c, int64_t piece_len) {
  std::vector<Piece> pieces;
  if (c.sequences.empty()) {
    for (int64_t begin = 0; begin < c.num_rows; begin += piece_len) {
      pieces.push_back({begin, std::min(piece_len, c.num_rows - begin)});
    }
    std::reverse(pieces.begin(), pieces.end());
    return pieces;
  }
  int64_t end = c.num_rows;
  for (int32_t s = static_cast<int32_t>(c.sequences.size()) - 1; s >= 0; --s) {
    const HostSequence& sequence = c.sequences[s];
    const int64_t first = end - sequence.num_new_tokens;
    for (int64_t begin = first; begin < end; begin += piece_len) {
      pieces.push_back({begin, std::min(piece_len, end - begin), s,
                        sequence.num_computed_tokens + static_cast<int32_t>(begin - first)});
    }
    end = first;
  }
  return pieces;
}

}  // namespace

Outputs InitialOutputs(const ParityCase& c) {
  Outputs outputs;
  for (const auto& [name, arg] : c.args) {
    if (!IsOutput(arg)) continue;
    outputs[name] = arg.tensor;
    if (arg.role == Role::kOut) {
      std::fill(outputs[name].bytes.begin(), outputs[name].bytes.end(), kUnwritten);
    }
  }
  ClearIgnored(c, outputs);
  return outputs;
}

Outputs RunWhole(backend::Device& device, const ParityCase& c) {
  Outputs outputs = InitialOutputs(c);
  RunPiece(device, c, {0, c.num_rows}, outputs);
  ClearIgnored(c, outputs);
  return outputs;
}

Outputs RunPieces(backend::Device& device, const ParityCase& c, int64_t piece_len) {
  Outputs outputs = InitialOutputs(c);
  for (const Piece& piece : CutRows(c, piece_len)) RunPiece(device, c, piece, outputs);
  ClearIgnored(c, outputs);
  return outputs;
}

Outputs RunNoRows(backend::Device& device, const ParityCase& c) {
  Outputs outputs = InitialOutputs(c);
  RunPiece(device, c, {0, 0}, outputs);
  ClearIgnored(c, outputs);
  return outputs;
}

}  // namespace deepinfer::parity
