#include "model/options.h"

#include "base/strings.h"

namespace deepinfer::model {

Result<ModelOptions> ResolveOptions(const ModelConfig& config, ModelOptions options) {
  if (options.max_model_len == 0) options.max_model_len = config.max_position_embeddings;
  struct Limit {
    const char* name;
    int32_t value, min, max;
  };
  for (const Limit& limit :
       {Limit{"max_model_len", options.max_model_len, 1, config.max_position_embeddings},
        Limit{"max_num_tokens", options.max_num_tokens, 1, 1 << 20},
        Limit{"max_num_logit_rows", options.max_num_logit_rows, 1, 1 << 20},
        Limit{"max_rollback_tokens", options.max_rollback_tokens, 0, 1 << 16}}) {
    if (limit.value < limit.min || limit.value > limit.max) {
      return InvalidArgument(
          StrCat(limit.name, ": expected ", limit.min, "..", limit.max, ", got ", limit.value));
    }
  }
  return options;
}

}  // namespace deepinfer::model
