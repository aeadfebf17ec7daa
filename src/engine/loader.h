// From options to everything that an engine is made of.
//
// Threading: functions without state.
#pragma once

#include <memory>
#include <optional>

#include "backend/device.h"
#include "checkpoint/checkpoint.h"
#include "deepinfer/config.h"
#include "deepinfer/engine.h"
#include "deepinfer/status.h"
#include "engine/sizing.h"
#include "model/model.h"
#include "tokenizer/tokenizer.h"

namespace deepinfer::engine {

// The parts of an engine.  Members are in the order of their dependence: later ones use earlier ones
// and go first.
struct EngineParts {
  std::unique_ptr<backend::Device> device;
  std::optional<checkpoint::Checkpoint> checkpoint;  // absent in tests with a model of their own
  std::optional<tokenizer::Tokenizer> tokenizer;
  std::unique_ptr<model::Model> model;
  EngineSizes sizes;
  ModelInfo info;  // what depends on the parts above is filled in by CreateEngine
};

// Finds and checks the checkpoint, and loads it onto the device.  Errors name the file, tensor or
// option.  Requires a valid config.
Result<EngineParts> LoadEngineParts(const EngineConfig& config);

}  // namespace deepinfer::engine
