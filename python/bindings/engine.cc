#include "engine.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deepinfer/config.h"
#include "deepinfer/llm.h"
#include "status.h"

namespace nb = nanobind;

namespace deepinfer::bindings {
namespace {

using NamedValues = std::vector<std::pair<std::string, std::string>>;

// Waits are cut into pieces of this length so that Ctrl-C is noticed.
constexpr std::chrono::milliseconds kSignalInterval(100);

void ThrowOnSignal() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

std::unique_ptr<LLM> CreateLLM(const NamedValues& options) {
  EngineConfig config = ValueOrThrow(EngineConfigFromEnvironment());
  for (const auto& [name, value] : options) ThrowIfError(SetEngineOption(config, name, value));
  nb::gil_scoped_release release;
  return ValueOrThrow(LLM::Create(config));
}

Request MakeRequest(std::optional<std::string> prompt,
                    std::optional<std::vector<int32_t>> prompt_token_ids,
                    const SamplingParams& sampling) {
  Request request;
  request.prompt = std::move(prompt).value_or("");
  request.prompt_token_ids = std::move(prompt_token_ids).value_or(std::vector<int32_t>());
  request.sampling = sampling;
  return request;
}

// `on_progress(num_finished, num_requests, num_output_tokens)` is called with the GIL, or None.
std::vector<RequestOutput> Generate(LLM& self, std::vector<Request> requests,
                                    const nb::object& on_progress) {
  bool interrupted = false;
  GenerateOptions options;
  options.on_progress = [&](const GenerateProgress& progress) {
    nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) {
      interrupted = true;
      return false;
    }
    if (!on_progress.is_none()) {
      on_progress(progress.num_finished, progress.num_requests, progress.num_output_tokens);
    }
    return true;
  };
  std::vector<RequestOutput> outputs;
  {
    nb::gil_scoped_release release;
    outputs = self.Generate(std::move(requests), options);
  }
  if (interrupted) throw nb::python_error();
  return outputs;
}

// The next delta; None after `timeout_seconds` without one.  A negative time waits for ever.
std::optional<TokenDelta> NextDelta(RequestHandle& self, double timeout_seconds) {
  double left = timeout_seconds;
  while (true) {
    std::chrono::milliseconds wait = kSignalInterval;
    if (timeout_seconds >= 0 && left * 1000 < static_cast<double>(wait.count())) {
      wait = std::chrono::milliseconds(static_cast<int64_t>(left * 1000));
    }
    Result<TokenDelta> delta = [&] {
      nb::gil_scoped_release release;
      return self.Next(wait);
    }();
    if (delta.ok()) return std::move(delta).value();
    if (delta.status().code() != StatusCode::kDeadlineExceeded) ThrowIfError(delta.status());
    ThrowOnSignal();
    if (timeout_seconds < 0) continue;
    left -= static_cast<double>(wait.count()) / 1000;
    if (left <= 0) return std::nullopt;
  }
}

nb::dict MetricsDict(const EngineMetrics& m) {
  nb::dict out;
  out["num_requests_running"] = m.num_requests_running;
  out["num_requests_waiting"] = m.num_requests_waiting;
  out["num_requests_finished_total"] = m.num_requests_finished_total;
  out["num_requests_failed_total"] = m.num_requests_failed_total;
  out["num_steps_total"] = m.num_steps_total;
  out["num_prompt_tokens_total"] = m.num_prompt_tokens_total;
  out["num_output_tokens_total"] = m.num_output_tokens_total;
  out["num_preemptions_total"] = m.num_preemptions_total;
  out["num_blocks"] = m.num_blocks;
  out["num_free_blocks"] = m.num_free_blocks;
  out["num_free_state_slots"] = m.num_free_state_slots;
  return out;
}

void BindModelInfo(nb::module_& module) {
  nb::class_<ModelInfo>(module, "ModelInfo", "Facts of the loaded model.")
      .def_ro("path", &ModelInfo::path)
      .def_ro("name", &ModelInfo::name)
      .def_ro("device", &ModelInfo::device)
      .def_ro("is_builtin", &ModelInfo::is_builtin)
      .def_ro("vocab_size", &ModelInfo::vocab_size)
      .def_ro("max_model_len", &ModelInfo::max_model_len)
      .def_ro("num_layers", &ModelInfo::num_layers)
      .def_ro("num_blocks", &ModelInfo::num_blocks)
      .def_ro("kv_cache_bytes", &ModelInfo::kv_cache_bytes)
      .def_ro("workspace_bytes", &ModelInfo::workspace_bytes)
      .def_ro("eos_token_ids", &ModelInfo::eos_token_ids)
      .def_prop_ro("sampling_defaults",
                   [](const ModelInfo& self) { return SamplingParams(self.sampling_defaults); });
}

void BindHandle(nb::module_& module) {
  nb::class_<RequestHandle>(module, "RequestHandle", "The caller's end of one running request.")
      .def_prop_ro("request_id", [](const RequestHandle& self) { return self.request_id(); })
      .def_prop_ro("prompt_token_ids",
                   [](const RequestHandle& self) { return self.prompt_token_ids(); })
      .def_prop_ro("finished", [](const RequestHandle& self) { return self.finished(); })
      .def("next", NextDelta, nb::arg("timeout_seconds") = -1.0,
           "The next delta; None when none came in time.  A negative time waits for ever.")
      .def("cancel", &RequestHandle::Cancel,
           "Ends the request as soon as the running step is done.");
}

}  // namespace

void BindEngine(nb::module_& module) {
  BindModelInfo(module);
  BindHandle(module);
  nb::class_<Request>(module, "Request",
                      "A checked prompt with its parameters, for LLM.generate and LLM.submit.")
      .def_static("make", MakeRequest, nb::arg("prompt").none(), nb::arg("prompt_token_ids").none(),
                  nb::arg("sampling"));
  module.def(
      "engine_option_names",
      [] {
        std::vector<std::string> names;
        for (const EngineOption& option : DescribeEngineOptions(EngineConfig())) {
          names.push_back(option.name);
        }
        return names;
      },
      "Names of all options of the engine, each a keyword of LLM.");
  nb::class_<LLM>(module, "LLM", "The native half of deepinfer.LLM.")
      .def_static("create", CreateLLM, nb::arg("options"))
      .def("generate", Generate, nb::arg("requests"), nb::arg("on_progress").none())
      .def(
          "submit",
          [](LLM& self, Request request) {
            nb::gil_scoped_release release;
            return ValueOrThrow(self.engine().Submit(std::move(request)));
          },
          nb::arg("request"))
      .def(
          "encode",
          [](LLM& self, std::string_view text) {
            nb::gil_scoped_release release;
            return ValueOrThrow(self.engine().Encode(text));
          },
          nb::arg("text"))
      .def(
          "encode_chat",
          [](LLM& self, std::string_view text) {
            nb::gil_scoped_release release;
            return ValueOrThrow(self.engine().EncodeChat(text));
          },
          nb::arg("text"))
      .def(
          "decode",
          [](LLM& self, const std::vector<int32_t>& token_ids) {
            nb::gil_scoped_release release;
            return ValueOrThrow(self.engine().Decode(token_ids));
          },
          nb::arg("token_ids"))
      .def_prop_ro("model_info", [](LLM& self) { return ModelInfo(self.engine().model_info()); })
      .def("metrics", [](LLM& self) { return MetricsDict(self.engine().metrics()); });
}

}  // namespace deepinfer::bindings
