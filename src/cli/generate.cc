// deepinfer generate: prompts in, text out, piece by piece.
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <optional>
#include <vector>

#include "base/file_system.h"
#include "base/json.h"
#include "base/strings.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "deepinfer/engine.h"

namespace deepinfer::cli {
namespace {

constexpr uint64_t kMaxPromptBytes = uint64_t{64} << 20;
constexpr int32_t kDefaultMaxTokens = 256;
constexpr auto kWait = std::chrono::milliseconds(200);

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Flags {
  EngineConfig config;
  std::vector<std::string> prompts;
  std::string file;
  bool lines = false;
  bool chat = false;
  bool token_ids = false;
  bool json = false;
  bool quiet = false;
  std::optional<double> temperature, top_p, min_p;
  std::optional<int64_t> top_k, max_tokens, logprobs, prompt_logprobs;
  std::optional<uint64_t> seed;
  std::vector<std::string> stop;
  bool ignore_eos = false;
};

void Declare(Arguments& arguments, Flags& flags) {
  arguments.Positionals("prompt", flags.prompts, "one or more prompts; - or none reads stdin");
  arguments.Flag("--file", flags.file, "read the prompt from a file");
  arguments.Switch("--lines", flags.lines, "the file or stdin holds one prompt a line");
  arguments.Switch("--chat", flags.chat, "each prompt is one user turn, answered without thinking");
  arguments.Switch("--token-ids", flags.token_ids, "prompts are token ids: 1,2,3");
  arguments.Flag("--max-tokens", flags.max_tokens, "longest answer in tokens [256]");
  arguments.Flag("--temperature", flags.temperature, "0: the most probable token [checkpoint's]");
  arguments.Flag("--top-p", flags.top_p, "keep the most probable mass [checkpoint's]");
  arguments.Flag("--top-k", flags.top_k, "keep the most probable ids [checkpoint's]");
  arguments.Flag("--min-p", flags.min_p, "keep what is as probable as min-p times the best [0]");
  arguments.Flag("--seed", flags.seed, "repeatable draws");
  arguments.Flag("--stop", flags.stop, "end the text before this string");
  arguments.Switch("--ignore-eos", flags.ignore_eos, "go on behind the end-of-sequence token");
  arguments.Flag("--logprobs", flags.logprobs, "with --json: alternatives of each output token");
  arguments.Flag("--prompt-logprobs", flags.prompt_logprobs, "the same for the prompt's tokens");
  arguments.Switch("--json", flags.json, "one JSON object a prompt on stdout");
  arguments.Switch("--quiet", flags.quiet, "no notes on stderr");
  arguments.EngineOptions(flags.config);
}

Result<int32_t> ToInt32(std::string_view name, int64_t value) {
  if (value < INT32_MIN || value > INT32_MAX) {
    return InvalidArgument(StrCat(name, ": expected a 32-bit integer, got ", value));
  }
  return static_cast<int32_t>(value);
}

Result<SamplingParams> MakeSampling(const Flags& flags, const SamplingParams& defaults) {
  SamplingParams params = defaults;
  params.max_tokens = kDefaultMaxTokens;
  if (flags.temperature) params.temperature = *flags.temperature;
  if (flags.top_p) params.top_p = *flags.top_p;
  if (flags.min_p) params.min_p = *flags.min_p;
  if (flags.top_k) {
    DI_ASSIGN_OR_RETURN(params.top_k, ToInt32("top_k", *flags.top_k));
  }
  if (flags.max_tokens) {
    DI_ASSIGN_OR_RETURN(params.max_tokens, ToInt32("max_tokens", *flags.max_tokens));
  }
  if (flags.logprobs) {
    DI_ASSIGN_OR_RETURN(params.logprobs, ToInt32("logprobs", *flags.logprobs));
  }
  if (flags.prompt_logprobs) {
    DI_ASSIGN_OR_RETURN(params.prompt_logprobs, ToInt32("prompt_logprobs", *flags.prompt_logprobs));
  }
  params.seed = flags.seed;
  params.stop = flags.stop;
  params.ignore_eos = flags.ignore_eos;
  DI_RETURN_IF_ERROR(ValidateSamplingParams(params));
  return params;
}

Result<std::string> ReadInput(const Flags& flags) {
  if (!flags.file.empty()) {
    return ReadFile(PosixFileSystem(), flags.file, kMaxPromptBytes);
  }
  std::string text(std::istreambuf_iterator<char>(std::cin), {});
  if (text.size() > kMaxPromptBytes) {
    return InvalidArgument(StrCat("stdin: expected at most ", HumanBytes(kMaxPromptBytes)));
  }
  return text;
}

// The prompts of the command line, else of the file or stdin.
Result<std::vector<std::string>> CollectPrompts(const Flags& flags) {
  const bool from_stdin =
      flags.prompts.empty() || (flags.prompts.size() == 1 && flags.prompts[0] == "-");
  if (!flags.file.empty() && !flags.prompts.empty()) {
    return InvalidArgument("expected prompts or --file, got both");
  }
  if (flags.file.empty() && !from_stdin) return flags.prompts;
  if (flags.file.empty() && flags.prompts.empty() && isatty(STDIN_FILENO) != 0) {
    return InvalidArgument(
        "expected a prompt, --file or text on stdin; see deepinfer generate --help");
  }
  DI_ASSIGN_OR_RETURN(std::string text, ReadInput(flags));
  if (!flags.lines) {
    // The line end that an editor or echo adds is not part of the prompt.
    if (!text.empty() && text.back() == '\n') text.pop_back();
    return std::vector<std::string>{std::move(text)};
  }
  std::vector<std::string> prompts;
  for (const std::string_view line : StrSplit(text, '\n')) {
    if (!line.empty()) prompts.emplace_back(line);
  }
  return prompts;
}

Result<std::vector<int32_t>> ParseTokenIds(std::string_view text) {
  std::vector<int32_t> ids;
  for (const std::string_view part : StrSplit(text, ',')) {
    const std::string_view digits = StrTrim(part);
    int32_t id = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), id);
    if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) {
      return InvalidArgument(StrCat("--token-ids: expected ids like 1,2,3, got ", Quoted(part)));
    }
    ids.push_back(id);
  }
  return ids;
}

