#include "checkpoint/synthesize.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/hash.h"
#include "base/json.h"
#include "base/rng.h"
#include "base/strings.h"
#include "checkpoint/checkpoint_writer.h"
#include "checkpoint/inventory.h"
#include "tensor/bf16.h"
#include "tensor/quantize.h"

namespace deepinfer::checkpoint {
namespace {

constexpr size_t kNumCells = 1 << 16;
constexpr uint64_t kDrawsPerBlock = 8;  // a Philox block has 128 bits, a draw takes 16

// quantile[i] = the normal quantile of (i + 0.5) / 65536, by Newton's method on erfc from the middle out;
// each starts at its neighbour, so few steps are needed.
std::vector<float> MakeQuantiles() {
  std::vector<float> quantiles(kNumCells);
  const double inverse_density_scale = std::sqrt(2 * std::acos(-1.0));
  double x = 0;
  for (size_t i = kNumCells / 2; i < kNumCells; ++i) {
    const double upper_tail = 1 - (static_cast<double>(i) + 0.5) / kNumCells;
    for (int32_t step = 0; step < 30; ++step) {
      const double error = 0.5 * std::erfc(x / std::sqrt(2.0)) - upper_tail;
      const double move = error * inverse_density_scale * std::exp(x * x / 2);
      x += move;
      if (std::abs(move) < 1e-12) break;
    }
    quantiles[i] = static_cast<float>(x);
    quantiles[kNumCells - 1 - i] = static_cast<float>(-x);
  }
  return quantiles;
}

const std::vector<float>& Quantiles() {
  static const std::vector<float> quantiles = MakeQuantiles();
  return quantiles;
}

// The values of rows [first_row, first_row + num_rows) of a weight.
void FillValues(const Weight& weight, uint64_t seed, int64_t first_row, std::span<float> out) {
  const uint64_t stream = Xxh3Of(weight.name);
  const auto first = static_cast<uint64_t>(first_row * weight.num_cols());
  const WeightShape& v = weight.values;
  switch (v.kind) {
    case WeightShape::Kind::kNormal:
      FillNormal(seed, stream, first, out);
      for (float& x : out) x = v.mean + v.scale * x;
      return;
    case WeightShape::Kind::kUniform:
      for (size_t i = 0; i < out.size(); ++i) {
        const uint64_t at = first + i;
        const uint32_t word = PhiloxStream(seed, stream).Block(at / 4)[at % 4];
        out[i] = v.mean + (v.scale - v.mean) * static_cast<float>((word + 0.5) * 0x1p-32);
      }
      return;
    case WeightShape::Kind::kHcBase:
      break;
  }
  FillNormal(seed, stream, first, out);
  // (2 + n) n entries: pre, post, then the n x n matrix.
  const auto n = static_cast<int64_t>(std::sqrt(static_cast<double>(weight.num_rows()) + 1)) - 1;
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t at = first_row + static_cast<int64_t>(i);
    if (at < n) {
      out[i] -= 1;
    } else if (at >= 2 * n) {
      const int64_t cell = at - 2 * n;
      out[i] = (cell / n == cell % n ? 3.0f : 0.0f) + 0.5f * out[i];
    }
  }
}

// A run of whole rows of one weight, whole tiles for tiled formats.
struct Piece {
  size_t weight_idx = 0;
  int64_t first_row = 0;
  int64_t num_rows = 0;
};

constexpr int64_t kPieceElements = 1 << 20;  // 4 MiB of f32: large writes, small buffers

std::vector<Piece> CutIntoPieces(const std::vector<Weight>& weights) {
  std::vector<Piece> pieces;
  for (size_t w = 0; w < weights.size(); ++w) {
    const int64_t rows = weights[w].num_rows();
    const int64_t wanted =
        std::max<int64_t>(kPieceElements / std::max<int64_t>(weights[w].num_cols(), 1), 1);
    const int64_t step = (wanted + kWeightTile - 1) / kWeightTile * kWeightTile;
    for (int64_t row = 0; row < rows; row += step) {
      pieces.push_back({w, row, std::min(step, rows - row)});
    }
  }
  return pieces;
}

// Work shared by the threads of one Synthesize.
class Job {
 public:
  Job(const std::vector<Weight>& weights, CheckpointWriter& writer, uint64_t seed)
      : weights_(weights), writer_(writer), seed_(seed), pieces_(CutIntoPieces(weights)) {
    for (size_t w = 0, tensor = 0; w < weights.size(); ++w) {
      tensor_idx_.push_back(tensor);
      tensor += weights[w].is_pair() ? 2 : 1;
    }
  }

