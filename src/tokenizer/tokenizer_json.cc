#include "tokenizer/tokenizer_json.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/json.h"
#include "base/strings.h"
#include "tokenizer/byte_level.h"

namespace deepinfer::tokenizer {
namespace {

// Nobody nests or chains more; bounds the recursion and the work for each text.
constexpr size_t kMaxSequence = 32;

// The pattern that ByteLevel applies itself when use_regex is true.
constexpr std::string_view kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

Status NotSupported(const json::Cursor& at, std::string_view what) {
  return Unimplemented(StrCat(at.path(), ": ", what, " is not supported"));
}

// `component` is an object with a "type".
Result<std::string> TypeOf(const json::Cursor& component) {
  return component.Read<std::string>("type");
}

Status ExpectNullOrFalse(const json::Cursor& parent, std::string_view key) {
  DI_ASSIGN_OR_RETURN(const auto member, parent.Find(key));
  if (!member.has_value()) return OkStatus();
  const json::Value& value = member->value();
  const bool is_off = (value.is_bool() && !value.AsBool().value()) ||
                      (value.is_string() && value.AsString().value().empty());
  return is_off ? OkStatus() : NotSupported(*member, value.Brief());
}

// The parts of a "Sequence", or the component itself.
Result<std::vector<json::Cursor>> PartsOf(const json::Cursor& component,
                                          std::string_view list_key) {
  DI_ASSIGN_OR_RETURN(const std::string type, TypeOf(component));
  if (type != "Sequence") return std::vector<json::Cursor>{component};
  DI_ASSIGN_OR_RETURN(const json::Cursor list, component.Get(list_key));
  if (list.value().size() > kMaxSequence) {
    return list.Refuse(
        StrCat("expected at most ", kMaxSequence, " components, got ", list.value().size()));
  }
  return list.Items();
}

Status ReadNormalizer(const json::Cursor& root, TokenizerSpec& spec) {
  DI_ASSIGN_OR_RETURN(const auto component, root.Find("normalizer"));
  if (!component.has_value()) return OkStatus();
  DI_ASSIGN_OR_RETURN(const auto parts, PartsOf(*component, "normalizers"));
  for (const json::Cursor& part : parts) {
    DI_ASSIGN_OR_RETURN(const std::string type, TypeOf(part));
    if (type == "NFC") {
      spec.normalizers.push_back(NormalizationForm::kNfc);
    } else if (type == "NFD") {
      spec.normalizers.push_back(NormalizationForm::kNfd);
    } else if (type == "NFKC") {
      spec.normalizers.push_back(NormalizationForm::kNfkc);
    } else if (type == "NFKD") {
      spec.normalizers.push_back(NormalizationForm::kNfkd);
    } else {
      return NotSupported(part, StrCat("normalizer ", Quoted(type)));
    }
  }
  return OkStatus();
}

Status ReadSplit(const json::Cursor& split, TokenizerSpec& spec) {
  DI_ASSIGN_OR_RETURN(const std::string behavior, split.Read<std::string>("behavior"));
  if (behavior != "Isolated") return NotSupported(split, StrCat("behavior ", Quoted(behavior)));
  // `invert` swaps matches and the rest, which Isolated treats alike.
  DI_ASSIGN_OR_RETURN(const json::Cursor pattern, split.Get("pattern"));
  DI_ASSIGN_OR_RETURN(const auto regex, pattern.Find("Regex"));
  if (!regex.has_value()) return NotSupported(pattern, "a pattern other than \"Regex\"");
  DI_ASSIGN_OR_RETURN(std::string text, regex->As<std::string>());
  spec.split_patterns.push_back(std::move(text));
  return OkStatus();
}

Status ReadPreTokenizer(const json::Cursor& root, TokenizerSpec& spec) {
  DI_ASSIGN_OR_RETURN(const json::Cursor component, root.Get("pre_tokenizer"));
  if (component.value().is_null()) {
    return NotSupported(component, "a tokenizer without ByteLevel pre-tokenizer");
  }
  DI_ASSIGN_OR_RETURN(const auto parts, PartsOf(component, "pretokenizers"));
  bool has_byte_level = false;
  for (const json::Cursor& part : parts) {
    DI_ASSIGN_OR_RETURN(const std::string type, TypeOf(part));
    if (has_byte_level) return NotSupported(part, "a pre-tokenizer behind ByteLevel");
    if (type == "Split") {
      DI_RETURN_IF_ERROR(ReadSplit(part, spec));
    } else if (type == "ByteLevel") {
      has_byte_level = true;
      DI_ASSIGN_OR_RETURN(const bool adds_space, part.ReadOr<bool>("add_prefix_space", true));
      if (adds_space) return NotSupported(part, "add_prefix_space");
      DI_ASSIGN_OR_RETURN(const bool use_regex, part.ReadOr<bool>("use_regex", true));
      if (use_regex) spec.split_patterns.emplace_back(kByteLevelPattern);
    } else {
      return NotSupported(part, StrCat("pre-tokenizer ", Quoted(type)));
    }
  }
  return has_byte_level ? OkStatus()
                        : NotSupported(component, "a pre-tokenizer without ByteLevel at the end");
}

// A template that gives the sequence A, with at most one special token in front.
Status ReadTemplate(const json::Cursor& processor, TokenizerSpec& spec) {
  DI_ASSIGN_OR_RETURN(const json::Cursor single, processor.Get("single"));
  DI_ASSIGN_OR_RETURN(const auto pieces, single.Items());
  bool has_sequence = false;
  for (const json::Cursor& piece : pieces) {
    DI_ASSIGN_OR_RETURN(const auto token, piece.Find("SpecialToken"));
    if (!token.has_value()) {
      DI_ASSIGN_OR_RETURN(const json::Cursor sequence, piece.Get("Sequence"));
      DI_ASSIGN_OR_RETURN(const std::string id, sequence.Read<std::string>("id"));
      if (id != "A" || has_sequence) return NotSupported(piece, StrCat("sequence ", Quoted(id)));
      has_sequence = true;
      continue;
    }
    DI_ASSIGN_OR_RETURN(std::string id, token->Read<std::string>("id"));
    if (has_sequence || !spec.bos_of_template.empty()) {
      return NotSupported(*token, StrCat("the token ", Quoted(id), " in a template"));
    }
    spec.bos_of_template = std::move(id);
  }
  return OkStatus();
}

Status ReadPostProcessor(const json::Cursor& root, TokenizerSpec& spec) {
  DI_ASSIGN_OR_RETURN(const auto component, root.Find("post_processor"));
  if (!component.has_value()) return OkStatus();
  DI_ASSIGN_OR_RETURN(const auto parts, PartsOf(*component, "processors"));
  for (const json::Cursor& part : parts) {
    DI_ASSIGN_OR_RETURN(const std::string type, TypeOf(part));
    if (type == "TemplateProcessing") {
      DI_RETURN_IF_ERROR(ReadTemplate(part, spec));
    } else if (type != "ByteLevel") {  // ByteLevel changes offsets only
      return NotSupported(part, StrCat("post-processor ", Quoted(type)));
    }
  }
  return OkStatus();
}

Status CheckDecoder(const json::Cursor& root) {
  DI_ASSIGN_OR_RETURN(const json::Cursor decoder, root.Get("decoder"));
  if (decoder.value().is_null())
    return NotSupported(decoder, "a tokenizer without ByteLevel decoder");
  DI_ASSIGN_OR_RETURN(const auto parts, PartsOf(decoder, "decoders"));
  if (parts.size() != 1) return NotSupported(decoder, "a decoder other than one ByteLevel");
  DI_ASSIGN_OR_RETURN(const std::string type, TypeOf(parts[0]));
  return type == "ByteLevel" ? OkStatus()
                             : NotSupported(parts[0], StrCat("decoder ", Quoted(type)));
}

Status ReadVocabulary(const json::Cursor& model, Vocabulary& vocabulary) {
  DI_ASSIGN_OR_RETURN(const json::Cursor vocab, model.Get("vocab"));
  if (!vocab.value().is_object()) return vocab.Expected("an object");
  const std::vector<json::Member>& members = vocab.value().members();
  size_t num_bytes = 0;
  for (const json::Member& member : members) num_bytes += member.key.size();
  vocabulary.Reserve(members.size() + 2048, num_bytes + (size_t{64} << 10));
  for (const json::Member& member : members) {
    const Result<int32_t> id = member.value.AsInt32();
    Status status =
        id.ok() ? vocabulary.Add(*id, member.key) : id.status().WithContext(Quoted(member.key));
    if (!status.ok()) return status.WithContext(vocab.path());
  }
  return OkStatus();
}

// The two parts of a merge, in either spelling: "a b" or ["a", "b"].
Result<std::pair<std::string_view, std::string_view>> PartsOfMerge(const json::Value& merge) {
  if (merge.is_string()) {
    const std::string_view text = *merge.AsString();
    const size_t blank = text.find(' ');
    if (blank == std::string_view::npos || text.find(' ', blank + 1) != std::string_view::npos) {
      return InvalidArgument(
          StrCat("expected two parts with one blank between, got ", Quoted(text)));
    }
    return std::pair(text.substr(0, blank), text.substr(blank + 1));
  }
  if (!merge.is_array() || merge.size() != 2 || !merge.items()[0].is_string() ||
      !merge.items()[1].is_string()) {
    return InvalidArgument(StrCat("expected two strings, got ", merge.Brief()));
  }
  return std::pair(*merge.items()[0].AsString(), *merge.items()[1].AsString());
}

Result<int32_t> IdOfPart(const Vocabulary& vocabulary, std::string_view part) {
  const auto id = vocabulary.Find(part);
  if (!id.has_value()) return InvalidArgument(StrCat(Quoted(part), " is not in model.vocab"));
  return *id;
}

// Reads the rows of the merges list.  Big files have a hundred thousand, and they are most of the time that
// loading takes beyond reading the JSON.
class MergeReader {
 public:
  explicit MergeReader(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  Result<Merge> Read(const json::Value& value) {
    DI_ASSIGN_OR_RETURN(const auto parts, PartsOfMerge(value));
    Merge merge;
    if (!FindFast(parts.first, parts.second, &merge)) {
      DI_ASSIGN_OR_RETURN(merge.left, IdOfPart(vocabulary_, parts.first));
      DI_ASSIGN_OR_RETURN(merge.right, IdOfPart(vocabulary_, parts.second));
      buffer_.assign(parts.first);
      buffer_.append(parts.second);
      DI_ASSIGN_OR_RETURN(merge.merged, IdOfPart(vocabulary_, buffer_));
    }
    last_merged_ = merge.merged;
    return merge;
  }

 private:
  // For byte-level parts: false when a part is not one or is missing, which the slow way then tells.
  bool FindFast(std::string_view left, std::string_view right, Merge* merge) {
    buffer_.clear();
    if (left.empty() || right.empty() || !AppendByteLevelBytes(left, buffer_)) return false;
    const size_t middle = buffer_.size();
    if (!AppendByteLevelBytes(right, buffer_)) return false;
    const std::string_view bytes = buffer_;
    const auto left_id = vocabulary_.FindByteLevel(bytes.substr(0, middle));
    const auto right_id = vocabulary_.FindByteLevel(bytes.substr(middle));
    // A trained vocabulary numbers what merges make in the order of the merges.
    const bool is_next =
        vocabulary_.IsByteLevel(last_merged_ + 1) && vocabulary_.Bytes(last_merged_ + 1) == bytes;
    const auto merged_id =
        is_next ? std::optional<int32_t>(last_merged_ + 1) : vocabulary_.FindByteLevel(bytes);
    if (!left_id.has_value() || !right_id.has_value() || !merged_id.has_value()) return false;
    *merge = {*left_id, *right_id, *merged_id};
    return true;
  }

  const Vocabulary& vocabulary_;
  std::string buffer_;
  int32_t last_merged_ = -1;
};

Status ReadModel(const json::Cursor& root, TokenizerSpec& spec) {
  DI_ASSIGN_OR_RETURN(const json::Cursor model, root.Get("model"));
  // Old files leave the type out.
  DI_ASSIGN_OR_RETURN(const std::string type, model.ReadOr<std::string>("type", "BPE"));
  if (type != "BPE") return NotSupported(model, StrCat("model ", Quoted(type)));
  DI_ASSIGN_OR_RETURN(const double dropout, model.ReadOr<double>("dropout", 0.0));
  if (dropout != 0.0) return NotSupported(model, "dropout");
  DI_RETURN_IF_ERROR(ExpectNullOrFalse(model, "continuing_subword_prefix"));
  DI_RETURN_IF_ERROR(ExpectNullOrFalse(model, "end_of_word_suffix"));
  // unk_token, fuse_unk and byte_fallback act on characters without a token; BpeModel::Create sees to it
  // that there are none.
  DI_ASSIGN_OR_RETURN(spec.ignore_merges, model.ReadOr<bool>("ignore_merges", false));
  DI_RETURN_IF_ERROR(ReadVocabulary(model, spec.vocabulary));
  spec.model_vocab_size = spec.vocabulary.size();

  DI_ASSIGN_OR_RETURN(const json::Cursor merges, model.Get("merges"));
  if (!merges.value().is_array()) return merges.Expected("an array");
  const std::vector<json::Value>& items = merges.value().items();
  spec.merges.reserve(items.size());
  MergeReader reader(spec.vocabulary);
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].is_string() && items[i].AsString()->starts_with("#version")) continue;
    const Result<Merge> merge = reader.Read(items[i]);
    if (!merge.ok()) return merge.status().WithContext(StrCat(merges.path(), "[", i, "]"));
    spec.merges.push_back(*merge);
  }
  return OkStatus();
}

