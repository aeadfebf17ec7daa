// The engine as its users meet it: from nothing to the first token, alone and in batches.
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <vector>

#include "cli/bench.h"
#include "deepinfer/engine.h"

namespace deepinfer::cli {
namespace {

constexpr auto kWait = std::chrono::minutes(10);
constexpr int32_t kOutputTokens = 200;

Request ChatRequest(const std::vector<int32_t>& prompt, int32_t max_tokens) {
  Request request;
  request.prompt_token_ids = prompt;
  request.sampling = {.temperature = 0, .max_tokens = max_tokens, .ignore_eos = true};
  return request;
}

// Output tokens a second with `batch` requests at once.
Result<double> MeasureThroughput(Engine& engine, const std::vector<int32_t>& prompt,
                                 int32_t batch) {
  Status failure;
  const double seconds = SecondsOf([&] {
    std::vector<RequestHandle> handles;
    for (int32_t i = 0; i < batch; ++i) {
      Result<RequestHandle> handle = engine.Submit(ChatRequest(prompt, kOutputTokens));
      if (!handle.ok()) {
        failure = handle.status();
        return;
      }
      handles.push_back(std::move(handle).value());
    }
    for (RequestHandle& handle : handles) {
      const Result<RequestOutput> output = handle.Wait(kWait);
      if (!output.ok()) {
        failure = output.status();
      } else if (!output->error.ok()) {
        failure = output->error;
      }
    }
  });
  DI_RETURN_IF_ERROR(failure);
  return static_cast<double>(batch) * kOutputTokens / seconds;
}

// What the process holds now; its peak would count the buffers that measured the machine.
int64_t ResidentBytes() {
  int64_t total_pages = 0, resident_pages = 0;
  std::ifstream statm("/proc/self/statm");
  statm >> total_pages >> resident_pages;
  return resident_pages * sysconf(_SC_PAGESIZE);
}

}  // namespace

Status BenchEngine(BenchContext& context) {
  std::unique_ptr<Engine> engine;
  Status failure;
  std::vector<int32_t> prompt;
  // From nothing: load, encode, prefill, first token.
  const double first_token_seconds = SecondsOf([&] {
    Result<std::unique_ptr<Engine>> created = Engine::Create(context.config);
    if (!created.ok()) {
      failure = created.status();
      return;
    }
    engine = std::move(created).value();
    Result<std::vector<int32_t>> ids = engine->EncodeChat("What is a river?");
    if (!ids.ok()) {
      failure = ids.status();
      return;
    }
    prompt = std::move(ids).value();
    Result<RequestHandle> handle = engine->Submit(ChatRequest(prompt, 1));
    failure = handle.ok() ? handle->Wait(kWait).status() : handle.status();
  });
  DI_RETURN_IF_ERROR(failure);
  std::vector<double> rates;
  for (int32_t i = 0; i < context.num_repeats; ++i) {
    DI_ASSIGN_OR_RETURN(rates.emplace_back(), MeasureThroughput(*engine, prompt, 1));
  }
  const double one = Median(rates);
  json::Value report = json::Value::Object();
  report.Set("model", engine->model_info().name);
  report.Set("first_token_seconds", first_token_seconds);
  report.Set("batch_1_tokens_per_second", one);
  if (!context.json) {
    std::printf("\nengine, %s on %s\n", engine->model_info().name.c_str(),
                engine->model_info().device.c_str());
    std::printf("  load to first token: %.0f ms\n", 1e3 * first_token_seconds);
    std::printf("  batch  1: %.0f tokens/s\n", one);
  }
  const int64_t resident = ResidentBytes();
  for (const int32_t batch : {8, 64}) {
    if (batch > context.config.max_num_seqs) continue;
    DI_ASSIGN_OR_RETURN(const double rate, MeasureThroughput(*engine, prompt, batch));
    report.Set(batch == 8 ? "batch_8_tokens_per_second" : "batch_64_tokens_per_second", rate);
    if (!context.json) {
      std::printf("  batch %2d: %.0f tokens/s, %.1f times batch 1\n", batch, rate, rate / one);
    }
  }
  report.Set("resident_bytes", resident);
  if (!context.json) {
    std::printf("  resident memory after batch 1: %.0f MB\n", static_cast<double>(resident) / 1e6);
  }
  context.report.Set("engine", std::move(report));
  return OkStatus();
}

}  // namespace deepinfer::cli
