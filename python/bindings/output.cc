#include "output.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/strings.h"
#include "deepinfer/output.h"

namespace nb = nanobind;

namespace deepinfer::bindings {
namespace {

using TopLogprobs = std::vector<std::vector<TokenAlternative>>;

// [[(token_id, logprob), ...], ...]
nb::list ToLists(const TopLogprobs& rows) {
  nb::list out;
  for (const std::vector<TokenAlternative>& row : rows) {
    nb::list alternatives;
    for (const TokenAlternative& a : row)
      alternatives.append(nb::make_tuple(a.token_id, a.logprob));
    out.append(alternatives);
  }
  return out;
}

std::optional<Status> ErrorOf(const Status& status) {
  if (status.ok()) return std::nullopt;
  return status;
}

void BindError(nb::module_& module) {
  nb::class_<Status>(module, "RequestError", "Why one request failed.")
      .def_prop_ro("kind", [](const Status& self) { return ErrorKind(self); })
      .def_prop_ro("code", [](const Status& self) { return StatusCodeName(self.code()); })
      .def_prop_ro("message", [](const Status& self) { return self.message(); })
      .def("__str__", [](const Status& self) { return self.message(); })
      .def("__repr__", [](const Status& self) {
        return StrCat("RequestError(kind='", StatusCodeName(self.code()),
                      "', message=", Quoted(self.message(), 200), ")");
      });
}

void BindDelta(nb::module_& module) {
  nb::class_<TokenDelta>(
      module, "TokenDelta",
      "What a request gained since its last delta.  The last one has a finish_reason.")
      .def_ro("request_id", &TokenDelta::request_id)
      .def_ro("sample_idx", &TokenDelta::sample_idx)
      .def_ro("token_ids", &TokenDelta::token_ids)
      .def_ro("text", &TokenDelta::text)
      .def_ro("logprobs", &TokenDelta::logprobs)
      .def_prop_ro("top_logprobs",
                   [](const TokenDelta& self) { return ToLists(self.top_logprobs); })
      .def_ro("prompt_logprobs", &TokenDelta::prompt_logprobs)
      .def_prop_ro("prompt_top_logprobs",
                   [](const TokenDelta& self) { return ToLists(self.prompt_top_logprobs); })
      .def_prop_ro("finish_reason",
                   [](const TokenDelta& self) -> std::optional<std::string_view> {
                     if (!self.finish_reason.has_value()) return std::nullopt;
                     return FinishReasonName(*self.finish_reason);
                   })
      .def_prop_ro("error", [](const TokenDelta& self) { return ErrorOf(self.error); })
      .def_prop_ro("num_cached_tokens",
                   [](const TokenDelta& self) { return self.usage.num_cached_tokens; });
}

void BindRequestOutput(nb::module_& module) {
  nb::class_<RequestOutput>(
      module, "RequestOutput",
      "The whole result of one request; there is one for every request, also for one that failed.")
      .def_ro("request_id", &RequestOutput::request_id)
      .def_ro("prompt_token_ids", &RequestOutput::prompt_token_ids)
      .def_ro("token_ids", &RequestOutput::token_ids)
      .def_ro("text", &RequestOutput::text)
      .def_prop_ro("finish_reason",
                   [](const RequestOutput& self) { return FinishReasonName(self.finish_reason); })
      .def_prop_ro("error", [](const RequestOutput& self) { return ErrorOf(self.error); })
      .def_ro("logprobs", &RequestOutput::logprobs)
      .def_prop_ro("top_logprobs",
                   [](const RequestOutput& self) { return ToLists(self.top_logprobs); })
      .def_ro("prompt_logprobs", &RequestOutput::prompt_logprobs)
      .def_prop_ro("prompt_top_logprobs",
                   [](const RequestOutput& self) { return ToLists(self.prompt_top_logprobs); })
      .def_ro("num_cached_tokens", &RequestOutput::num_cached_tokens)
      .def("__repr__", [](const RequestOutput& self) {
        return StrCat("RequestOutput(request_id='", self.request_id, "', text=", Quoted(self.text),
                      ", finish_reason='", FinishReasonName(self.finish_reason),
                      "', num_output_tokens=", self.token_ids.size(), ")");
      });
}

}  // namespace

void BindOutput(nb::module_& module) {
  BindError(module);
  BindDelta(module);
  BindRequestOutput(module);
}

}  // namespace deepinfer::bindings