Result<AddedToken> ReadAddedToken(const json::Cursor& item) {
  AddedToken token;
  DI_ASSIGN_OR_RETURN(token.id, item.Read<int32_t>("id"));
  DI_ASSIGN_OR_RETURN(token.content, item.Read<std::string>("content"));
  DI_ASSIGN_OR_RETURN(token.single_word, item.ReadOr<bool>("single_word", false));
  DI_ASSIGN_OR_RETURN(token.lstrip, item.ReadOr<bool>("lstrip", false));
  DI_ASSIGN_OR_RETURN(token.rstrip, item.ReadOr<bool>("rstrip", false));
  DI_ASSIGN_OR_RETURN(token.normalized, item.ReadOr<bool>("normalized", true));
  DI_ASSIGN_OR_RETURN(token.special, item.ReadOr<bool>("special", false));
  if (token.content.size() > AddedTokenMatcher::kMaxContentBytes) {
    return item.Refuse(StrCat("expected a content of at most ", AddedTokenMatcher::kMaxContentBytes,
                              " bytes, got ", token.content.size()));
  }
  return token;
}

Status ReadAddedTokens(const json::Cursor& root, TokenizerSpec& spec) {
  DI_ASSIGN_OR_RETURN(const auto list, root.Find("added_tokens"));
  if (!list.has_value()) return OkStatus();
  DI_ASSIGN_OR_RETURN(const auto items, list->Items());
  spec.added_tokens.reserve(items.size());
  std::vector<std::string_view> contents;
  for (const json::Cursor& item : items) {
    DI_ASSIGN_OR_RETURN(AddedToken token, ReadAddedToken(item));
    const auto id = spec.vocabulary.Find(token.content);
    if (!id.has_value()) {
      const Status added = spec.vocabulary.Add(token.id, token.content);
      if (!added.ok()) return added.WithContext(item.path());
    } else if (*id != token.id) {
      return item.Refuse(StrCat("id ", token.id, " for ", Quoted(token.content), ", which has id ",
                                *id, " already"));
    }
    spec.added_tokens.push_back(std::move(token));
  }
  for (const AddedToken& token : spec.added_tokens) contents.push_back(token.content);
  std::sort(contents.begin(), contents.end());
  const auto twice = std::adjacent_find(contents.begin(), contents.end());
  if (twice != contents.end()) return list->Refuse(StrCat(Quoted(*twice), " occurs twice"));
  return OkStatus();
}