  Status Run(const SynthesizeOptions& options) {
    const size_t cores = std::max(std::thread::hardware_concurrency(), 1u);
    const size_t num_threads =
        options.num_threads > 0 ? static_cast<size_t>(options.num_threads) : cores;
    std::vector<std::thread> threads;
    num_running_ = num_threads;
    for (size_t i = 0; i < num_threads; ++i) threads.emplace_back([this] { Work(); });
    constexpr auto kReportEvery = std::chrono::milliseconds(200);
    std::unique_lock lock(mutex_);
    while (!all_done_.wait_for(lock, kReportEvery, [&] { return num_running_ == 0; })) {
      lock.unlock();
      if (options.progress) options.progress(done_bytes_, writer_.num_bytes());
      lock.lock();
    }
    const Status failure = failure_;
    lock.unlock();
    for (std::thread& thread : threads) thread.join();
    if (options.progress) options.progress(done_bytes_, writer_.num_bytes());
    return failure;
  }

 private:
  void Work() {
    Buffers buffers;
    for (size_t i = next_piece_++; i < pieces_.size(); i = next_piece_++) {
      const Status status = Make(pieces_[i], buffers);
      if (status.ok()) continue;
      const std::lock_guard lock(mutex_);
      if (failure_.ok()) failure_ = status;
      next_piece_ = pieces_.size();  // the others stop after their piece
    }
    const std::lock_guard lock(mutex_);
    if (--num_running_ == 0) all_done_.notify_all();
  }

  struct Buffers {
    std::vector<float> values;
    std::vector<uint8_t> codes;
    std::vector<uint8_t> scales;
  };

  Status Make(const Piece& piece, Buffers& b) {
    const Weight& weight = weights_[piece.weight_idx];
    const int64_t cols = weight.num_cols();
    const int64_t count = piece.num_rows * cols;
    b.values.resize(static_cast<size_t>(count));
    FillValues(weight, seed_, piece.first_row, b.values);
    const size_t tensor = tensor_idx_[piece.weight_idx];
    const float* x = b.values.data();
    switch (weight.format) {
      case WeightFormat::kF32:
        return Put(tensor, piece.first_row * cols * 4, x, static_cast<size_t>(count) * 4);
      case WeightFormat::kBF16: {
        b.codes.resize(static_cast<size_t>(count) * 2);
        for (int64_t i = 0; i < count; ++i) {
          const bf16 value = F32ToBf16(x[i]);
          std::memcpy(&b.codes[static_cast<size_t>(i) * 2], &value, 2);
        }
        return Put(tensor, piece.first_row * cols * 2, b.codes.data(), b.codes.size());
      }
      case WeightFormat::kF8Tiles: {
        const int64_t tile_cols = (cols + kWeightTile - 1) / kWeightTile;
        const int64_t tile_rows = (piece.num_rows + kWeightTile - 1) / kWeightTile;
        b.codes.resize(static_cast<size_t>(count));
        b.scales.resize(static_cast<size_t>(tile_rows * tile_cols));
        QuantizeWeightF8(x, piece.num_rows, cols, b.codes.data(), b.scales.data());
        DI_RETURN_IF_ERROR(Put(tensor, piece.first_row * cols, b.codes.data(), b.codes.size()));
        return Put(tensor + 1, piece.first_row / kWeightTile * tile_cols, b.scales.data(),
                   b.scales.size());
      }
      case WeightFormat::kF8Rows:
        b.codes.resize(static_cast<size_t>(count));
        b.scales.resize(static_cast<size_t>(count / kQ8Group));
        QuantizeQ8(x, count, b.codes.data(), b.scales.data());
        DI_RETURN_IF_ERROR(Put(tensor, piece.first_row * cols, b.codes.data(), b.codes.size()));
        return Put(tensor + 1, piece.first_row * cols / kQ8Group, b.scales.data(), b.scales.size());
      case WeightFormat::kF4Rows:
        b.codes.resize(static_cast<size_t>(count / 2));
        b.scales.resize(static_cast<size_t>(count / kQ4xGroup));
        QuantizeWeightF4(x, piece.num_rows, cols, b.codes.data(), b.scales.data());
        DI_RETURN_IF_ERROR(Put(tensor, piece.first_row * cols / 2, b.codes.data(), b.codes.size()));
        return Put(tensor + 1, piece.first_row * cols / kQ4xGroup, b.scales.data(),
                   b.scales.size());
    }
    return OkStatus();
  }

