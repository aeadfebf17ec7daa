#include "engine/engine_impl.h"

#include <chrono>
#include <optional>
#include <random>
#include <utility>

#include "base/log.h"
#include "base/strings.h"
#include "engine/request_stream.h"

namespace deepinfer {

Result<std::unique_ptr<Engine>> Engine::Create(const EngineConfig& config) {
  static RealClock clock;  // has no state
  DI_RETURN_IF_ERROR(ValidateEngineConfig(config));
  const std::string_view level = config.log_level == "warn" ? "warning" : config.log_level;
  DI_ASSIGN_OR_RETURN(const LogLevel log_level, ParseLogLevel(level));
  SetLogLevel(log_level);
  DI_ASSIGN_OR_RETURN(engine::EngineParts parts, engine::LoadEngineParts(config));
  return engine::CreateEngine(config, std::move(parts), clock);
}

namespace engine {
namespace {

uint64_t RandomKey() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

std::chrono::nanoseconds Seconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(seconds));
}

}  // namespace

Result<std::unique_ptr<Engine>> CreateEngine(const EngineConfig& config, EngineParts parts,
                                             Clock& clock) {
  auto engine = std::make_unique<EngineImpl>(config, std::move(parts), RandomKey(), clock);
  DI_RETURN_IF_ERROR(engine->Start());
  return std::unique_ptr<Engine>(std::move(engine));
}

EngineImpl::EngineImpl(const EngineConfig& config, EngineParts parts, uint64_t seed_key,
                       Clock& clock)
    : config_(config),
      parts_(std::move(parts)),
      clock_(clock),
      admission_({.vocab_size = parts_.model->config().vocab_size,
                  .max_model_len = parts_.sizes.max_model_len,
                  .eos_token_ids = parts_.info.eos_token_ids},
                 seed_key),
      inbox_(std::make_shared<Inbox>(config.max_num_requests)) {}

EngineImpl::~EngineImpl() {
  inbox_->Close();
  if (thread_.joinable()) thread_.join();
}

Status EngineImpl::Start() {
  const EngineSizes& sizes = parts_.sizes;
  const int32_t vocab_size = parts_.model->config().vocab_size;
  runner::RunnerOptions runner_options{
      .max_num_seqs = config_.max_num_seqs,
      .max_model_len = sizes.max_model_len,
      .num_blocks = sizes.num_blocks,
      .num_state_slots = sizes.num_state_slots,
      .sampler = {.vocab_size = vocab_size, .num_token_ids = parts_.tokenizer->size()}};
  DI_ASSIGN_OR_RETURN(runner_options.sampler.banned_token_ids,
                      ParseTokenIdList(config_.banned_token_ids, vocab_size));
  DI_ASSIGN_OR_RETURN(std::unique_ptr<runner::Runner> runner,
                      runner::Runner::Create(*parts_.model, *parts_.device, runner_options));
  ModelInfo& info = parts_.info;
  info.device = parts_.device->properties().name;
  info.vocab_size = vocab_size;
  info.max_model_len = sizes.max_model_len;
  info.num_layers = parts_.model->config().num_hidden_layers;
  info.num_blocks = sizes.num_blocks - 1;
  info.kv_cache_bytes = runner->cache_bytes();
  info.workspace_bytes = parts_.model->workspace_bytes();

  const EngineLoopOptions options{
      .scheduler = {.block_size = ops::kBlockSize,
                    .num_blocks = sizes.num_blocks,
                    .num_state_slots = sizes.num_state_slots,
                    .max_model_len = sizes.max_model_len,
                    .max_num_seqs = config_.max_num_seqs,
                    .max_num_batched_tokens = config_.max_num_batched_tokens,
                    .max_num_logit_rows = sizes.max_num_logit_rows,
                    .max_prefill_chunk_tokens = config_.max_prefill_chunk_tokens},
      .max_steps_in_flight = config_.async_scheduling ? 2 : 1,
      .step_timeout = Seconds(config_.step_timeout_seconds)};
  loop_ =
      std::make_unique<EngineLoop>(options, inbox_, *parts_.tokenizer, std::move(runner), clock_);
  thread_ = std::thread([this] { loop_->Run(); });
  LogInfo("engine_started", {{"model", info.name},
                             {"device", info.device},
                             {"max_model_len", info.max_model_len},
                             {"num_kv_blocks", info.num_blocks},
                             {"kv_cache_bytes", info.kv_cache_bytes},
                             {"workspace_bytes", info.workspace_bytes}});
  return OkStatus();
}

Result<RequestHandle> EngineImpl::Submit(Request request) {
  DI_RETURN_IF_ERROR(health());
  if (request.prompt_token_ids.empty() && !request.prompt.empty()) {
    DI_ASSIGN_OR_RETURN(request.prompt_token_ids, Encode(request.prompt));
  }
  DI_ASSIGN_OR_RETURN(sched::NewSequence sequence, admission_.Admit(request));
  if (request.request_id.empty()) request.request_id = StrCat(num_named_.fetch_add(1));
  auto stream = std::make_shared<RequestHandle::Stream>(
      std::move(request.request_id), std::move(request.prompt_token_ids), inbox_);
  NewRequest posted{.stream = stream, .sequence = std::move(sequence)};
  std::optional<std::chrono::nanoseconds> timeout = request.timeout;
  if (!timeout.has_value() && config_.request_timeout_seconds > 0) {
    timeout = Seconds(config_.request_timeout_seconds);
  }
  if (timeout.has_value()) {
    // Far enough away to be never, and near enough to be added to a time.
    constexpr std::chrono::nanoseconds kLongest = std::chrono::hours(24 * 365 * 10);
    posted.deadline = clock_.Now() + std::min(*timeout, kLongest);
  }
  DI_RETURN_IF_ERROR(inbox_->PostRequest(std::move(posted)));
  return RequestHandle(std::move(stream));
}

Result<std::vector<int32_t>> EngineImpl::Encode(std::string_view text) const {
  return parts_.tokenizer->Encode(text, {.add_bos = parts_.tokenizer->adds_bos()});
}

Result<std::vector<int32_t>> EngineImpl::EncodeChat(std::string_view text) const {
  const tokenizer::Tokenizer& tokenizer = *parts_.tokenizer;
  const auto marker = [&tokenizer](std::string_view content) -> Result<int32_t> {
    const std::optional<int32_t> id = tokenizer.AddedTokenId(content);
    if (id.has_value()) return *id;
    return InvalidArgument(
        StrCat("chat: expected a tokenizer with the token ", content, ", it has none"));
  };
  if (!tokenizer.bos_id().has_value()) {
    return InvalidArgument("chat: expected a tokenizer with a begin-of-sequence token");
  }
  DI_ASSIGN_OR_RETURN(const int32_t user, marker("<｜User｜>"));
  DI_ASSIGN_OR_RETURN(const int32_t assistant, marker("<｜Assistant｜>"));
  DI_ASSIGN_OR_RETURN(const int32_t think_end, marker("</think>"));
  DI_ASSIGN_OR_RETURN(const std::vector<int32_t> turn,
                      tokenizer.Encode(text, {.parse_added_tokens = false}));
  std::vector<int32_t> ids = {*tokenizer.bos_id(), user};
  ids.insert(ids.end(), turn.begin(), turn.end());
  ids.push_back(assistant);
  ids.push_back(think_end);
  return ids;
}

Result<std::string> EngineImpl::Decode(const std::vector<int32_t>& token_ids) const {
  return parts_.tokenizer->Decode(token_ids, {.skip_special = true});
}

}  // namespace engine
}  // namespace deepinfer
