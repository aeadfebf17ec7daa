#include "request.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/strings.h"
#include "deepinfer/request.h"
#include "status.h"

namespace nb = nanobind;

namespace deepinfer::bindings {
namespace {

using Alternatives = std::variant<bool, int32_t>;
using StopStrings = std::variant<std::string, std::vector<std::string>>;

// False: none; True: the token's own value; a number: that many alternatives beside it.
std::optional<int32_t> ToAlternatives(const std::optional<Alternatives>& value) {
  if (!value.has_value()) return std::nullopt;
  if (const bool* wanted = std::get_if<bool>(&*value)) {
    return *wanted ? std::optional<int32_t>(0) : std::nullopt;
  }
  return std::get<int32_t>(*value);
}

// Any Python int, reduced mod 2^64 as the published parameter is.
std::optional<uint64_t> ToSeed(const std::optional<nb::int_>& value) {
  if (!value.has_value()) return std::nullopt;
  const uint64_t seed = PyLong_AsUnsignedLongLongMask(value->ptr());
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return seed;
}

LogprobsMode ToLogprobsMode(const std::string& name) {
  if (name == "raw") return LogprobsMode::kRaw;
  if (name == "processed") return LogprobsMode::kProcessed;
  throw StatusError(
      InvalidArgument(StrCat("logprobs_mode: expected raw or processed, got ", Quoted(name))));
}

// Everything that SamplingParams(...) takes, under the names of the Python constructor.
struct Arguments {
  std::optional<nb::int_> seed, seq_seed;
  std::optional<StopStrings> stop;
  std::optional<Alternatives> logprobs, prompt_logprobs;
  int32_t top_logprobs = 0;
  int32_t first_n_token_no_eos = 0;
  std::string logprobs_mode;
  std::optional<nb::dict> logit_bias;
  std::optional<nb::object> so_args;
};

void ApplySeed(const Arguments& args, SamplingParams& params) {
  if (args.seed.has_value() && args.seq_seed.has_value()) {
    throw StatusError(InvalidArgument("seed: expected seed or seq_seed, which are one, got both"));
  }
  params.seed = ToSeed(args.seed.has_value() ? args.seed : args.seq_seed);
}

void ApplyLogprobs(const Arguments& args, SamplingParams& params) {
  params.logprobs = ToAlternatives(args.logprobs);
  params.prompt_logprobs = ToAlternatives(args.prompt_logprobs);
  params.logprobs_mode = ToLogprobsMode(args.logprobs_mode);
  if (args.top_logprobs == 0) return;
  // The published name for the number of alternatives of output tokens.
  if (params.logprobs.value_or(0) != 0 && params.logprobs != args.top_logprobs) {
    throw StatusError(InvalidArgument(StrCat("top_logprobs: expected ", *params.logprobs,
                                             " as logprobs says, got ", args.top_logprobs)));
  }
  params.logprobs = args.top_logprobs;
}

void Apply(const Arguments& args, SamplingParams& params) {
  ApplySeed(args, params);
  ApplyLogprobs(args, params);
  if (args.stop.has_value()) {
    if (const std::string* one = std::get_if<std::string>(&*args.stop)) {
      params.stop = {*one};
    } else {
      params.stop = std::get<std::vector<std::string>>(*args.stop);
    }
  }
  if (args.logit_bias.has_value()) {
    for (const auto& [id, bias] : *args.logit_bias) {
      params.logit_bias.push_back({nb::cast<int32_t>(id), nb::cast<double>(bias)});
    }
  }
  if (args.first_n_token_no_eos < 0 || args.first_n_token_no_eos > 1) {
    throw StatusError(InvalidArgument(
        StrCat("first_n_token_no_eos: expected 0 or 1, got ", args.first_n_token_no_eos)));
  }
  if (args.first_n_token_no_eos == 1 && params.min_tokens < 1) params.min_tokens = 1;
  if (args.so_args.has_value()) {
    throw StatusError(Unimplemented("so_args: structured output is not in this version"));
  }
  ThrowIfError(ValidateSamplingParams(params));
}

constexpr const char* kSamplingDoc =
    "How the next token is chosen, and when to stop.\n\n"
    "The order of operations is fixed: banned ids and min_tokens, logit_bias, penalties, "
    "temperature,\n"
    "then min_p, top_p and top_k on one distribution, then a draw keyed by (seed, position).  A\n"
    "temperature below 1e-5 takes the largest logit, the lowest id on ties.  Values out of range "
    "are\n"
    "a ValueError that names the field, the range and the value.";

void BindSamplingParams(nb::module_& module) {
  nb::class_<SamplingParams>(module, "SamplingParams", kSamplingDoc)
      .def(
          "__init__",
          [](SamplingParams* self, double temperature, double top_p, int32_t top_k, double min_p,
             std::optional<nb::int_> seed, std::optional<nb::int_> seq_seed, int32_t max_tokens,
             int32_t min_tokens, std::optional<StopStrings> stop,
             std::optional<std::vector<int32_t>> stop_token_ids, bool ignore_eos,
             std::optional<Alternatives> logprobs, std::optional<Alternatives> prompt_logprobs,
             int32_t top_logprobs, const std::string& logprobs_mode, double repetition_penalty,
             double presence_penalty, double frequency_penalty, std::optional<nb::dict> logit_bias,
             std::optional<std::vector<int32_t>> banned_token_ids, int32_t n,
             std::optional<std::vector<int32_t>> golden_token_ids, int32_t first_n_token_no_eos,
             std::optional<nb::object> so_args) {
            SamplingParams params;
            params.temperature = temperature;
            params.top_p = top_p;
            params.top_k = top_k;
            params.min_p = min_p;
            params.max_tokens = max_tokens;
            params.min_tokens = min_tokens;
            params.stop_token_ids = std::move(stop_token_ids).value_or(std::vector<int32_t>());
            params.ignore_eos = ignore_eos;
            params.repetition_penalty = repetition_penalty;
            params.presence_penalty = presence_penalty;
            params.frequency_penalty = frequency_penalty;
            params.banned_token_ids = std::move(banned_token_ids).value_or(std::vector<int32_t>());
            params.n = n;
            params.golden_token_ids = std::move(golden_token_ids).value_or(std::vector<int32_t>());
            Apply({std::move(seed), std::move(seq_seed), std::move(stop), logprobs, prompt_logprobs,
                   top_logprobs, first_n_token_no_eos, logprobs_mode, std::move(logit_bias),
                   std::move(so_args)},
                  params);
            new (self) SamplingParams(std::move(params));
          },
          nb::kw_only(), nb::arg("temperature") = 1.0, nb::arg("top_p") = 1.0,
          nb::arg("top_k") = SamplingParams::kAllTokens, nb::arg("min_p") = 0.0,
          nb::arg("seed") = nb::none(), nb::arg("seq_seed") = nb::none(),
          nb::arg("max_tokens") = 16, nb::arg("min_tokens") = 0, nb::arg("stop") = nb::none(),
          nb::arg("stop_token_ids") = nb::none(), nb::arg("ignore_eos") = false,
          nb::arg("logprobs") = nb::none(), nb::arg("prompt_logprobs") = nb::none(),
          nb::arg("top_logprobs") = 0, nb::arg("logprobs_mode") = "raw",
          nb::arg("repetition_penalty") = 1.0, nb::arg("presence_penalty") = 0.0,
          nb::arg("frequency_penalty") = 0.0, nb::arg("logit_bias") = nb::none(),
          nb::arg("banned_token_ids") = nb::none(), nb::arg("n") = 1,
          nb::arg("golden_token_ids") = nb::none(), nb::arg("first_n_token_no_eos") = 0,
          nb::arg("so_args") = nb::none())
      .def_ro("temperature", &SamplingParams::temperature)
      .def_ro("top_p", &SamplingParams::top_p)
      .def_ro("top_k", &SamplingParams::top_k)
      .def_ro("min_p", &SamplingParams::min_p)
      .def_ro("seed", &SamplingParams::seed)
      .def_ro("seq_seed", &SamplingParams::seed)
      .def_ro("max_tokens", &SamplingParams::max_tokens)
      .def_ro("min_tokens", &SamplingParams::min_tokens)
      .def_ro("stop", &SamplingParams::stop)
      .def_ro("stop_token_ids", &SamplingParams::stop_token_ids)
      .def_ro("ignore_eos", &SamplingParams::ignore_eos)
      .def_ro("logprobs", &SamplingParams::logprobs)
      .def_ro("prompt_logprobs", &SamplingParams::prompt_logprobs)
      .def_prop_ro("logprobs_mode",
                   [](const SamplingParams& self) {
                     return self.logprobs_mode == LogprobsMode::kRaw ? "raw" : "processed";
                   })
      .def_ro("repetition_penalty", &SamplingParams::repetition_penalty)
      .def_ro("presence_penalty", &SamplingParams::presence_penalty)
      .def_ro("frequency_penalty", &SamplingParams::frequency_penalty)
      .def_prop_ro("logit_bias",
                   [](const SamplingParams& self) {
                     nb::dict out;
                     for (const LogitBias& b : self.logit_bias) out[nb::int_(b.token_id)] = b.bias;
                     return out;
                   })
      .def_ro("banned_token_ids", &SamplingParams::banned_token_ids)
      .def_ro("n", &SamplingParams::n)
      .def_ro("golden_token_ids", &SamplingParams::golden_token_ids)
      .def("__copy__", [](const SamplingParams& self) { return SamplingParams(self); })
      .def("__deepcopy__",
           [](const SamplingParams& self, nb::handle) { return SamplingParams(self); })
      .def("__repr__", [](const SamplingParams& self) {
        return StrCat("SamplingParams(temperature=", self.temperature, ", top_p=", self.top_p,
                      ", top_k=", self.top_k, ", min_p=", self.min_p,
                      ", max_tokens=", self.max_tokens, ")");
      });
}

}  // namespace

void BindRequest(nb::module_& module) { BindSamplingParams(module); }

}  // namespace deepinfer::bindings