  Status Put(size_t tensor, int64_t offset, const void* data, size_t num_bytes) {
    DI_RETURN_IF_ERROR(writer_.Write(tensor, static_cast<uint64_t>(offset),
                                     {static_cast<const char*>(data), num_bytes}));
    done_bytes_ += num_bytes;
    return OkStatus();
  }

  const std::vector<Weight>& weights_;
  CheckpointWriter& writer_;
  const uint64_t seed_;
  const std::vector<Piece> pieces_;
  std::vector<size_t> tensor_idx_;  // of the codes of each weight; its scales follow
  std::atomic<size_t> next_piece_ = 0;
  std::atomic<uint64_t> done_bytes_ = 0;
  std::mutex mutex_;
  std::condition_variable all_done_;
  size_t num_running_ = 0;  // guarded by mutex_, like failure_
  Status failure_;
};

}  // namespace

void FillNormal(uint64_t seed, uint64_t stream, uint64_t first, std::span<float> out) {
  const std::vector<float>& quantiles = Quantiles();
  const PhiloxStream words(seed, stream);
  for (size_t i = 0; i < out.size();) {
    const uint64_t at = first + i;
    const PhiloxBlock block = words.Block(at / kDrawsPerBlock);
    for (uint64_t draw = at % kDrawsPerBlock; draw < kDrawsPerBlock && i < out.size();
         ++draw, ++i) {
      out[i] = quantiles[block[draw / 2] >> (draw % 2 * 16) & 0xffff];
    }
  }
}

Result<SynthesizeSummary> Synthesize(FileSystem& fs, std::string_view config_json,
                                     const std::string& folder, const SynthesizeOptions& options) {
  DI_ASSIGN_OR_RETURN(const json::Value config, json::Parse(config_json, {.max_bytes = 1 << 24}));
  const json::Value* vision = config.Find("vision_config");
  if (vision != nullptr && !vision->is_null()) {
    return Unimplemented("vision_config: synthesis makes text weights only; remove this key");
  }
  DI_ASSIGN_OR_RETURN(const std::vector<Weight> weights, TextInventory(config));
  std::vector<TensorSpec> specs;
  for (const Weight& weight : weights) {
    specs.push_back(weight.Codes());
    if (weight.is_pair()) specs.push_back(weight.Scales());
  }
  DI_ASSIGN_OR_RETURN(
      const std::unique_ptr<CheckpointWriter> writer,
      CheckpointWriter::Create(fs, folder, specs, {.max_shard_bytes = options.max_shard_bytes}));
  Job job(weights, *writer, options.seed);
  DI_RETURN_IF_ERROR(job.Run(options));
  DI_RETURN_IF_ERROR(WriteFileAtomically(fs, JoinPath(folder, "config.json"), config_json));
  DI_RETURN_IF_ERROR(writer->Finish());
  return SynthesizeSummary{.num_tensors = static_cast<int64_t>(specs.size()),
                           .num_shards = static_cast<int64_t>(writer->shard_names().size()),
                           .num_bytes = writer->num_bytes()};
}

}  // namespace deepinfer::checkpoint
