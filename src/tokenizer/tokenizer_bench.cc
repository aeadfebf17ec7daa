// Speed of encoding, decoding and loading.
//
//   tokenizer_bench                              the tiny model's tokenizer
//   DI_TOKENIZER=.../tokenizer.json tokenizer_bench   another file, such as the released one
//
// Texts are made here: words drawn by Zipf's law from a fixed list stand for prose, so that the word cache
// meets what it meets in reality, some words often and many seldom.  Each benchmark decodes what it encoded
// once and compares before it measures.
#include <benchmark/benchmark.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "base/utf8.h"
#include "tokenizer/bpe.h"
#include "tokenizer/engram_vocabulary.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_json.h"

namespace deepinfer::tokenizer {
namespace {

constexpr size_t kTextBytes = size_t{4} << 20;

const std::string& Json() {
  static const std::string json = [] {
    const char* path = std::getenv("DI_TOKENIZER");
    return ReadFile(
               PosixFileSystem(),
               path != nullptr ? path : DI_SOURCE_DIR "/models/DeepSeek-V4.1-Tiny/tokenizer.json",
               kMaxTokenizerJsonBytes)
        .value();
  }();
  return json;
}

const Tokenizer& Shared() {
  static const Tokenizer tokenizer = Tokenizer::FromJson(Json()).value();
  return tokenizer;
}

// Draws ranks with a chance of about 1 / rank.
class Zipf {
 public:
  explicit Zipf(size_t num_ranks) : log_num_ranks_(std::log(static_cast<double>(num_ranks))) {}
  size_t Next() {
    const double u = static_cast<double>(rng_() >> 11) * 0x1p-53;
    return static_cast<size_t>(std::exp(u * log_num_ranks_)) - 1;
  }
  uint64_t Bits() { return rng_(); }

 private:
  double log_num_ranks_;
  std::mt19937_64 rng_{1};
};

// A pronounceable word for each rank, longer for rare ones.
std::string WordOfRank(size_t rank) {
  constexpr std::array<std::string_view, 40> kSyllables = {
      "the", "of",  "and",  "to",   "in",  "a",    "er",  "on",  "is",   "that",
      "it",  "ing", "re",   "ed",   "at",  "en",   "al",  "or",  "es",   "con",
      "ti",  "st",  "ver",  "ment", "pro", "ly",   "com", "per", "tion", "de",
      "ma",  "li",  "ness", "ra",   "un",  "able", "si",  "ca",  "mo",   "ter"};
  std::string word;
  do {
    word += kSyllables[rank % kSyllables.size()];
    rank /= kSyllables.size();
  } while (rank > 0);
  return word;
}

std::string English() {
  Zipf zipf(60000);
  std::string text;
  while (text.size() < kTextBytes) {
    std::string word = WordOfRank(zipf.Next());
    const uint64_t bits = zipf.Bits();
    if (bits % 12 == 0) word[0] = static_cast<char>(word[0] - 'a' + 'A');
    text += word;
    text += bits % 9 == 1 ? ", " : bits % 15 == 2 ? ". " : bits % 90 == 3 ? ".\n\n" : " ";
  }
  return text;
}

std::string Code() {
  Zipf zipf(20000);
  std::string text;
  while (text.size() < kTextBytes) {
    const std::string a = WordOfRank(zipf.Next());
    const std::string b = WordOfRank(zipf.Next());
    text +=
        "    if (" + a + "_" + b + "->size() >= " + std::to_string(zipf.Bits() % 2000) + ") {\n";
    text += "      " + b + "[i + 1] = static_cast<" + a + ">(" + b + ");  // " + a + " " + b +
            "\n    }\n";
  }
  return text;
}

std::string Chinese() {
  Zipf zipf(6000);
  std::string text;
  while (text.size() < kTextBytes) {
    // Ranks are spread over the block, as frequent characters are.
    const auto rank = static_cast<uint32_t>(zipf.Next());
    AppendUtf8(text, 0x4E00 + rank * 7919 % 20902);
    if (zipf.Bits() % 12 == 0) text += "，";
    if (zipf.Bits() % 40 == 0) text += "。\n";
  }
  return text;
}

std::string Digits() {
  Zipf zipf(2);
  std::string text;
  while (text.size() < kTextBytes)
    text += std::to_string(zipf.Bits()) + (text.size() % 2 == 0 ? " " : ",");
  return text;
}

void Encode(benchmark::State& state, std::string (*make)()) {
  const std::string text = make();
  if (Shared().Decode(Shared().Encode(text).value()) != text) {
    state.SkipWithError("decoding does not give the text back");
    return;
  }
  size_t num_ids = 0;
  for (auto _ : state) num_ids = Shared().Encode(text)->size();
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
  state.counters["bytes_per_id"] = static_cast<double>(text.size()) / static_cast<double>(num_ids);
}
BENCHMARK_CAPTURE(Encode, english, English)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Encode, code, Code)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Encode, chinese, Chinese)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Encode, digits, Digits)->Unit(benchmark::kMillisecond);

void Decode(benchmark::State& state, std::string (*make)()) {
  const std::vector<int32_t> ids = Shared().Encode(make()).value();
  size_t num_bytes = 0;
  for (auto _ : state) num_bytes = Shared().Decode(ids).size();
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * num_bytes));
}
BENCHMARK_CAPTURE(Decode, english, English)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Decode, chinese, Chinese)->Unit(benchmark::kMillisecond);

// One word of some length, on both sides of BpeModel::kMaxScanned.
void BM_OneWord(benchmark::State& state) {
  const TokenizerSpec spec = ParseTokenizerJson(Json()).value();
  const BpeModel model = BpeModel::Create(spec.vocabulary, spec.merges).value();
  std::string word;
  for (size_t rank = 1; word.size() < static_cast<size_t>(state.range(0)); rank += 977) {
    word += WordOfRank(rank);
  }
  word.resize(static_cast<size_t>(state.range(0)));
  BpeScratch scratch;
  std::vector<int32_t> ids;
  for (auto _ : state) {
    ids.clear();
    model.Encode(word, scratch, ids);
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * word.size()));
}
BENCHMARK(BM_OneWord)
    ->ArgName("bytes")
    ->Arg(8)
    ->Arg(32)
    ->Arg(BpeModel::kMaxScanned)
    ->Arg(BpeModel::kMaxScanned + 1)
    ->Arg(1024)
    ->Arg(1 << 20);

void Load(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Tokenizer::FromJson(Json()).ok());
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * Json().size()));
}
BENCHMARK(Load)->Unit(benchmark::kMillisecond);

void Engram(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(MakeEngramVocabulary(Shared()).size);
}
BENCHMARK(Engram)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace deepinfer::tokenizer
