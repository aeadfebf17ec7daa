// Small string helpers that g++ 12.2's library lacks.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace deepinfer {
namespace internal {

template <typename T>
void AppendPiece(std::string& out, const T& piece) {
  if constexpr (std::is_same_v<T, bool>) {
    out += piece ? "true" : "false";
  } else if constexpr (std::is_same_v<T, char>) {
    out += piece;
  } else if constexpr (std::is_enum_v<T>) {
    AppendPiece(out, static_cast<std::underlying_type_t<T>>(piece));
  } else if constexpr (std::is_arithmetic_v<T>) {
    char buffer[64];  // the shortest form of any double fits
    const auto end = std::to_chars(buffer, buffer + sizeof(buffer), piece);
    out.append(buffer, end.ptr);
  } else {
    out += std::string_view(piece);
  }
}

}  // namespace internal

// Concatenates strings, characters, booleans, enums (their number) and numbers (shortest exact form).
template <typename... Pieces>
std::string StrCat(const Pieces&... pieces) {
  std::string out;
  (internal::AppendPiece(out, pieces), ...);
  return out;
}

// "a", "b" -> "a, b".
std::string StrJoin(const std::vector<std::string>& parts, std::string_view separator);

// Splits at every `separator`; "a,,b" gives three parts and "" gives one empty part.
std::vector<std::string_view> StrSplit(std::string_view text, char separator);

// Without ASCII white space at either end.
std::string_view StrTrim(std::string_view text);

// `text` in double quotes with control characters and non-ASCII-printable bytes escaped, cut to
// `max_bytes` source bytes with "..." behind; for error messages that quote outside input.
std::string Quoted(std::string_view text, size_t max_bytes = 80);

// "1.5 MiB", "27 B".
std::string HumanBytes(uint64_t bytes);

// Levenshtein distance; for "did you mean".
int32_t EditDistance(std::string_view a, std::string_view b);

}  // namespace deepinfer
