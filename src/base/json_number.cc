#include "base/json_number.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/json.h"

namespace deepinfer::json {
namespace {

size_t SkipDigits(std::string_view text, size_t at) {
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
  return at;
}

}  // namespace

bool IsNumber(std::string_view text) {
  size_t at = !text.empty() && text[0] == '-' ? 1 : 0;
  const size_t integer = at;
  at = SkipDigits(text, at);
  if (at == integer || (text[integer] == '0' && at > integer + 1)) return false;
  if (at < text.size() && text[at] == '.') {
    const size_t fraction = at + 1;
    at = SkipDigits(text, fraction);
    if (at == fraction) return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    const size_t exponent = at;
    at = SkipDigits(text, exponent);
    if (at == exponent) return false;
  }
  return at == text.size();
}

bool IsNonFinite(std::string_view text) {
  return text == "NaN" || text == "Infinity" || text == "-Infinity";
}

std::optional<double> ToDouble(const std::string& text) {
  double parsed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error == std::errc()) return parsed;
  // from_chars does not say which end was missed; strtod does.
  parsed = std::strtod(text.c_str(), nullptr);
  if (std::isinf(parsed)) return std::nullopt;
  return parsed;
}

std::string FormatDouble(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  char buffer[32];
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific);
  std::string_view text(buffer, static_cast<size_t>(end.ptr - buffer));
  std::string out;
  if (text[0] == '-') {
    out = "-";
    text.remove_prefix(1);
  }
  const size_t e = text.find('e');
  int32_t exponent = 0;
  const size_t exponent_at = text[e + 1] == '+' ? e + 2 : e + 1;
  std::from_chars(text.data() + exponent_at, text.data() + text.size(), exponent);
  std::string digits(1, text[0]);
  if (e > 2) digits += text.substr(2, e - 2);
  const auto num_digits = static_cast<int32_t>(digits.size());
  if (exponent < -4 || exponent >= 16) {  // repr's limits
    out += digits[0];
    if (num_digits > 1) out += "." + digits.substr(1);
    const int32_t magnitude = std::abs(exponent);
    out += exponent < 0 ? "e-" : "e+";
    if (magnitude < 10) out += '0';
    return out + std::to_string(magnitude);
  }
  if (exponent < 0)
    return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  if (num_digits <= exponent + 1) {
    return out + digits + std::string(static_cast<size_t>(exponent + 1 - num_digits), '0') + ".0";
  }
  const auto point = static_cast<size_t>(exponent) + 1;
  return out + digits.substr(0, point) + "." + digits.substr(point);
}

}  // namespace deepinfer::json
