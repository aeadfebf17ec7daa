#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "base/strings.h"
#include "base/utf8.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/bpe.h"
#include "tokenizer/regex_splitter.h"
#include "tokenizer/tokenizer_json.h"
#include "tokenizer/vocabulary.h"
#include "tokenizer/word_cache.h"
#include "tokenizer/word_scanner.h"

namespace deepinfer::tokenizer {
namespace {

// The three patterns that WordScanner implements.  Files spell the newlines of the third as escapes or as
// themselves.
constexpr std::string_view kNumberPattern = R"(\p{N}{1,3})";
constexpr std::string_view kCjkPattern = "[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+";
constexpr std::array<std::string_view, 2> kWordPatterns = {
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    "[!\"#$%&'()*+,\\-./"
    ":;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| "
    "?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"};

// Working memory that is kept for later calls; more calls at a time get their own and drop it.
constexpr size_t kMaxPooled = 64;

bool IsDeepSeekSplit(const std::vector<std::string>& patterns) {
  return patterns.size() == 3 && patterns[0] == kNumberPattern && patterns[1] == kCjkPattern &&
         (patterns[2] == kWordPatterns[0] || patterns[2] == kWordPatterns[1]);
}

// What one call of Encode works with.
struct Scratch {
  WordCache cache;
  BpeScratch bpe;
  RegexScratch regex;
  std::vector<TextSegment> segments;
  std::vector<TextSegment> normalized_segments;
  std::vector<std::string_view> pieces;
  std::vector<std::string_view> next_pieces;

  // Drops the views of the last text and memory that only an unusual text needed.
  void Clean() {
    bpe.Trim();
    Reset(segments);
    Reset(normalized_segments);
    Reset(pieces);
    Reset(next_pieces);
  }

  template <typename T>
  static void Reset(std::vector<T>& items) {
    constexpr size_t kKept = size_t{1} << 14;
    items.clear();
    if (items.capacity() > kKept) std::vector<T>().swap(items);
  }
};

enum TokenFlags : uint8_t { kAdded = 1, kSpecial = 2 };

}  // namespace

struct Tokenizer::Impl {
  Vocabulary vocabulary;
  BpeModel bpe;
  bool ignore_merges = false;
  bool uses_scanner = false;
  std::vector<RegexSplitter> splitters;
  std::vector<NormalizationForm> normalizers;
  AddedTokenMatcher raw_matcher;         // tokens looked for before normalization
  AddedTokenMatcher normalized_matcher;  // and behind it
  std::vector<uint8_t> flags;            // TokenFlags by id
  int32_t vocab_size = 0;
  bool adds_bos = false;
  std::optional<int32_t> bos_id, eos_id, pad_id;

  std::mutex mutex;
  std::vector<std::unique_ptr<Scratch>> pool;  // under mutex

  std::unique_ptr<Scratch> TakeScratch() {
    {
      const std::lock_guard lock(mutex);
      if (!pool.empty()) {
        std::unique_ptr<Scratch> scratch = std::move(pool.back());
        pool.pop_back();
        return scratch;
      }
    }
    return std::make_unique<Scratch>();
  }

  void GiveBack(std::unique_ptr<Scratch> scratch) {
    scratch->Clean();
    const std::lock_guard lock(mutex);
    if (pool.size() < kMaxPooled) pool.push_back(std::move(scratch));
  }

  std::string Normalized(std::string_view text) const {
    std::string out(text);
    for (const NormalizationForm form : normalizers) out = Normalize(out, form);
    return out;
  }

