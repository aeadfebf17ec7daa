#include "engine/environment.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/log.h"
#include "base/strings.h"

extern char** environ;

namespace deepinfer::engine {
namespace {

constexpr std::string_view kPrefix = "DEEPINFER_";

enum class ValueType : uint8_t { kBool, kInt, kFloat, kText, kTruncationMode };

// What a value other than the feature's "off" means.
enum class Effect : uint8_t {
  kNone,     // tunes a feature that does not exist, or asks for what is always so
  kTurnsOn,  // true, non-zero or non-empty turns a missing feature on
};

// A published variable that is not an option of EngineConfig.
struct PublishedVariable {
  std::string_view name;  // without the prefix
  ValueType type;
  Effect effect;
  std::string_view feature;  // that would be turned on
};

constexpr Effect kNone = Effect::kNone;
constexpr Effect kTurnsOn = Effect::kTurnsOn;
constexpr PublishedVariable kPublished[] = {
    // Platform, runtime, logging.
    {"JIT_CACHE_DIR", ValueType::kText, kNone, ""},
    {"LOGGING_INTERVAL_STEP", ValueType::kInt, kNone, ""},
    {"GC_INTERVAL_STEP", ValueType::kInt, kNone, ""},
    {"NCCL_MEMORY_SAMPLE_INTERVAL_STEPS", ValueType::kInt, kNone, ""},
    {"RINGBUFFER_WARNING_INTERVAL", ValueType::kInt, kNone, ""},
    {"GLOO_TIMEOUT", ValueType::kFloat, kNone, ""},
    {"DISABLE_SYNC_GUARD", ValueType::kBool, kNone, ""},
    {"PROFILE_TORCH_CUDA_MEMORY", ValueType::kText, kTurnsOn, "recording of device memory"},
    {"ENABLE_MEMORY_TRACING", ValueType::kBool, kTurnsOn, "memory snapshots"},
    {"PROFILE_HTTP_ENABLE", ValueType::kBool, kTurnsOn, "the profile server"},
    {"PROFILE_HTTP_PORT_BASE", ValueType::kInt, kNone, ""},
    {"TORCH_PROFILER_DIR", ValueType::kText, kNone, ""},
    // Communication, experts.
    {"NCCL_NUM_SMS", ValueType::kInt, kNone, ""},
    {"USERBUFFER_COMM_SMS", ValueType::kInt, kNone, ""},
    {"OVERRIDE_NUM_EXTRA_EXPERTS", ValueType::kInt, kTurnsOn, "redundant experts"},
    {"EXPERT_COUNT_WINDOW_SIZE", ValueType::kInt, kNone, ""},
    {"EXPERT_REARRANGEMENT_STEP_INTERVAL", ValueType::kInt, kTurnsOn, "expert rearrangement"},
    {"REARRANGE_AFTER_PREFILL_IN_NORMAL_ENGINE", ValueType::kBool, kTurnsOn,
     "expert rearrangement"},
    {"REARRANGE_P2P_GROUPS", ValueType::kInt, kNone, ""},
    {"MOE_LB_STAT_INTERVAL", ValueType::kInt, kNone, ""},
    {"SHOW_EPLB_DETAIL", ValueType::kBool, kTurnsOn, "tables of expert load"},
    {"FORCE_IMBALANCE_RATIO", ValueType::kFloat, kTurnsOn, "random expert routing"},
    {"FORCE_LOAD_BALANCE", ValueType::kBool, kTurnsOn, "random expert routing"},
    // Attention, drafts, models.
    {"PREFILL_MAX_SUM_SEQLEN_K", ValueType::kInt, kTurnsOn, "a limit on summed lengths"},
    {"INDEX_ATTN_MEMORY_LIMIT", ValueType::kInt, kNone, ""},
    {"USE_NEXTN_DECODE", ValueType::kInt, kTurnsOn, "speculative decoding"},
    {"ENABLE_MTP_VARLEN", ValueType::kBool, kTurnsOn, "speculative decoding"},
    {"MAX_BACKTRACKING_TOKENS", ValueType::kInt, kNone, ""},
    {"DFLASH_CONFIDENCE_HEAD_TEMPERATURE", ValueType::kText, kNone, ""},
    {"ENGRAM_PAD_TOKEN", ValueType::kInt, kTurnsOn, "another engram pad token"},
    {"ENGRAM_FORCE_GPU_STORAGE", ValueType::kBool, kTurnsOn, "engram tables on a GPU"},
    {"SAMPLER_FORCE_TOPK", ValueType::kInt, kTurnsOn, "sampling from a reduced vocabulary"},
    {"COMPUTE_SUM_SMALLER_PROBS", ValueType::kBool, kTurnsOn, "sums of smaller probabilities"},
    // Graphs, cache store, scheduling.
    {"ENFORCE_EAGER", ValueType::kBool, kNone, ""},
    {"CUDAGRAPH_BATCH_SIZE_INTERVAL", ValueType::kInt, kNone, ""},
    {"DFLASH_ENFORCE_EAGER", ValueType::kBool, kNone, ""},
    {"DFLASH_CUDAGRAPH_BATCH_SIZE_INTERVAL", ValueType::kInt, kNone, ""},
    {"DECODE_PERF_CACHE_DIR", ValueType::kText, kNone, ""},
    {"DECODE_PERF_CACHE_TTL_SEC", ValueType::kInt, kNone, ""},
    {"NUM_STATE_SLOTS_RATIO", ValueType::kFloat, kNone, ""},
    {"PREFILL_STORE_EXTRA_STATE", ValueType::kBool, kTurnsOn, "an external cache store"},
    {"PREFILL_STORE_EXTRA_SIZE", ValueType::kInt, kNone, ""},
    {"PREFILL_ATTEMPT_INTERVAL", ValueType::kInt, kNone, ""},
    {"PREFILL_ANY_ATTEMPT_INTERVAL", ValueType::kInt, kNone, ""},
    {"YOCO_PREFILL_TRUNCATION_MODE", ValueType::kTruncationMode, kTurnsOn, "truncated prefill"},
    {"YOCO_PREFILL_KEEP_TOKENS", ValueType::kInt, kNone, ""},
    {"BATCH_INVARIANT", ValueType::kBool, kNone, ""},  // always so on the CPU
    // Structured output, multimodal.
    {"XGRAMMAR_DEBUG", ValueType::kBool, kTurnsOn, "structured output"},
    {"XGRAMMAR_TIMEOUT", ValueType::kInt, kNone, ""},
    {"XGRAMMAR_DISABLE_CACHE", ValueType::kBool, kNone, ""},
    {"XGRAMMAR_CACHE_LIMIT_BYTES", ValueType::kInt, kNone, ""},
    {"SO_BUILDER_CPUS", ValueType::kInt, kNone, ""},
    {"USE_MULTIMODAL_POOL", ValueType::kBool, kTurnsOn, "image input"},
    {"MULTIMODAL_POOL_SIZE_GB", ValueType::kInt, kNone, ""},
    {"MULTI_MODAL_BUFFER_SIZE", ValueType::kInt, kNone, ""},
    {"MULTI_MODAL_WORKER_TIMEOUT", ValueType::kFloat, kNone, ""},
};

Status BadValue(std::string_view name, std::string_view expected, std::string_view value) {
  return InvalidArgument(StrCat(kPrefix, name, ": expected ", expected, ", got ", Quoted(value)));
}

// Whether the value is not the feature's "off", or an error when it is no value of the type.
Result<bool> IsOn(const PublishedVariable& variable, const std::string& value) {
  const std::string_view name = variable.name;
  switch (variable.type) {
    case ValueType::kBool: {
      EngineConfig scratch;  // one parser for all booleans
      if (!SetEngineOption(scratch, "async_scheduling", value).ok()) {
        return BadValue(name, "true or false", value);
      }
      return scratch.async_scheduling;
    }
    case ValueType::kInt: {
      int64_t number = 0;
      const char* const end = value.data() + value.size();
      const auto [ptr, error] = std::from_chars(value.data(), end, number);
      if (error != std::errc() || ptr != end) return BadValue(name, "a whole number", value);
      return number != 0;
    }
    case ValueType::kFloat: {
      double number = 0;
      const char* const end = value.data() + value.size();
      const auto [ptr, error] = std::from_chars(value.data(), end, number);
      if (error != std::errc() || ptr != end || !std::isfinite(number)) {
        return BadValue(name, "a number", value);
      }
      return number != 0;
    }
    case ValueType::kText:
      return !value.empty();
    case ValueType::kTruncationMode:
      if (value != "off" && value != "mask" && value != "compact") {
        return BadValue(name, "off, mask or compact", value);
      }
      return value != "off";
  }
  return false;
}

Status CheckPublished(const PublishedVariable& variable, const std::string& value) {
  DI_ASSIGN_OR_RETURN(const bool is_on, IsOn(variable, value));
  if (!is_on || variable.effect == Effect::kNone) return OkStatus();
  return Unimplemented(StrCat(kPrefix, variable.name, "=", value, ": ", variable.feature,
                              " does not exist yet; leave the variable out or off"));
}

std::string NearestName(std::string_view name, const std::vector<EngineOption>& options) {
  std::string nearest;
  int32_t best = INT32_MAX;
  const auto look_at = [&](const std::string& known) {
    const int32_t distance = EditDistance(name, known);
    if (distance < best) {
      best = distance;
      nearest = known;
    }
  };
  for (const EngineOption& option : options) look_at(option.env);
  for (const PublishedVariable& variable : kPublished) look_at(StrCat(kPrefix, variable.name));
  return nearest;
}

}  // namespace

Result<EnvironmentReading> ReadEnvironment(const Environment& environment, EngineConfig config) {
  EnvironmentReading reading{.config = std::move(config)};
  const std::vector<EngineOption> options = DescribeEngineOptions(reading.config);
  for (const auto& [name, value] : environment) {
    if (name.rfind(kPrefix, 0) != 0) continue;
    const auto option = std::find_if(options.begin(), options.end(),
                                     [&](const EngineOption& o) { return o.env == name; });
    if (option != options.end()) {
      const Status status = SetEngineOption(reading.config, option->name, value);
      if (!status.ok()) return status.WithContext(name);
      continue;
    }
    const auto* const published =
        std::find_if(std::begin(kPublished), std::end(kPublished), [&](const PublishedVariable& v) {
          return std::string_view(name).substr(kPrefix.size()) == v.name;
        });
    if (published != std::end(kPublished)) {
      DI_RETURN_IF_ERROR(CheckPublished(*published, value));
      continue;
    }
    reading.warnings.push_back(
        StrCat(name, " is not known; the nearest name is ", NearestName(name, options)));
  }
  return reading;
}

Environment ProcessEnvironment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    if (text.rfind(kPrefix, 0) != 0 || equals == std::string_view::npos) continue;
    environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  std::sort(environment.begin(), environment.end());
  return environment;
}

}  // namespace deepinfer::engine

namespace deepinfer {

Result<EngineConfig> EngineConfigFromEnvironment() {
  DI_ASSIGN_OR_RETURN(engine::EnvironmentReading reading,
                      engine::ReadEnvironment(engine::ProcessEnvironment(), EngineConfig()));
  for (const std::string& warning : reading.warnings) {
    LogWarning("environment_variable_unknown", {{"message", warning}});
  }
  return std::move(reading.config);
}

}  // namespace deepinfer
