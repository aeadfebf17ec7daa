// EngineConfig: every option of the engine, with default and unit.
//
// One option is one field of the struct and one row of VisitEngineOptions below, and nowhere else:
// command-line flags (kebab-case), environment variables and Python keywords (both by the field's
// name) are made from the rows.
//
// Threading: a value.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/status.h"

namespace deepinfer {

// How numbers are rounded between operators; part of the prefix-cache fingerprint.
enum class Numerics : int32_t {
  kFp32 = 0,        // mode F: fp32 activations on the stored weights; the CPU's default
  kBf16 = 1,        // mode B: bf16 activations
  kProduction = 2,  // mode P: bf16 activations, quantised in front of every fp8 or fp4 weight
};

struct EngineConfig {
  // What runs, and on what.
  std::string model;           // checkpoint folder or hub id; empty: the built-in tiny model
  std::string device = "cpu";  // "cpu", or "ref": the scalar reference
  std::string isa = "auto";    // the CPU's instruction set: auto, avx2, avx512, avx512bf16, amx
  int32_t num_threads = 0;     // of the CPU; 0: every core that the process may use
  Numerics numerics = Numerics::kFp32;

  // How much at once.
  int32_t max_model_len = 0;  // tokens of prompt and output; 0: the checkpoint's, bounded by blocks
  int32_t max_num_seqs = 64;  // sequences that hold cache at one time
  int32_t max_num_batched_tokens = 256;  // rows of one step; at least max_num_seqs
  int32_t max_prefill_chunk_tokens = 0;  // prompt rows of one sequence in one step; 0: no own limit
  int32_t max_num_requests = 4096;       // accepted and unfinished; more is kResourceExhausted

  // The cache.  One block holds 128 tokens.
  int64_t num_kv_blocks = 0;   // 0: as many as kv_cache_bytes holds
  int64_t kv_cache_bytes = 0;  // 0: max_num_seqs full contexts, or an eighth of memory if less

  // Results.
  std::string banned_token_ids;  // never drawn, for every request: "0..3,7", ascending

  // Time.
  double request_timeout_seconds = 0;  // for requests that name none; 0: no limit
  double step_timeout_seconds = 600;   // a step that takes longer fails the engine
  bool async_scheduling = false;       // plan the next step while one runs; same results

