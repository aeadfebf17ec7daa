#include "deepinfer/config.h"

#include <array>
#include <charconv>
#include <cmath>
#include <type_traits>

#include "base/strings.h"
#include "engine/number_text.h"

namespace deepinfer {
namespace {

constexpr std::array<std::string_view, 3> kNumericsNames = {"fp32", "bf16", "production"};

// "a, b or c".
std::string Either(std::span<const std::string_view> names) {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? " or " : ", ";
    out += names[i];
  }
  return out;
}

// What VisitEngineOptions hands to a visitor, as text in and out.
template <typename T>
std::string AllowedText(const EngineOptionInfo& info) {
  if constexpr (std::is_same_v<T, bool>) {
    return "true or false";
  } else if constexpr (std::is_same_v<T, Numerics>) {
    return Either(kNumericsNames);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return info.choices.empty() ? "text" : Either(info.choices);
  } else {
    return StrCat(engine::NumberText(info.min_value), "..", engine::NumberText(info.max_value));
  }
}

template <typename T>
Status OutOfRange(const EngineOptionInfo& info, std::string_view got) {
  return InvalidArgument(StrCat(info.name, ": expected ", AllowedText<T>(info), ", got ",
                                got.empty() ? "nothing" : Quoted(got)));
}

template <typename T>
std::string ToText(const T& field) {
  if constexpr (std::is_same_v<T, Numerics>) {
    return std::string(kNumericsNames[static_cast<size_t>(field)]);
  } else {
    return StrCat(field);
  }
}

bool ParseBool(std::string_view text, bool& out) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const std::string_view yes : {"1", "true", "on", "yes"}) {
    if (lower == yes) return out = true, true;
  }
  for (const std::string_view no : {"0", "false", "off", "no"}) {
    if (lower == no) return out = false, true;
  }
  return false;
}

template <typename T>
bool ParseNumber(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

template <typename T>
bool Parse(std::string_view text, T& out) {
  if constexpr (std::is_same_v<T, bool>) {
    return ParseBool(text, out);
  } else if constexpr (std::is_same_v<T, std::string>) {
    out = std::string(text);
    return true;
  } else if constexpr (std::is_same_v<T, Numerics>) {
    for (size_t i = 0; i < kNumericsNames.size(); ++i) {
      if (text == kNumericsNames[i]) return out = static_cast<Numerics>(i), true;
    }
    return false;
  } else {
    return ParseNumber(text, out);
  }
}

// Whether a parsed value is in the row's range.
template <typename T>
bool IsAllowed(const EngineOptionInfo& info, const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    for (const std::string_view choice : info.choices) {
      if (value == choice) return true;
    }
    return info.choices.empty();
  } else if constexpr (std::is_same_v<T, bool>) {
    return true;
  } else if constexpr (std::is_same_v<T, Numerics>) {
    return static_cast<size_t>(value) < kNumericsNames.size();
  } else {
    const double number = static_cast<double>(value);
    return number >= info.min_value && number <= info.max_value;  // false for NaN
  }
}

}  // namespace

std::span<const std::string_view> NumericsNames() { return kNumericsNames; }

std::vector<EngineOption> DescribeEngineOptions(const EngineConfig& config) {
  std::vector<EngineOption> options;
  VisitEngineOptions(config, [&options]<typename T>(const EngineOptionInfo& info, const T& field) {
    options.push_back({.name = std::string(info.name),
                       .env = std::string(info.env),
                       .help = std::string(info.help),
                       .allowed = AllowedText<T>(info),
                       .value = ToText(field),
                       .is_switch = std::is_same_v<T, bool>});
  });
  return options;
}

Status SetEngineOption(EngineConfig& config, std::string_view name, std::string_view value) {
  bool is_known = false;
  Status status;
  std::string_view nearest;
  int32_t nearest_distance = INT32_MAX;
  VisitEngineOptions(config, [&]<typename T>(const EngineOptionInfo& info, T& field) {
    const int32_t distance = EditDistance(name, info.name);
    if (distance < nearest_distance) {
      nearest_distance = distance;
      nearest = info.name;
    }
    if (name != info.name) return;
    is_known = true;
    T parsed{};
    if (!Parse(value, parsed) || !IsAllowed(info, parsed)) {
      status = OutOfRange<T>(info, value);
    } else {
      field = std::move(parsed);
    }
  });
  if (is_known) return status;
  return NotFound(StrCat("option ", Quoted(name), " does not exist; the nearest is ", nearest));
}

Status ValidateEngineConfig(const EngineConfig& config) {
  Status status;
  VisitEngineOptions(config, [&status]<typename T>(const EngineOptionInfo& info, const T& field) {
    if (status.ok() && !IsAllowed(info, field)) status = OutOfRange<T>(info, ToText(field));
  });
  DI_RETURN_IF_ERROR(status);
  if (config.max_num_batched_tokens < config.max_num_seqs) {
    return InvalidArgument(StrCat("max_num_batched_tokens: expected at least max_num_seqs (",
                                  config.max_num_seqs, "), got ", config.max_num_batched_tokens));
  }
  if (config.num_kv_blocks > 0 && config.kv_cache_bytes > 0) {
    return InvalidArgument(StrCat("num_kv_blocks and kv_cache_bytes: expected one of them, got ",
                                  config.num_kv_blocks, " and ", config.kv_cache_bytes));
  }
  return ParseTokenIdList(config.banned_token_ids, INT32_MAX).status();
}

Result<std::vector<int32_t>> ParseTokenIdList(std::string_view text, int32_t vocab_size) {
  constexpr size_t kMaxIds = 1 << 20;
  std::vector<int32_t> ids;
  if (text.empty()) return ids;
  const auto fail = [text](std::string_view part) {
    return InvalidArgument(StrCat("banned_token_ids: expected ascending ids like 0..3,7, got ",
                                  Quoted(text), " with the part ", Quoted(part)));
  };
  for (const std::string_view part : StrSplit(text, ',')) {
    const size_t dots = part.find("..");
    const bool is_range = dots != std::string_view::npos;
    int32_t first = 0;
    if (!ParseNumber(part.substr(0, dots), first)) return fail(part);
    int32_t last = first;
    if (is_range && !ParseNumber(part.substr(dots + 2), last)) return fail(part);
    if (first < 0 || last < first || (!ids.empty() && first <= ids.back())) return fail(part);
    if (last >= vocab_size) {
      return InvalidArgument(StrCat("banned_token_ids: expected ids below the vocabulary's ",
                                    vocab_size, ", got ", last));
    }
    if (ids.size() + static_cast<size_t>(last - first) >= kMaxIds) return fail(part);
    for (int32_t id = first; id <= last; ++id) ids.push_back(id);
  }
  return ids;
}

}  // namespace deepinfer