Result<Request> MakeRequest(const Flags& flags, const std::string& prompt, Engine& engine,
                            const SamplingParams& sampling) {
  Request request{.sampling = sampling};
  if (flags.token_ids) {
    DI_ASSIGN_OR_RETURN(request.prompt_token_ids, ParseTokenIds(prompt));
  } else if (flags.chat) {
    DI_ASSIGN_OR_RETURN(request.prompt_token_ids, engine.EncodeChat(prompt));
  } else {
    request.prompt = prompt;
  }
  return request;
}

json::Value NumberList(const std::vector<float>& values) {
  json::Value list = json::Value::Array();
  for (const float value : values) list.Append(value);
  return list;
}

json::Value IdList(const std::vector<int32_t>& ids) {
  json::Value list = json::Value::Array();
  for (const int32_t id : ids) list.Append(id);
  return list;
}

json::Value AlternativeLists(const std::vector<std::vector<TokenAlternative>>& rows) {
  json::Value list = json::Value::Array();
  for (const std::vector<TokenAlternative>& row : rows) {
    json::Value alternatives = json::Value::Array();
    for (const TokenAlternative& a : row) {
      json::Value pair = json::Value::Array();
      pair.Append(a.token_id);
      pair.Append(a.logprob);
      alternatives.Append(std::move(pair));
    }
    list.Append(std::move(alternatives));
  }
  return list;
}

json::Value ToJson(const RequestOutput& output, size_t idx) {
  json::Value out = json::Value::Object();
  out.Set("index", idx);
  out.Set("text", output.text);
  out.Set("finish_reason", FinishReasonName(output.finish_reason));
  out.Set("prompt_token_ids", IdList(output.prompt_token_ids));
  out.Set("token_ids", IdList(output.token_ids));
  out.Set("num_cached_tokens", output.num_cached_tokens);
  if (!output.logprobs.empty()) {
    out.Set("logprobs", NumberList(output.logprobs));
    out.Set("top_logprobs", AlternativeLists(output.top_logprobs));
  }
  if (!output.prompt_logprobs.empty()) {
    out.Set("prompt_logprobs", NumberList(output.prompt_logprobs));
    out.Set("prompt_top_logprobs", AlternativeLists(output.prompt_top_logprobs));
  }
  json::Value error;
  if (!output.error.ok()) {
    error = json::Value::Object();
    error.Set("kind", ErrorKind(output.error));
    error.Set("message", output.error.message());
  }
  out.Set("error", std::move(error));
  return out;
}

struct Totals {
  int64_t num_prompt_tokens = 0;
  int64_t num_output_tokens = 0;
  int32_t num_failed = 0;
  std::optional<double> first_token_seconds;
};

// Takes a request's deltas to its end; prints the text as it comes when `stream_text`.
RequestOutput Follow(RequestHandle& handle, bool stream_text, Clock::time_point begin,
                     Totals& totals) {
  RequestOutput output;
  output.request_id = handle.request_id();
  output.prompt_token_ids = handle.prompt_token_ids();
  while (true) {
    const Result<TokenDelta> delta = handle.Next(kWait);
    if (!delta.ok()) {
      if (delta.status().code() == StatusCode::kDeadlineExceeded) continue;
      output.error = delta.status();
      return output;
    }
    if (!delta->token_ids.empty() && !totals.first_token_seconds) {
      totals.first_token_seconds = SecondsSince(begin);
    }
    output.Append(*delta);
    if (stream_text && !delta->text.empty()) {
      std::fwrite(delta->text.data(), 1, delta->text.size(), stdout);
      std::fflush(stdout);
    }
    if (delta->finish_reason.has_value()) return output;
  }
}