// "bos_token" and its like: a string, or an object with "content", or null.
Result<std::string> ReadTokenName(const json::Cursor& root, std::string_view key) {
  DI_ASSIGN_OR_RETURN(const auto member, root.Find(key));
  if (!member.has_value()) return std::string();
  if (member->value().is_object()) return member->Read<std::string>("content");
  return member->As<std::string>();
}

}  // namespace

Result<TokenizerSpec> ParseTokenizerJson(std::string_view text) {
  DI_ASSIGN_OR_RETURN(const json::Value value,
                      json::Parse(text, {.max_bytes = kMaxTokenizerJsonBytes}));
  const json::Cursor root(value);
  if (!value.is_object()) return root.Expected("an object");
  TokenizerSpec spec;
  DI_RETURN_IF_ERROR(ExpectNullOrFalse(root, "truncation"));
  DI_RETURN_IF_ERROR(ExpectNullOrFalse(root, "padding"));
  DI_RETURN_IF_ERROR(ReadNormalizer(root, spec));
  DI_RETURN_IF_ERROR(ReadPreTokenizer(root, spec));
  DI_RETURN_IF_ERROR(ReadPostProcessor(root, spec));
  DI_RETURN_IF_ERROR(CheckDecoder(root));
  DI_RETURN_IF_ERROR(ReadModel(root, spec));
  DI_RETURN_IF_ERROR(ReadAddedTokens(root, spec));
  if (!spec.bos_of_template.empty() && !spec.vocabulary.Find(spec.bos_of_template).has_value()) {
    return InvalidArgument(StrCat("post_processor: the template's token ",
                                  Quoted(spec.bos_of_template), " does not exist"));
  }
  return spec;
}

Result<TokenizerConfig> ParseTokenizerConfig(std::string_view text) {
  // Published files repeat keys now and then; Python reads them so.
  DI_ASSIGN_OR_RETURN(const json::Value value,
                      json::Parse(text, {.max_bytes = kMaxTokenizerConfigBytes,
                                         .duplicate_keys = json::DuplicateKeys::kLastWins}));
  const json::Cursor root(value);
  if (!value.is_object()) return root.Expected("an object");
  TokenizerConfig config;
  DI_ASSIGN_OR_RETURN(config.add_bos, root.ReadOr<bool>("add_bos_token", true));
  DI_ASSIGN_OR_RETURN(const bool adds_eos, root.ReadOr<bool>("add_eos_token", false));
  if (adds_eos) return Unimplemented("add_eos_token: true is not supported");
  DI_ASSIGN_OR_RETURN(config.bos_token, ReadTokenName(root, "bos_token"));
  DI_ASSIGN_OR_RETURN(config.eos_token, ReadTokenName(root, "eos_token"));
  DI_ASSIGN_OR_RETURN(config.pad_token, ReadTokenName(root, "pad_token"));
  return config;
}

}  // namespace deepinfer::tokenizer
