#include "golden/test_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "backend/all/registry.h"
#include "base/check.h"
#include "base/file_system.h"
#include "tokenizer/engram_vocabulary.h"
#include "tokenizer/tokenizer.h"

namespace deepinfer::golden {
namespace {

std::vector<Row> Download(backend::Stream& stream, const TensorView& view) {
  std::vector<char> bytes(view.num_bytes());
  stream.CopyToHost(bytes.data(), view.data(), bytes.size());
  stream.Synchronize();
  std::vector<Row> rows(view.dim(0), Row(view.dim(1)));
  const char* data = bytes.data();
  for (Row& row : rows) {
    for (float& value : row) {
      uint32_t bits = 0;
      if (view.dtype() == DType::kF32) {
        std::memcpy(&bits, data, 4);
        data += 4;
      } else {  // bf16: the upper half of an f32
        std::memcpy(reinterpret_cast<char*>(&bits) + 2, data, 2);
        data += 2;
      }
      std::memcpy(&value, &bits, 4);
    }
  }
  return rows;
}

}  // namespace

// Opens everything below options.folder.  The caches get room for every sequence at full length.
Result<std::unique_ptr<TestModel>> TestModel::TryLoad(const TestModelOptions& options) {
  auto test = std::unique_ptr<TestModel>(new TestModel());
  const std::string folder = options.folder.substr(0, 1) == "/"
                                 ? options.folder
                                 : std::string(DI_SOURCE_DIR) + "/" + options.folder;
  DI_ASSIGN_OR_RETURN(test->device_, backend::CreateDevice({.name = options.backend,
                                                            .num_threads = options.num_threads,
                                                            .isa = options.isa}));
  FileSystem& fs = PosixFileSystem();
  DI_ASSIGN_OR_RETURN(checkpoint::Checkpoint opened, checkpoint::Checkpoint::Open(fs, folder));
  test->checkpoint_ = std::make_unique<checkpoint::Checkpoint>(std::move(opened));
  DI_ASSIGN_OR_RETURN(const std::string text, ReadFile(fs, folder + "/config.json", 1 << 20));
  DI_ASSIGN_OR_RETURN(model::ModelConfig config, model::ParseModelConfig(text));
  if (options.edit) options.edit(config);
  DI_ASSIGN_OR_RETURN(const tokenizer::Tokenizer tokenizer, tokenizer::Tokenizer::Load(fs, folder));
  const std::vector<int32_t> ids = tokenizer::MakeEngramVocabulary(tokenizer).compressed_ids;
  const model::ModelOptions model_options = {.numerics = options.numerics,
                                             .max_num_tokens = options.max_num_tokens,
                                             .max_num_logit_rows = options.max_num_tokens,
                                             .max_model_len = options.max_model_len};
  DI_ASSIGN_OR_RETURN(test->model_, model::Model::Load(*test->checkpoint_, config, ids,
                                                       *test->device_, model_options));
  test->stream_ = test->device_->CreateStream();
  DI_RETURN_IF_ERROR(test->AllocateCaches(options));
  return test;
}

Status TestModel::AllocateCaches(const TestModelOptions& options) {
  const model::CacheLayout& layout = model_->cache_layout();
  const int32_t num_slots = options.num_sequences + 1;
  const int32_t num_blocks =
      1 + options.num_sequences * model::CacheLayout::NumBlocks(options.max_model_len);
  DI_ASSIGN_OR_RETURN(kv_pool_,
                      device_->Allocate(static_cast<size_t>(num_blocks * layout.block_bytes())));
  DI_ASSIGN_OR_RETURN(state_pool_,
                      device_->Allocate(static_cast<size_t>(num_slots * layout.slot_bytes())));
  caches_.kv_pool = TensorView(kv_pool_.data(), DType::kU8, {num_blocks, layout.block_bytes()});
  caches_.state_pool = TensorView(state_pool_.data(), DType::kU8, {num_slots, layout.slot_bytes()});
  sequences_.resize(options.num_sequences);
  // A sequence's blocks lie neither together nor in order.
  for (int32_t i = 0; i < num_blocks - 1; ++i) free_blocks_.push_back(1 + i * 7 % (num_blocks - 1));
  if ((num_blocks - 1) % 7 == 0) {
    for (int32_t i = 0; i < num_blocks - 1; ++i) free_blocks_[i] = i + 1;
  }
  return OkStatus();
}

std::unique_ptr<TestModel> TestModel::Load(const TestModelOptions& options) {
  auto loaded = TryLoad(options);
  if (!loaded.ok()) {
    ADD_FAILURE() << options.folder << ": " << loaded.status().ToString();
    return nullptr;
  }
  return std::move(loaded).value();
}

char* TestModel::SlotData(int32_t sequence) const {
  return static_cast<char*>(state_pool_.data()) +
         slot(sequence) * model_->cache_layout().slot_bytes();
}

char* TestModel::BlockData(int32_t block) const {
  return static_cast<char*>(kv_pool_.data()) + block * model_->cache_layout().block_bytes();
}

void TestModel::Reset(int32_t sequence) {
  Sequence& s = sequences_[sequence];
  // Freed blocks go back dirty, as in the engine.
  for (const int32_t block : s.blocks) free_blocks_.insert(free_blocks_.begin(), block);
  s = Sequence();
  stream_->FillZero(SlotData(sequence), static_cast<size_t>(model_->cache_layout().slot_bytes()));
}

void TestModel::Grow(Sequence& sequence, int32_t num_tokens) {
  while (static_cast<int32_t>(sequence.blocks.size()) < model::CacheLayout::NumBlocks(num_tokens)) {
    DI_CHECK(!free_blocks_.empty(), "the test needs more blocks");
    sequence.blocks.push_back(free_blocks_.back());
    free_blocks_.pop_back();
  }
}

TensorView TestModel::Upload(DType dtype, const std::vector<int32_t>& values, Buffer& buffer) {
  const size_t num_bytes = values.size() * sizeof(int32_t);
  buffer = device_->Allocate(std::max<size_t>(num_bytes, 1)).value();
  stream_->CopyToDevice(buffer.data(), values.data(), num_bytes);
  return TensorView(buffer.data(), dtype, {static_cast<int64_t>(values.size())});
}

std::vector<Row> TestModel::Step(const std::vector<Piece>& pieces) {
  std::vector<int32_t> token_ids, positions, seq_idx, cu_seqlens = {0}, computed, slots, logit_rows;
  int32_t max_seqlen = 0;
  size_t max_blocks = 1;
  for (size_t i = 0; i < pieces.size(); ++i) {
    Sequence& s = sequences_[pieces[i].sequence];
    computed.push_back(s.len);
    slots.push_back(slot(pieces[i].sequence));
    for (const int32_t id : pieces[i].token_ids) {
      token_ids.push_back(id);
      positions.push_back(s.len++);
      seq_idx.push_back(static_cast<int32_t>(i));
      logit_rows.push_back(static_cast<int32_t>(logit_rows.size()));
    }
    cu_seqlens.push_back(static_cast<int32_t>(token_ids.size()));
    Grow(s, s.len);
    max_seqlen = std::max(max_seqlen, s.len);
    max_blocks = std::max(max_blocks, s.blocks.size());
  }
  std::vector<int32_t> block_table(pieces.size() * max_blocks, 0);
  for (size_t i = 0; i < pieces.size(); ++i) {
    const std::vector<int32_t>& blocks = sequences_[pieces[i].sequence].blocks;
    std::copy(blocks.begin(), blocks.end(), block_table.begin() + i * max_blocks);
  }

  Buffer buffers[8];
  model::ModelInput input;
  input.batch.num_tokens = static_cast<int32_t>(token_ids.size());
  input.batch.num_seqs = static_cast<int32_t>(pieces.size());
  input.batch.positions = Upload(DType::kI32, positions, buffers[0]);
  input.batch.seq_idx = Upload(DType::kI32, seq_idx, buffers[1]);
  input.batch.cu_seqlens_q = Upload(DType::kI32, cu_seqlens, buffers[2]);
  input.batch.num_computed_tokens = Upload(DType::kI32, computed, buffers[3]);
  input.batch.state_slot = Upload(DType::kI32, slots, buffers[4]);
  input.batch.block_table =
      Upload(DType::kI32, block_table, buffers[5])
          .Reshaped({static_cast<int64_t>(pieces.size()), static_cast<int64_t>(max_blocks)});
  input.token_ids = Upload(DType::kI32, token_ids, buffers[6]);
  input.logit_rows = Upload(DType::kI32, logit_rows, buffers[7]);
  input.max_seqlen_k = max_seqlen;

  const model::ModelOutput output = model_->Forward(*stream_, input, caches_);
  hidden_ = Download(*stream_, output.hidden);
  return Download(*stream_, output.logits);
}

std::vector<Row> TestModel::Feed(int32_t sequence, const std::vector<int32_t>& token_ids,
                                 int32_t chunk) {
  std::vector<Row> rows, hidden;
  for (size_t begin = 0; begin < token_ids.size(); begin += chunk) {
    const size_t end = std::min(begin + chunk, token_ids.size());
    std::vector<Row> part =
        Step({{sequence, {token_ids.begin() + begin, token_ids.begin() + end}}});
    std::move(part.begin(), part.end(), std::back_inserter(rows));
    std::move(hidden_.begin(), hidden_.end(), std::back_inserter(hidden));
  }
  hidden_ = std::move(hidden);
  return rows;
}

std::vector<uint8_t> TestModel::SaveState(int32_t sequence) {
  const auto slot_bytes = static_cast<size_t>(model_->cache_layout().slot_bytes());
  const auto block_bytes = static_cast<size_t>(model_->cache_layout().block_bytes());
  const std::vector<int32_t>& blocks = sequences_[sequence].blocks;
  std::vector<uint8_t> state(slot_bytes + blocks.size() * block_bytes);
  stream_->CopyToHost(state.data(), SlotData(sequence), slot_bytes);
  for (size_t i = 0; i < blocks.size(); ++i) {
    stream_->CopyToHost(state.data() + slot_bytes + i * block_bytes, BlockData(blocks[i]),
                        block_bytes);
  }
  stream_->Synchronize();
  return state;
}

void TestModel::RestoreState(int32_t sequence, const std::vector<uint8_t>& state,
                             int32_t num_tokens) {
  Reset(sequence);
  Sequence& s = sequences_[sequence];
  s.len = num_tokens;
  Grow(s, num_tokens);
  const auto slot_bytes = static_cast<size_t>(model_->cache_layout().slot_bytes());
  const auto block_bytes = static_cast<size_t>(model_->cache_layout().block_bytes());
  DI_CHECK(state.size() == slot_bytes + s.blocks.size() * block_bytes, "bytes=", state.size());
  stream_->CopyToDevice(SlotData(sequence), state.data(), slot_bytes);
  for (size_t i = 0; i < s.blocks.size(); ++i) {
    stream_->CopyToDevice(BlockData(s.blocks[i]), state.data() + slot_bytes + i * block_bytes,
                          block_bytes);
  }
}

void TestModel::Scribble(int32_t sequence) {
  const auto fill = [&](char* data, int64_t num_bytes) {
    const std::vector<uint8_t> noise(static_cast<size_t>(num_bytes), 0xa5);
    stream_->CopyToDevice(data, noise.data(), noise.size());
  };
  fill(SlotData(sequence), model_->cache_layout().slot_bytes());
  for (const int32_t block : sequences_[sequence].blocks) {
    fill(BlockData(block), model_->cache_layout().block_bytes());
  }
}

double LogSumExp(const Row& logits) {
  const double max = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - max);
  return max + std::log(sum);
}

std::vector<double> LogSoftmax(const Row& logits) {
  const double norm = LogSumExp(logits);
  std::vector<double> out(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) out[i] = logits[i] - norm;
  return out;
}

int32_t ArgMax(const Row& logits) {
  return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

}  // namespace deepinfer::golden
