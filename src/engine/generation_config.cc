#include "engine/generation_config.h"

#include <optional>

#include "base/json.h"
#include "base/strings.h"

namespace deepinfer::engine {
namespace {

constexpr uint64_t kMaxFileBytes = 1 << 20;

Result<std::vector<int32_t>> ReadIds(const json::Cursor& root, std::string_view key) {
  DI_ASSIGN_OR_RETURN(const std::optional<json::Cursor> member, root.Find(key));
  if (!member.has_value()) return std::vector<int32_t>();
  if (member->value().type() == json::Type::kArray) return member->As<std::vector<int32_t>>();
  DI_ASSIGN_OR_RETURN(const int32_t id, member->As<int32_t>());
  return std::vector<int32_t>{id};
}

}  // namespace

Result<GenerationConfig> ParseGenerationConfig(std::string_view json_text) {
  DI_ASSIGN_OR_RETURN(const json::Value value, json::Parse(json_text));
  const json::Cursor root(value);
  GenerationConfig config;
  SamplingParams& sampling = config.sampling;
  DI_ASSIGN_OR_RETURN(config.eos_token_ids, ReadIds(root, "eos_token_id"));
  DI_ASSIGN_OR_RETURN(sampling.temperature, root.ReadOr("temperature", sampling.temperature));
  DI_ASSIGN_OR_RETURN(sampling.top_p, root.ReadOr("top_p", sampling.top_p));
  DI_ASSIGN_OR_RETURN(sampling.min_p, root.ReadOr("min_p", sampling.min_p));
  DI_ASSIGN_OR_RETURN(sampling.top_k, root.ReadOr("top_k", sampling.top_k));
  if (sampling.top_k == 0) sampling.top_k = SamplingParams::kAllTokens;  // "off" in such files
  DI_ASSIGN_OR_RETURN(sampling.repetition_penalty,
                      root.ReadOr("repetition_penalty", sampling.repetition_penalty));
  DI_ASSIGN_OR_RETURN(const bool do_sample, root.ReadOr("do_sample", true));
  if (!do_sample) sampling.temperature = 0;
  DI_RETURN_IF_ERROR(ValidateSamplingParams(sampling));
  return config;
}

Result<GenerationConfig> LoadGenerationConfig(FileSystem& fs, const std::string& folder) {
  const std::string path = JoinPath(folder, "generation_config.json");
  DI_ASSIGN_OR_RETURN(const bool exists, CheckExists(fs, path));
  if (!exists) return GenerationConfig();
  DI_ASSIGN_OR_RETURN(const std::string text, ReadFile(fs, path, kMaxFileBytes));
  Result<GenerationConfig> config = ParseGenerationConfig(text);
  if (!config.ok()) return config.status().WithContext(path);
  return config;
}

}  // namespace deepinfer::engine
