// generation_config.json: the checkpoint's own idea of sampling, and the ids that end a text.
//
// Threading: functions without state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "deepinfer/request.h"
#include "deepinfer/status.h"

namespace deepinfer::engine {

struct GenerationConfig {
  std::vector<int32_t> eos_token_ids;  // empty when the file says nothing
  SamplingParams sampling;             // "do_sample": false is temperature 0
};

// Parses the text of the file.  kInvalidArgument names the key with its value and range.  Keys that
// are not ours are ignored.
Result<GenerationConfig> ParseGenerationConfig(std::string_view json_text);

// Reads the file of a checkpoint's folder; defaults when there is none.
Result<GenerationConfig> LoadGenerationConfig(FileSystem& fs, const std::string& folder);

}  // namespace deepinfer::engine