class Generation {
 public:
  Generation(const Flags& flags, Engine& engine, const SamplingParams& sampling)
      : flags_(flags), engine_(engine), sampling_(sampling) {}

  Totals Run(const std::vector<std::string>& prompts) {
    const Clock::time_point begin = Clock::now();
    // The engine accepts a bounded number of requests, so the list goes in as answers come out.
    size_t next = 0;
    std::vector<std::optional<RequestHandle>> handles(prompts.size());
    std::vector<Status> refusals(prompts.size());
    for (size_t i = 0; i < prompts.size(); ++i) {
      while (next < prompts.size()) {
        Status status = Submit(prompts[next], handles[next]);
        if (status.code() == StatusCode::kResourceExhausted && next > i) break;
        refusals[next++] = std::move(status);
      }
      RequestOutput output;
      if (handles[i].has_value()) {
        output = Follow(*handles[i], !flags_.json, begin, totals_);
        handles[i].reset();
      } else {
        output.error = refusals[i];
      }
      Print(output, i, i + 1 == prompts.size());
    }
    return totals_;
  }

 private:
  Status Submit(const std::string& prompt, std::optional<RequestHandle>& handle) {
    DI_ASSIGN_OR_RETURN(Request request, MakeRequest(flags_, prompt, engine_, sampling_));
    DI_ASSIGN_OR_RETURN(handle, engine_.Submit(std::move(request)));
    return OkStatus();
  }

  void Print(const RequestOutput& output, size_t idx, bool is_last) {
    totals_.num_prompt_tokens += static_cast<int64_t>(output.prompt_token_ids.size());
    totals_.num_output_tokens += static_cast<int64_t>(output.token_ids.size());
    if (flags_.json) {
      std::printf("%s\n", json::Write(ToJson(output, idx)).c_str());
    } else {
      std::printf(is_last ? "\n" : "\n\n");
    }
    if (output.error.ok()) return;
    ++totals_.num_failed;
    Fail("generate", StrCat("prompt ", idx, ": ", output.error.message()));
  }

  const Flags& flags_;
  Engine& engine_;
  const SamplingParams& sampling_;
  Totals totals_;
};

void PrintSummary(const Totals& totals, double seconds) {
  const double first = totals.first_token_seconds.value_or(seconds);
  std::fprintf(stderr,
               "%lld prompt tokens, first token after %.0f ms; %lld output tokens in %.2f s, "
               "%.1f tokens/s\n",
               static_cast<long long>(totals.num_prompt_tokens), first * 1e3,
               static_cast<long long>(totals.num_output_tokens), seconds,
               static_cast<double>(totals.num_output_tokens) / std::max(seconds, 1e-9));
}

}  // namespace

int32_t RunGenerate(std::span<const std::string> arguments) {
  Result<EngineConfig> config = EngineConfigFromEnvironment();
  if (!config.ok()) return Fail("generate", config.status().message(), kExitUsage);
  Flags flags{.config = *config};
  Arguments declared("generate", "[--flags] [PROMPT...]", "Answers prompts; text goes to stdout.");
  Declare(declared, flags);
  if (const std::optional<int32_t> code = declared.Parse(arguments)) return *code;
  if (flags.chat && flags.token_ids) {
    return Fail("generate", "expected --chat or --token-ids, got both", kExitUsage);
  }
  const Result<std::vector<std::string>> prompts = CollectPrompts(flags);
  if (!prompts.ok()) {
    const bool is_usage = prompts.status().code() == StatusCode::kInvalidArgument;
    return Fail("generate", prompts.status().message(), is_usage ? kExitUsage : kExitFailure);
  }
  // Wrong parameters should not wait for a model to load.
  const Result<SamplingParams> early = MakeSampling(flags, SamplingParams());
  if (!early.ok()) return Fail("generate", early.status().message(), kExitUsage);
  Result<std::unique_ptr<Engine>> engine = Engine::Create(flags.config);
  if (!engine.ok()) return Fail("generate", engine.status().message());
  const ModelInfo& info = (*engine)->model_info();
  if (!flags.quiet && info.is_builtin) {
    std::fprintf(stderr, "no model named: using the built-in %s on %s\n", info.name.c_str(),
                 info.device.c_str());
  }
  const Result<SamplingParams> sampling = MakeSampling(flags, info.sampling_defaults);
  if (!sampling.ok()) return Fail("generate", sampling.status().message(), kExitUsage);
  const Clock::time_point begin = Clock::now();
  const Totals totals = Generation(flags, **engine, *sampling).Run(*prompts);
  if (!flags.quiet) PrintSummary(totals, SecondsSince(begin));
  return totals.num_failed == 0 ? kExitOk : kExitFailure;
}

}  // namespace deepinfer::cli
