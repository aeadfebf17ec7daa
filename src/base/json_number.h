// The grammar and value of JSON numbers; shared by the parts of base/json, of no use elsewhere.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace deepinfer::json {

// Whether `text` is a number of RFC 8259: -0.5e+3 but not +1, 01, .5, 1. or NaN.
bool IsNumber(std::string_view text);

// Whether `text` is one of Python's extra spellings: NaN, Infinity, -Infinity.
bool IsNonFinite(std::string_view text);

// The nearest double of a text for which IsNumber holds; nothing when it overflows.  Tiny values
// become denormals or zero.
std::optional<double> ToDouble(const std::string& text);

}  // namespace deepinfer::json
