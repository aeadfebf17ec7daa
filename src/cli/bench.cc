// deepinfer bench: what this machine reaches, as figures and as shares of its limits.
#include "cli/bench.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "backend/cpu/cpu_device.h"
#include "backend/cpu/isa.h"
#include "backend/cpu/team.h"
#include "base/file_system.h"
#include "base/progress.h"
#include "base/strings.h"
#include "checkpoint/synthesize.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "engine/model_folder.h"

namespace deepinfer::cli {
namespace {

struct Part {
  std::string_view name;
  Status (*run)(BenchContext& context);
};

// In this order: later parts use what earlier ones measured.
constexpr Part kParts[] = {
    {"machine", BenchMachine},
    {"kernels", BenchKernels},
    {"model", BenchModel},
    {"engine", BenchEngine},
};

// Four layers of every kind at the released widths, with 24 experts so that it fits a small disk.
constexpr std::string_view kBenchConfig = R"({
  "architectures": ["DeepseekV41ForCausalLM"], "model_type": "deepseek_v41", "dtype": "bfloat16",
  "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2,
  "quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [32, 32],
                          "scale_fmt": "ue8m0", "expert_dtype": "fp4"},
  "text_config": {
    "model_type": "deepseek_v41_text", "vocab_size": 4096, "hidden_size": 5120, "num_hidden_layers": 4,
    "num_attention_heads": 64, "num_key_value_heads": 1, "head_dim": 512, "qk_rope_head_dim": 64, "q_lora_rank": 1280,
    "o_groups": 8, "o_lora_rank": 1024, "attention_bias": false, "attention_dropout": 0.0, "hidden_act": "silu",
    "rms_norm_eps": 1e-20, "rope_theta": 10000, "compress_rope_theta": 160000,
    "rope_scaling": {"rope_type": "yarn", "factor": 16, "beta_fast": 32, "beta_slow": 1,
                     "original_max_position_embeddings": 65536},
    "max_position_embeddings": 4096, "sliding_window": 128, "compress_ratios": [0, 2, 1, 1],
    "kv_source_layer_ids": [1, 2], "index_source_layer_ids": [1, 2], "candidate_source_layer_id": 2,
    "candidate_topk_blocks": 2048, "candidate_block_size": 8, "index_n_heads": 32, "index_head_dim": 128, "index_topk": 512,
    "n_routed_experts": 24, "num_experts_per_tok": 6, "n_shared_experts": 1, "moe_intermediate_size": 2304,
    "scoring_func": "sqrtsoftplus", "topk_method": "noaux_tc", "norm_topk_prob": true, "routed_scaling_factor": 1.5,
    "swiglu_limit": 10.0, "hc_mult": 4, "hc_sinkhorn_iters": 20, "hc_eps": 1e-6, "engram_layer_ids": [],
    "engram_num_embeddings": [], "tie_word_embeddings": false, "num_nextn_predict_layers": 0
  }
})";

struct Flags {
  std::vector<std::string> parts;
  bool synthesize = false;
  std::string scratch;
  int64_t num_repeats = 5;
};

std::string DefaultScratch() {
  const char* folder = std::getenv("TMPDIR");
  return JoinPath(folder == nullptr || *folder == '\0' ? "/tmp" : folder, "deepinfer-bench");
}

bool IsWanted(const std::vector<std::string>& wanted, std::string_view name) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end();
}

Status Run(const Flags& flags, BenchContext& context) {
  if (flags.synthesize) {
    const std::string folder = flags.scratch.empty() ? DefaultScratch() : flags.scratch;
    DI_ASSIGN_OR_RETURN(context.config.model, MakeBenchCheckpoint(folder, context.json));
  }
  context.num_threads =
      context.config.num_threads > 0 ? context.config.num_threads : cpu::NumUsableCores();
  context.num_repeats = static_cast<int32_t>(flags.num_repeats);
  for (const Part& part : kParts) {
    // The limits belong to every share, so they are always measured, in the same run.
    const bool is_limits = part.name == "machine";
    if (is_limits || IsWanted(flags.parts, part.name)) DI_RETURN_IF_ERROR(part.run(context));
  }
  if (context.json) std::printf("%s\n", json::Write(context.report).c_str());
  return OkStatus();
}

Status CheckParts(const std::vector<std::string>& parts) {
  for (const std::string& name : parts) {
    const bool known = std::any_of(std::begin(kParts), std::end(kParts),
                                   [&](const Part& part) { return part.name == name; });
    if (!known) {
      return InvalidArgument(
          StrCat("expected machine, kernels, model or engine, got ", Quoted(name)));
    }
  }
  return OkStatus();
}

}  // namespace

