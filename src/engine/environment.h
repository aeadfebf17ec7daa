// The DEEPINFER_* variables: the one place that reads them.
//
// Three kinds of names are known: options of EngineConfig (their rows say which variable), published
// variables of features that this build has in one form only, and published variables of features
// that do not exist yet.  The last are refused, by name, when their value would turn the feature on,
// and checked and ignored otherwise; so a script for the published engine runs, or says why not.
//
// Threading: functions without state.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "deepinfer/config.h"
#include "deepinfer/status.h"

namespace deepinfer::engine {

// Name and value, in any order.
using Environment = std::vector<std::pair<std::string, std::string>>;

struct EnvironmentReading {
  EngineConfig config;
  std::vector<std::string> warnings;  // one sentence for each unknown DEEPINFER_ name
};

// `config` changed by the variables.  kInvalidArgument or kUnimplemented names the variable, its
// value and what is allowed.  Names that do not begin with DEEPINFER_ are not looked at.
Result<EnvironmentReading> ReadEnvironment(const Environment& environment, EngineConfig config);

// The variables of this process that begin with DEEPINFER_, sorted by name.
Environment ProcessEnvironment();

}  // namespace deepinfer::engine