  void EncodeWord(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const {
    const WordCache::Place place = scratch.cache.Find(word);
    if (place.is_hit) {
      const std::span<const int32_t> cached = WordCache::Ids(place);
      ids.insert(ids.end(), cached.begin(), cached.end());
      return;
    }
    const size_t start = ids.size();
    std::optional<int32_t> whole;
    if (ignore_merges) whole = vocabulary.FindByteLevel(word);
    if (whole.has_value()) {
      ids.push_back(*whole);
    } else {
      bpe.Encode(word, scratch.bpe, ids);
    }
    WordCache::Put(place, std::span(ids).subspan(start));
  }

  // `text` has no added tokens and is normalized.
  Status EncodeText(std::string_view text, Scratch& scratch, std::vector<int32_t>& ids) const {
    if (uses_scanner) {
      WordScanner scanner(text);
      std::string_view word;
      while (scanner.Next(&word)) EncodeWord(word, scratch, ids);
      return OkStatus();
    }
    scratch.pieces.assign(1, text);
    for (const RegexSplitter& splitter : splitters) {
      scratch.next_pieces.clear();
      for (const std::string_view piece : scratch.pieces) {
        DI_RETURN_IF_ERROR(splitter.Split(piece, scratch.regex, scratch.next_pieces));
      }
      std::swap(scratch.pieces, scratch.next_pieces);
    }
    for (const std::string_view word : scratch.pieces) EncodeWord(word, scratch, ids);
    return OkStatus();
  }

  // `text` has no added tokens that are looked for before normalization.
  Status EncodeSegment(std::string_view text, const EncodeOptions& options, Scratch& scratch,
                       std::vector<int32_t>& ids) const {
    std::string normalized;
    if (!normalizers.empty()) {
      normalized = Normalized(text);
      text = normalized;
    }
    if (!options.parse_added_tokens || normalized_matcher.empty()) {
      return EncodeText(text, scratch, ids);
    }
    scratch.normalized_segments.clear();
    normalized_matcher.Split(text, scratch.normalized_segments);
    for (const TextSegment& segment : scratch.normalized_segments) {
      if (segment.id >= 0) {
        ids.push_back(segment.id);
      } else {
        DI_RETURN_IF_ERROR(EncodeText(segment.text, scratch, ids));
      }
    }
    return OkStatus();
  }

  Status EncodeAll(std::string_view text, const EncodeOptions& options, Scratch& scratch,
                   std::vector<int32_t>& ids) const {
    if (text.empty()) return OkStatus();
    if (!options.parse_added_tokens) return EncodeSegment(text, options, scratch, ids);
    scratch.segments.clear();
    raw_matcher.Split(text, scratch.segments);
    for (const TextSegment& segment : scratch.segments) {
      if (segment.id >= 0) {
        ids.push_back(segment.id);
      } else {
        DI_RETURN_IF_ERROR(EncodeSegment(segment.text, options, scratch, ids));
      }
    }
    return OkStatus();
  }

  uint8_t FlagsOf(int32_t id) const {
    return id >= 0 && static_cast<size_t>(id) < flags.size() ? flags[static_cast<size_t>(id)] : 0;
  }

  // The matchers, flags and sizes.
  Status TakeAddedTokens(std::vector<AddedToken> tokens, int32_t model_vocab_size) {
    vocab_size = model_vocab_size;
    flags.resize(static_cast<size_t>(vocabulary.size()));
    std::vector<AddedToken> raw, normalized;
    for (AddedToken& token : tokens) {
      flags[static_cast<size_t>(token.id)] = token.special ? kAdded | kSpecial : kAdded;
      if (token.normalized && Normalized(token.content) != token.content) {
        return Unimplemented(StrCat("added_tokens: ", Quoted(token.content),
                                    ": a content that the normalizer changes is not supported"));
      }
      (token.normalized ? normalized : raw).push_back(std::move(token));
    }
    raw_matcher = AddedTokenMatcher(std::move(raw));
    normalized_matcher = AddedTokenMatcher(std::move(normalized));
    return OkStatus();
  }

  Status TakePatterns(const std::vector<std::string>& patterns) {
    uses_scanner = IsDeepSeekSplit(patterns);
    if (uses_scanner) return OkStatus();
    for (const std::string& pattern : patterns) {
      Result<RegexSplitter> splitter = RegexSplitter::Compile(pattern);
      if (!splitter.ok()) return splitter.status().WithContext("pre_tokenizer");
      splitters.push_back(std::move(splitter).value());
    }
    return OkStatus();
  }

  // The id of a token that tokenizer_config.json names.  An empty name means none.
  Result<std::optional<int32_t>> NamedToken(std::string_view key,
                                            const std::string& content) const {
    if (content.empty()) return std::optional<int32_t>();
    const std::optional<int32_t> id = vocabulary.Find(content);
    if (!id.has_value()) {
      return InvalidArgument(StrCat("tokenizer_config.json: ", key,
                                    ": expected a token of tokenizer.json, got ", Quoted(content)));
    }
    return id;
  }
};

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> Tokenizer::Load(FileSystem& fs, const std::string& model_dir) {
  const std::string path = JoinPath(model_dir, "tokenizer.json");
  const std::string config_path = JoinPath(model_dir, "tokenizer_config.json");
  DI_ASSIGN_OR_RETURN(const std::string json, ReadFile(fs, path, kMaxTokenizerJsonBytes));
  std::string config_json;
  Result<std::string> config = ReadFile(fs, config_path, kMaxTokenizerConfigBytes);
  if (config.ok()) {
    config_json = std::move(config).value();
  } else if (config.status().code() != StatusCode::kNotFound) {
    return config.status();
  }
  Result<Tokenizer> tokenizer = FromJson(json, config_json);
  if (!tokenizer.ok()) return tokenizer.status().WithContext(model_dir);
  return tokenizer;
}

Result<Tokenizer> Tokenizer::FromJson(std::string_view tokenizer_json,
                                      std::string_view tokenizer_config_json) {
  Result<TokenizerSpec> parsed = ParseTokenizerJson(tokenizer_json);
  if (!parsed.ok()) return parsed.status().WithContext("tokenizer.json");
  TokenizerSpec spec = std::move(parsed).value();
  TokenizerConfig config;
  if (!tokenizer_config_json.empty()) {
    Result<TokenizerConfig> read = ParseTokenizerConfig(tokenizer_config_json);
    if (!read.ok()) return read.status().WithContext("tokenizer_config.json");
    config = std::move(read).value();
  }
  Result<BpeModel> bpe = BpeModel::Create(spec.vocabulary, spec.merges);
  if (!bpe.ok()) return bpe.status().WithContext("tokenizer.json");

  auto impl = std::make_unique<Impl>();
  impl->vocabulary = std::move(spec.vocabulary);
  impl->bpe = std::move(bpe).value();
  impl->ignore_merges = spec.ignore_merges;
  impl->normalizers = std::move(spec.normalizers);
  Status status = impl->TakePatterns(spec.split_patterns);
  if (status.ok()) {
    status = impl->TakeAddedTokens(std::move(spec.added_tokens), spec.model_vocab_size);
  }
  if (!status.ok()) return status.WithContext("tokenizer.json");
  if (config.bos_token.empty()) config.bos_token = spec.bos_of_template;
  DI_ASSIGN_OR_RETURN(impl->bos_id, impl->NamedToken("bos_token", config.bos_token));
  DI_ASSIGN_OR_RETURN(impl->eos_id, impl->NamedToken("eos_token", config.eos_token));
  DI_ASSIGN_OR_RETURN(impl->pad_id, impl->NamedToken("pad_token", config.pad_token));
  impl->adds_bos = config.add_bos && impl->bos_id.has_value();
  return Tokenizer(std::move(impl));
}

Result<std::vector<int32_t>> Tokenizer::Encode(std::string_view text,
                                               const EncodeOptions& options) const {
  if (text.size() > kMaxTextBytes) {
    return InvalidArgument(StrCat("text: expected at most ", HumanBytes(kMaxTextBytes), ", got ",
                                  HumanBytes(text.size())));
  }
  std::string repaired;
  if (!IsValidUtf8(text)) {
    AppendUtf8Lossy(repaired, text);
    text = repaired;
  }
  std::vector<int32_t> ids;
  ids.reserve(text.size() / 3 + 8);
  std::unique_ptr<Scratch> scratch = impl_->TakeScratch();
  const Status status = impl_->EncodeAll(text, options, *scratch, ids);
  impl_->GiveBack(std::move(scratch));
  if (!status.ok()) return status;
  if (options.add_bos && impl_->bos_id.has_value() && (ids.empty() || ids[0] != *impl_->bos_id)) {
    ids.insert(ids.begin(), *impl_->bos_id);
  }
  return ids;
}

std::string Tokenizer::Decode(std::span<const int32_t> ids, const DecodeOptions& options) const {
  std::string bytes;
  for (const int32_t id : ids) {
    if (options.skip_special && IsSpecial(id)) continue;
    bytes.append(TokenBytes(id));
  }
  if (IsValidUtf8(bytes)) return bytes;
  std::string text;
  AppendUtf8Lossy(text, bytes);
  return text;
}

std::string_view Tokenizer::TokenBytes(int32_t id) const { return impl_->vocabulary.Bytes(id); }

std::string Tokenizer::TokenSpelling(int32_t id) const { return impl_->vocabulary.Spelling(id); }

std::optional<int32_t> Tokenizer::TokenToId(std::string_view spelling) const {
  return impl_->vocabulary.Find(spelling);
}

std::optional<int32_t> Tokenizer::AddedTokenId(std::string_view content) const {
  const std::optional<int32_t> id = impl_->vocabulary.Find(content);
  return id.has_value() && IsAdded(*id) ? id : std::nullopt;
}

bool Tokenizer::IsSpecial(int32_t id) const { return (impl_->FlagsOf(id) & kSpecial) != 0; }
bool Tokenizer::IsAdded(int32_t id) const { return (impl_->FlagsOf(id) & kAdded) != 0; }
int32_t Tokenizer::size() const { return impl_->vocabulary.size(); }
int32_t Tokenizer::vocab_size() const { return impl_->vocab_size; }
std::optional<int32_t> Tokenizer::bos_id() const { return impl_->bos_id; }
std::optional<int32_t> Tokenizer::eos_id() const { return impl_->eos_id; }
std::optional<int32_t> Tokenizer::pad_id() const { return impl_->pad_id; }
bool Tokenizer::adds_bos() const { return impl_->adds_bos; }

}  // namespace deepinfer::tokenizer