Result<std::string> MakeBenchCheckpoint(const std::string& folder, bool quiet) {
  FileSystem& fs = PosixFileSystem();
  if (Exists(fs, JoinPath(folder, "tokenizer.json"))) return folder;
  // The bench's text is never looked at, but an engine wants a tokenizer: the built-in model's.
  DI_ASSIGN_OR_RETURN(const engine::ModelFolder builtin, engine::FindModelFolder(""));
  DI_ASSIGN_OR_RETURN(const std::string tokenizer,
                      ReadFile(fs, JoinPath(builtin.path, "tokenizer.json"), 1 << 26));
  ProgressLine line("writing the benchmark's checkpoint");
  checkpoint::SynthesizeOptions options;
  if (!quiet) {
    options.progress = [&](uint64_t done, uint64_t total) { line.Update(done, total, ""); };
  }
  DI_ASSIGN_OR_RETURN(const checkpoint::SynthesizeSummary summary,
                      checkpoint::Synthesize(fs, kBenchConfig, folder, options));
  (void)summary;
  // Last, so that its presence says that the rest is complete.
  DI_RETURN_IF_ERROR(WriteFileAtomically(fs, JoinPath(folder, "tokenizer.json"), tokenizer));
  return folder;
}

Status BenchMachine(BenchContext& context) {
  DI_ASSIGN_OR_RETURN(cpu::Isa isa, cpu::ParseIsa(context.config.isa));
  if (isa == cpu::Isa::kAuto) isa = cpu::WidestIsa();
  if (!cpu::HasIsa(isa)) {
    return InvalidArgument(StrCat("isa: this machine has no ", cpu::IsaName(isa)));
  }
  cpu::Team team(context.num_threads);
  DI_ASSIGN_OR_RETURN(context.limits, cpu::MeasureMachine(team, isa));
  const cpu::MachineLimits& limits = context.limits;
  json::Value machine = json::Value::Object();
  machine.Set("num_threads", context.num_threads);
  machine.Set("isa", cpu::IsaName(isa));
  machine.Set("read_gb_per_second", limits.read_bytes_per_s / 1e9);
  machine.Set("f32_gflops", limits.f32_flops_per_s / 1e9);
  machine.Set("bf16_gflops", limits.bf16_flops_per_s / 1e9);
  context.report.Set("machine", std::move(machine));
  if (!context.json) {
    std::printf("machine: %d threads, %s: reads %.1f GB/s, multiply-add peak f32 %.0f GFLOP/s",
                context.num_threads, std::string(cpu::IsaName(isa)).c_str(),
                limits.read_bytes_per_s / 1e9, limits.f32_flops_per_s / 1e9);
    if (limits.bf16_flops_per_s > 0) {
      std::printf(", bf16 %.0f GFLOP/s", limits.bf16_flops_per_s / 1e9);
    }
    std::printf("\n");
  }
  return OkStatus();
}

int32_t RunBench(std::span<const std::string> arguments) {
  Result<EngineConfig> config = EngineConfigFromEnvironment();
  if (!config.ok()) return Fail("bench", config.status().message(), kExitUsage);
  BenchContext context{.config = *config};
  Flags flags;
  Arguments declared("bench", "[--flags] [PART...]",
                     "Measures the machine, the kernels and the whole model, and prints shares.");
  declared.Positionals("part", flags.parts, "machine, kernels, model, engine; none: all");
  declared.Switch("--synthesize", flags.synthesize,
                  "use a random checkpoint of the released widths with four layers (3 GB)");
  declared.Flag("--scratch", flags.scratch, "folder of that checkpoint [$TMPDIR/deepinfer-bench]");
  declared.Flag("--repeats", flags.num_repeats, "measurements of which the median counts [5]");
  declared.Switch("--json", context.json, "one JSON object");
  declared.EngineOptions(context.config);
  if (const std::optional<int32_t> code = declared.Parse(arguments)) return *code;
  if (flags.num_repeats < 1 || flags.num_repeats > 1000) {
    return Fail("bench", "expected --repeats in 1..1000", kExitUsage);
  }
  if (const Status status = CheckParts(flags.parts); !status.ok()) {
    return Fail("bench", status.message(), kExitUsage);
  }
  const Status status = Run(flags, context);
  return status.ok() ? kExitOk : Fail("bench", status.message());
}

}  // namespace deepinfer::cli
