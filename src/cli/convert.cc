// deepinfer convert: writes checkpoints.
#include <cstdio>

#include "base/file_system.h"
#include "base/progress.h"
#include "base/strings.h"
#include "checkpoint/synthesize.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "model/model_config.h"

namespace deepinfer::cli {
namespace {

constexpr uint64_t kMaxConfigBytes = 1 << 20;
constexpr uint64_t kMaxTokenizerBytes = uint64_t{256} << 20;

struct Flags {
  std::string synthesize;
  std::string out;
  std::string tokenizer;
  std::optional<uint64_t> seed;
  int64_t max_shard_mib = 5120;
  int64_t num_threads = 0;
  bool quiet = false;
};

// A checkpoint that the engine would refuse is not worth writing.
Status CheckConfig(const std::string& text, const std::string& path) {
  const Result<model::ModelConfig> config = model::ParseModelConfig(text);
  if (!config.ok()) return config.status().WithContext(path);
  return OkStatus();
}

Status CopyTokenizer(FileSystem& fs, const Flags& flags) {
  for (const char* name : {"tokenizer.json", "tokenizer_config.json"}) {
    const std::string from = JoinPath(flags.tokenizer, name);
    if (!Exists(fs, from)) {
      if (std::string_view(name) == "tokenizer.json") {
        return NotFound(StrCat(from, ": expected the tokenizer of --tokenizer"));
      }
      continue;
    }
    DI_ASSIGN_OR_RETURN(const std::string text, ReadFile(fs, from, kMaxTokenizerBytes));
    DI_RETURN_IF_ERROR(WriteFileAtomically(fs, JoinPath(flags.out, name), text));
  }
  return OkStatus();
}

Status Synthesize(const Flags& flags) {
  FileSystem& fs = PosixFileSystem();
  std::string path = flags.synthesize;
  if (IsDirectory(fs, path)) path = JoinPath(path, "config.json");
  DI_ASSIGN_OR_RETURN(const std::string config, ReadFile(fs, path, kMaxConfigBytes));
  DI_RETURN_IF_ERROR(CheckConfig(config, path));
  ProgressLine line("writing");
  checkpoint::SynthesizeOptions options;
  options.seed = flags.seed.value_or(0);
  options.max_shard_bytes = static_cast<uint64_t>(flags.max_shard_mib) << 20;
  options.num_threads = static_cast<int32_t>(flags.num_threads);
  if (!flags.quiet) {
    options.progress = [&](uint64_t done, uint64_t total) { line.Update(done, total, ""); };
  }
  DI_ASSIGN_OR_RETURN(const checkpoint::SynthesizeSummary summary,
                      checkpoint::Synthesize(fs, config, flags.out, options));
  if (!flags.tokenizer.empty()) DI_RETURN_IF_ERROR(CopyTokenizer(fs, flags));
  std::printf("%s: %lld tensors in %lld shards, %s\n", flags.out.c_str(),
              static_cast<long long>(summary.num_tensors),
              static_cast<long long>(summary.num_shards), HumanBytes(summary.num_bytes).c_str());
  return OkStatus();
}

}  // namespace

int32_t RunConvert(std::span<const std::string> arguments) {
  Flags flags;
  Arguments declared("convert", "--synthesize CONFIG --out FOLDER [--flags]",
                     "Writes a checkpoint of random weights in the released format.");
  declared.Flag("--synthesize", flags.synthesize, "config.json, or a folder that has one");
  declared.Flag("--out", flags.out, "folder of the new checkpoint");
  declared.Flag("--tokenizer", flags.tokenizer, "folder whose tokenizer goes with it");
  declared.Flag("--seed", flags.seed, "of the weights [0]");
  declared.Flag("--max-shard-mib", flags.max_shard_mib, "size of a shard [5120]");
  declared.Flag("--num-threads", flags.num_threads, "0: one for each core [0]");
  declared.Switch("--quiet", flags.quiet, "no progress");
  if (const std::optional<int32_t> code = declared.Parse(arguments)) return *code;
  if (flags.synthesize.empty() || flags.out.empty()) {
    return Fail("convert", "expected --synthesize CONFIG and --out FOLDER", kExitUsage);
  }
  if (flags.max_shard_mib < 1 || flags.max_shard_mib > 1 << 20 || flags.num_threads < 0 ||
      flags.num_threads > 1024) {
    return Fail("convert", "expected --max-shard-mib in 1..1048576 and --num-threads in 0..1024",
                kExitUsage);
  }
  const Status status = Synthesize(flags);
  return status.ok() ? kExitOk : Fail("convert", status.message());
}

}  // namespace deepinfer::cli
