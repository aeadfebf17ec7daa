#include <algorithm>

#include "base/json.h"
#include "base/strings.h"
#include "checkpoint/checkpoint.h"

namespace deepinfer::checkpoint {
namespace {

// About ten times the largest honest index.
constexpr json::Limits kIndexLimits = {.max_bytes = 100'000'000, .max_depth = 16};
constexpr size_t kMaxShards = 100'000;

bool IsPlainFileName(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

}  // namespace

std::string CanonicalName(std::string_view name) {
  constexpr std::string_view kPrefix = "model.";
  constexpr std::string_view kScaleSuffix = ".weight_scale_inv";
  if (name == "lm_head.weight") return "head.weight";
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  if (name.ends_with(kScaleSuffix)) {
    return StrCat(name.substr(0, name.size() - kScaleSuffix.size()), ".scale");
  }
  return std::string(name);
}

Result<Index> ParseIndex(std::string_view text) {
  DI_ASSIGN_OR_RETURN(const json::Value root, json::Parse(text, kIndexLimits));
  DI_ASSIGN_OR_RETURN(const json::Cursor map, json::Cursor(root).Get("weight_map"));
  if (!map.value().is_object()) return map.Expected("an object");
  Index index;
  index.entries.reserve(map.value().size());
  std::vector<std::string_view> names;
  names.reserve(map.value().size());
  for (const json::Member& member : map.value().members()) {
    const Result<std::string_view> shard = member.value.AsString();
    const std::string where = StrCat("weight_map[", Quoted(member.key), "]");
    if (!shard.ok()) return shard.status().WithContext(where);
    if (!IsPlainFileName(*shard)) {
      return InvalidArgument(StrCat(where, ": expected a plain file name, got ", Quoted(*shard)));
    }
    names.push_back(*shard);
  }
  if (names.empty()) return map.Refuse("expected at least one tensor, got none");

  std::vector<std::string_view> shards = names;
  std::sort(shards.begin(), shards.end());
  shards.erase(std::unique(shards.begin(), shards.end()), shards.end());
  if (shards.size() > kMaxShards) {
    return map.Refuse(StrCat("expected at most ", kMaxShards, " files, got ", shards.size()));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const auto at = std::lower_bound(shards.begin(), shards.end(), names[i]);
    index.entries.push_back(
        {map.value().members()[i].key, static_cast<uint32_t>(at - shards.begin())});
  }
  index.shards.assign(shards.begin(), shards.end());
  return index;
}

}  // namespace deepinfer::checkpoint
