// ModelOptions with defaults filled in.  Internal to this folder.
#pragma once

#include "deepinfer/status.h"
#include "model/model.h"
#include "model/model_config.h"

namespace deepinfer::model {

// Replaces 0 by the checkpoint's max_model_len and checks every limit; kInvalidArgument names the
// option.
Result<ModelOptions> ResolveOptions(const ModelConfig& config, ModelOptions options);

}  // namespace deepinfer::model
