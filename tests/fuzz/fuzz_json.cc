// json::Parse against arbitrary bytes: it agrees with an independent parser on what JSON is, and what it
// accepts survives writing and reading again.
#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/json.h"
#include "fuzz_check.h"

namespace {

namespace json = deepinfer::json;

// Whether some number is beyond a double, which the other parser refuses and ours keeps as text.
bool HasHugeNumber(const json::Value& value) {
  if (value.is_number()) return !value.AsDouble().ok();
  if (value.is_array()) return std::ranges::any_of(value.items(), HasHugeNumber);
  if (!value.is_object()) return false;
  return std::ranges::any_of(value.members(),
                             [](const json::Member& m) { return HasHugeNumber(m.value); });
}

// Not less than the real depth: brackets in strings count too.
size_t DepthBound(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return c == '[' || c == '{'; }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const json::Limits lenient = {.duplicate_keys = json::DuplicateKeys::kLastWins};
  const auto value = json::Parse(text, lenient);
  if (text.find('\0') != std::string_view::npos) {
    FUZZ_CHECK(!value.ok());  // the other parser takes a zero byte for the end of the text
  } else if (DepthBound(text) <= static_cast<size_t>(lenient.max_depth) &&
             !text.starts_with("\xef")) {
    // (It also skips a byte order mark; RFC 8259 lets a reader do either.)
    const bool is_json = nlohmann::json::accept(text);
    FUZZ_CHECK(is_json == value.ok() || (value.ok() && HasHugeNumber(*value)));
  }
  const auto strict = json::Parse(text);
  FUZZ_CHECK(!strict.ok() || value.ok());
  if (!value.ok()) {
    (void)json::Parse(text, {.allow_nan = true});
    return 0;
  }
  for (const json::WriteOptions& options :
       {json::WriteOptions{}, json::WriteOptions{.ensure_ascii = true}, json::kCompact,
        json::WriteOptions{.indent = 1}}) {
    const auto again = json::Parse(json::Write(*value, options));
    FUZZ_CHECK(again.ok());
    FUZZ_CHECK(*again == *value);
  }
  (void)json::Write(*value, {.numbers = json::NumberStyle::kPython});
  return 0;
}
