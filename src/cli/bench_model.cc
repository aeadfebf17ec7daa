// The whole model at work: decode at small batches and a prefill, held against the kernels alone and the machine's limits.
#include <cstdio>
#include <memory>
#include <optional>
#include <vector>

#include "base/file_system.h"
#include "base/strings.h"
#include "cli/bench.h"
#include "deepinfer/engine.h"
#include "engine/model_folder.h"
#include "model/model_config.h"

namespace deepinfer::cli {
namespace {

constexpr auto kWait = std::chrono::minutes(10);
constexpr int32_t kDecodeTokens = 24;
constexpr int32_t kPromptTokens = 32;
constexpr int32_t kPrefillTokens = 512;

// Weight bytes that one token of a decode step reads, by format; embedding and engram rows are nothing beside them.
struct ActiveWeights {
  double f8_bytes = 0;
  double f4_bytes = 0;
  double bf16_bytes = 0;
  double f32_bytes = 0;
  double num_multiply_adds = 0;  // of all projections but the head
  double head_multiply_adds = 0;
};

// From model.md 2.3; scales are 1/1024 of an fp8 weight and 1/32 of the codes of an fp4 weight.
ActiveWeights CountActiveWeights(const model::ModelConfig& c) {
  constexpr double kF8Bytes = 1.0 + 1.0 / 1024;
  constexpr double kF4Bytes = 0.5 + 1.0 / 32;
  ActiveWeights active;
  const double d = c.hidden_size, heads = static_cast<double>(c.num_attention_heads) * c.head_dim;
  const double expert = 3.0 * d * c.moe_intermediate_size;
  for (int32_t l = 0; l < c.num_hidden_layers; ++l) {
    double f8 = d * c.q_lora_rank + heads * c.q_lora_rank + d * c.head_dim + heads * c.o_lora_rank +
                d * c.o_groups * c.o_lora_rank + 3.0 * d * c.shared_intermediate_size();
    double bf16 = d * c.n_routed_experts;
    if (c.is_index_source(l)) {
      f8 += static_cast<double>(c.index_n_heads) * c.index_head_dim * c.q_lora_rank;
      bf16 += d * c.index_n_heads;
    }
    if (c.is_kv_source(l)) bf16 += d * c.head_dim * (c.ratio(l) > 1 ? 2 : 1);
    if (c.owns_index_k(l)) bf16 += static_cast<double>(c.index_head_dim) * c.head_dim;
    if (c.engram_idx(l) >= 0) {
      f8 += (c.hc_mult + 1) * d * c.engram_rows_per_token() * c.engram_head_dim;
    }
    const double f4 = expert * c.num_experts_per_tok;
    const double hc = 2.0 * (2 + c.hc_mult) * c.hc_mult * c.hc_mult * d;
    active.f8_bytes += f8 * kF8Bytes;
    active.f4_bytes += f4 * kF4Bytes;
    active.bf16_bytes += bf16 * 2;
    active.f32_bytes += hc * 4;
    active.num_multiply_adds += f8 + f4 + bf16 + hc;
  }
  active.head_multiply_adds = d * c.vocab_size;
  active.bf16_bytes += 2 * active.head_multiply_adds;
  return active;
}

// Distinct ids, none special; the text does not matter, the experts that it meets do.
std::vector<int32_t> RandomPrompt(int32_t num_tokens, int32_t vocab_size, int32_t salt) {
  std::vector<int32_t> ids(static_cast<size_t>(num_tokens));
  uint32_t state = 12345u + static_cast<uint32_t>(salt) * 7919u;
  for (int32_t& id : ids) {
    state = state * 1664525u + 1013904223u;
    id = 16 + static_cast<int32_t>((state >> 8) % static_cast<uint32_t>(vocab_size - 32));
  }
  return ids;
}

struct StepTimes {
  double device_seconds = 0;  // of one step in the forward pass and the sampler
  double wall_seconds = 0;    // from step to step
};

// Seconds of one decode step with `batch` sequences, after their prompts are in.
Result<StepTimes> MeasureDecode(Engine& engine, int32_t batch, int32_t salt) {
  std::vector<RequestHandle> handles;
  for (int32_t i = 0; i < batch; ++i) {
    Request request;
    request.prompt_token_ids =
        RandomPrompt(kPromptTokens, engine.model_info().vocab_size, salt * 64 + i);
    request.sampling = {.temperature = 0, .max_tokens = kDecodeTokens, .ignore_eos = true};
    DI_ASSIGN_OR_RETURN(handles.emplace_back(), engine.Submit(std::move(request)));
  }
  // Every prompt is in once the last request has a token.
  for (RequestHandle& handle : handles) {
    DI_ASSIGN_OR_RETURN(const TokenDelta first, handle.Next(kWait));
    if (first.finish_reason == FinishReason::kError) return first.error;
  }
  const EngineMetrics before = engine.metrics();
  StepTimes times;
  times.wall_seconds = SecondsOf([&] {
    for (RequestHandle& handle : handles) (void)handle.Wait(kWait);
  });
  const EngineMetrics after = engine.metrics();
  const double steps =
      static_cast<double>(std::max<int64_t>(1, after.num_steps_total - before.num_steps_total));
  times.device_seconds =
      static_cast<double>(after.forward_us_total - before.forward_us_total) / 1e6 / steps;
  times.wall_seconds /= steps;
  return times;
}

// Device seconds of a prompt of kPrefillTokens.
Result<double> MeasurePrefill(Engine& engine, int32_t salt) {
  const EngineMetrics before = engine.metrics();
  Request request;
  request.prompt_token_ids = RandomPrompt(kPrefillTokens, engine.model_info().vocab_size, salt);
  request.sampling = {.temperature = 0, .max_tokens = 1, .ignore_eos = true};
  DI_ASSIGN_OR_RETURN(RequestHandle handle, engine.Submit(std::move(request)));
  DI_ASSIGN_OR_RETURN(const RequestOutput output, handle.Wait(kWait));
  if (!output.error.ok()) return output.error;
  return static_cast<double>(engine.metrics().forward_us_total - before.forward_us_total) / 1e6;
}

Result<model::ModelConfig> ReadConfig(const std::string& model) {
  DI_ASSIGN_OR_RETURN(const engine::ModelFolder folder, engine::FindModelFolder(model));
  DI_ASSIGN_OR_RETURN(const std::string text,
                      ReadFile(PosixFileSystem(), JoinPath(folder.path, "config.json"), 1 << 20));
  return model::ParseModelConfig(text);
}

struct ModelFigures {
  double decode1_ms = 0, decode1_wall_ms = 0, decode8_ms = 0, prefill_ms = 0;
  double decode_bytes = 0;
  std::optional<double> kernels_ms;  // of the projections of a decode step alone
  double prefill_flops = 0;
  double peak = 0;
};

Result<ModelFigures> MeasureModel(BenchContext& context) {
  EngineConfig config = context.config;
  config.max_num_batched_tokens = kPrefillTokens;
  config.max_num_seqs = 8;
  config.max_model_len = 2 * kPrefillTokens;
  DI_ASSIGN_OR_RETURN(const model::ModelConfig model_config, ReadConfig(config.model));
  DI_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Create(config));
  const ActiveWeights active = CountActiveWeights(model_config);
  std::vector<double> one, one_wall, eight, prefill;
  for (int32_t i = 0; i < context.num_repeats; ++i) {
    DI_ASSIGN_OR_RETURN(const StepTimes first, MeasureDecode(*engine, 1, i));
    one.push_back(first.device_seconds);
    one_wall.push_back(first.wall_seconds);
    DI_ASSIGN_OR_RETURN(const StepTimes eighth, MeasureDecode(*engine, 8, i));
    eight.push_back(eighth.device_seconds);
    if (i < 3) {
      DI_ASSIGN_OR_RETURN(prefill.emplace_back(), MeasurePrefill(*engine, i));
    }
  }
  ModelFigures figures;
  figures.decode1_ms = 1e3 * Median(one);
  figures.decode1_wall_ms = 1e3 * Median(one_wall);
  figures.decode8_ms = 1e3 * Median(eight);
  figures.prefill_ms = 1e3 * Median(prefill);
  figures.decode_bytes = active.f8_bytes + active.f4_bytes + active.bf16_bytes + active.f32_bytes;
  const KernelRates& rates = context.kernels;
  if (rates.f8_bytes_per_second > 0) {
    figures.kernels_ms = 1e3 * (active.f8_bytes / rates.f8_bytes_per_second +
                                active.f4_bytes / rates.f4_bytes_per_second +
                                active.bf16_bytes / rates.bf16_bytes_per_second +
                                active.f32_bytes / context.limits.read_bytes_per_s);
  }
  figures.prefill_flops =
      2 * (active.num_multiply_adds * kPrefillTokens + active.head_multiply_adds);
  const bool is_f32 = config.numerics == Numerics::kFp32;
  figures.peak = is_f32 || context.limits.bf16_flops_per_s == 0 ? context.limits.f32_flops_per_s
                                                                : context.limits.bf16_flops_per_s;
  return figures;
}

void PrintFigures(const ModelFigures& f, double bandwidth) {
  std::printf("\nmodel\n");
  std::printf(
      "  decode, batch 1: %.2f ms a step (%.2f ms from step to step), %.1f tokens/s, %s of "
      "weights, %.0f%% of bandwidth\n",
      f.decode1_ms, f.decode1_wall_ms, 1e3 / f.decode1_wall_ms,
      HumanBytes(static_cast<uint64_t>(f.decode_bytes)).c_str(),
      100 * f.decode_bytes / (f.decode1_ms / 1e3) / bandwidth);
  if (f.kernels_ms) {
    std::printf(
        "  the projections alone at the kernels' rates: %.2f ms; the whole step reaches %.0f%% of "
        "that\n",
        *f.kernels_ms, 100 * *f.kernels_ms / f.decode1_wall_ms);
  }
  std::printf("  decode, batch 8: %.2f ms a step, %.2f times batch 1\n", f.decode8_ms,
              f.decode8_ms / f.decode1_ms);
  std::printf(
      "  prefill of %d tokens: %.1f ms, %.0f tokens/s, %.0f GFLOP/s in projections, %.0f%% of "
      "peak\n",
      kPrefillTokens, f.prefill_ms, 1e3 * kPrefillTokens / f.prefill_ms,
      f.prefill_flops / f.prefill_ms / 1e6, 100 * f.prefill_flops / (f.prefill_ms / 1e3) / f.peak);
}

}  // namespace

Status BenchModel(BenchContext& context) {
  DI_ASSIGN_OR_RETURN(const ModelFigures f, MeasureModel(context));
  const double bandwidth = context.limits.read_bytes_per_s;
  json::Value report = json::Value::Object();
  report.Set("decode_batch_1_ms", f.decode1_ms);
  report.Set("decode_batch_1_wall_ms", f.decode1_wall_ms);
  report.Set("decode_weight_bytes", f.decode_bytes);
  report.Set("decode_share_of_bandwidth", f.decode_bytes / (f.decode1_ms / 1e3) / bandwidth);
  if (f.kernels_ms) report.Set("decode_share_of_kernels_alone", *f.kernels_ms / f.decode1_wall_ms);
  report.Set("decode_batch_8_over_1", f.decode8_ms / f.decode1_ms);
  report.Set("prefill_512_ms", f.prefill_ms);
  report.Set("prefill_512_share_of_peak", f.prefill_flops / (f.prefill_ms / 1e3) / f.peak);
  context.report.Set("model", std::move(report));
  if (!context.json) PrintFigures(f, bandwidth);
  return OkStatus();
}

}  // namespace deepinfer::cli
