// Safetensors files for tests, made by hand so that they can be as wrong as a test wants.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/strings.h"

namespace deepinfer::checkpoint {

// `"name":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}`.
inline std::string HeaderEntry(std::string_view name, std::string_view dtype,
                               const std::vector<int64_t>& shape, uint64_t begin, uint64_t end) {
  std::string dims;
  for (const int64_t dim : shape) dims += StrCat(dims.empty() ? "" : ",", dim);
  return StrCat("\"", name, "\":{\"dtype\":\"", dtype, "\",\"shape\":[", dims,
                "],\"data_offsets\":[", begin, ",", end, "]}");
}

// A whole file: the length, the header as it is, the data.
inline std::string SafetensorsBytes(std::string_view header, std::string_view data) {
  std::string out;
  for (int32_t i = 0; i < 8; ++i) out += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return StrCat(out, header, data);
}

}  // namespace deepinfer::checkpoint