  std::string log_level = "warning";  // off, error, warning, info or debug; of the whole process
};

// What a row says about an option, beside its type and default.
struct EngineOptionInfo {
  std::string_view name;  // the field
  std::string_view env;   // its environment variable
  std::string_view help;  // one line
  double min_value = 0;   // of a number; both limits are allowed
  double max_value = 0;
  std::span<const std::string_view> choices = {};  // of a text; empty: any
};

// Calls visit(info, field) for each option in the order of the struct.  `Config` is EngineConfig or
// const EngineConfig; fields are of type std::string, bool, int32_t, int64_t, double or Numerics.
template <typename Config, typename Visitor>
void VisitEngineOptions(Config& c, Visitor&& visit) {
  static constexpr std::string_view kDevices[] = {"cpu", "ref", "nvidia", "ascend"};
  static constexpr std::string_view kIsas[] = {"auto", "avx2", "avx512", "avx512bf16", "amx"};
  static constexpr std::string_view kLogLevels[] = {"off",  "error", "warning",
                                                    "warn", "info",  "debug"};
  constexpr double kManyTokens = 1 << 30;
  constexpr double kMaxBytes = 1125899906842624.0;  // 1 PiB
  using Info = EngineOptionInfo;
  visit(Info{"model", "DEEPINFER_HF_MODEL_DIR", "checkpoint folder or hub id"}, c.model);
  visit(Info{"device", "DEEPINFER_ACCELERATOR", "what the model runs on", 0, 0, kDevices},
        c.device);
  visit(Info{"isa", "DEEPINFER_ISA", "instruction set of the CPU", 0, 0, kIsas}, c.isa);
  visit(Info{"num_threads", "DEEPINFER_NUM_THREADS", "CPU threads; 0: all cores", 0, 1024},
        c.num_threads);
  visit(Info{"numerics", "DEEPINFER_NUMERICS", "rounding between operators"}, c.numerics);
  visit(Info{"max_model_len", "DEEPINFER_MAX_MODEL_LEN",
             "tokens of prompt and output; 0: the checkpoint's", 0, kManyTokens},
        c.max_model_len);
  visit(Info{"max_num_seqs", "DEEPINFER_MAX_NUM_SEQS", "sequences that run at one time", 1, 65536},
        c.max_num_seqs);
  visit(Info{"max_num_batched_tokens", "DEEPINFER_MAX_NUM_BATCHED_TOKENS",
             "rows of one step; at least max_num_seqs", 1, 1 << 20},
        c.max_num_batched_tokens);
  visit(Info{"max_prefill_chunk_tokens", "DEEPINFER_MAX_PREFILL_CHUNK_TOKENS",
             "prompt rows of one sequence in one step; 0: no own limit", 0, 1 << 20},
        c.max_prefill_chunk_tokens);
  visit(Info{"max_num_requests", "DEEPINFER_MAX_NUM_REQUESTS", "accepted and unfinished requests",
             1, 1 << 20},
        c.max_num_requests);
  visit(Info{"num_kv_blocks", "DEEPINFER_NUM_KV_BLOCKS",
             "cache blocks of 128 tokens; 0: by kv_cache_bytes", 0, kManyTokens},
        c.num_kv_blocks);
  visit(Info{"kv_cache_bytes", "DEEPINFER_KV_CACHE_BYTES", "cache memory; 0: chosen", 0, kMaxBytes},
        c.kv_cache_bytes);
  visit(Info{"banned_token_ids", "DEEPINFER_DECODE_TOKEN_BLACKLIST",
             "ids that are never drawn, like 0..3,7"},
        c.banned_token_ids);
  visit(Info{"request_timeout_seconds", "DEEPINFER_REQUEST_TIMEOUT_SECONDS",
             "longest life of a request; 0: no limit", 0, 1e9},
        c.request_timeout_seconds);
  visit(Info{"step_timeout_seconds", "DEEPINFER_STEP_TIMEOUT_SECONDS",
             "a step that takes longer fails the engine", 1, 1e9},
        c.step_timeout_seconds);
  visit(Info{"async_scheduling", "DEEPINFER_ZERO_OVERHEAD_SCHEDULING",
             "plan the next step while one runs"},
        c.async_scheduling);
  visit(Info{"log_level", "DEEPINFER_CPP_LOG_LEVEL", "what goes to stderr", 0, 0, kLogLevels},
        c.log_level);
}

// Names of Numerics: "fp32", "bf16", "production".
std::span<const std::string_view> NumericsNames();

// One option as text, for help, tables and other languages.
struct EngineOption {
  std::string name;
  std::string env;
  std::string help;
  std::string allowed;     // "1..65536", "cpu, ref, nvidia or ascend", "true or false", "text"
  std::string value;       // as SetEngineOption takes it
  bool is_switch = false;  // boolean
};

// All options of `config`, in order.
std::vector<EngineOption> DescribeEngineOptions(const EngineConfig& config);

// Sets one option from text.  kNotFound with the nearest name for an unknown one; kInvalidArgument
// as "name: expected range, got value".  Booleans are 0, 1, true, false, on, off, yes or no.
Status SetEngineOption(EngineConfig& config, std::string_view name, std::string_view value);

// The checks of every single option and of those that belong together; run by Engine::Create.
Status ValidateEngineConfig(const EngineConfig& config);

// The defaults, changed by the DEEPINFER_* variables of the process.  A value that is not understood,
// and a variable that would turn on a feature that does not exist yet, is an error that names the
// variable, its value and what is allowed; an unknown DEEPINFER_ name is a warning in the log with
// the nearest match.
Result<EngineConfig> EngineConfigFromEnvironment();

// The ids of EngineConfig::banned_token_ids: "0..3,7" is 0, 1, 2, 3, 7.  Ranges are inclusive, ids
// strictly ascending and below `vocab_size`; kInvalidArgument otherwise.
Result<std::vector<int32_t>> ParseTokenIdList(std::string_view text, int32_t vocab_size);

}  // namespace deepinfer
