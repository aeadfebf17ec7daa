// The reader: simdjson's On-Demand front end, walked once into Values.  On-Demand is lazy and
// lenient, so whatever it does not check on the way (number grammar, literals, text behind,
// surrogates, depth, repeated keys) is checked here.
#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/json.h"
#include "base/json_number.h"
#include "base/strings.h"
#include "base/utf8.h"

namespace deepinfer::json {
namespace {

namespace ondemand = simdjson::ondemand;

// The text is copied as [text]: simdjson needs spare bytes behind it anyway, and inside an array a
// root that is a plain number or string needs no second code path.  Offsets are one off because of
// the bracket.
constexpr size_t kBracket = 1;

constexpr size_t kMaxBytes = (size_t{4} << 30) - 256;  // simdjson's positions have 32 bits

bool IsJsonSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

class Reader {
 public:
  Reader(std::string_view text, const Limits& limits) : text_(text), limits_(limits) {}

  Result<Value> Run() {
    const size_t padded = text_.size() + 2 * kBracket + simdjson::SIMDJSON_PADDING;
    buffer_ = std::make_unique<char[]>(padded);
    buffer_[0] = '[';
    std::memcpy(buffer_.get() + kBracket, text_.data(), text_.size());
    buffer_[kBracket + text_.size()] = ']';
    const size_t num_bytes = text_.size() + 2 * kBracket;

    ondemand::parser parser;
    ondemand::document document;
    simdjson::error_code error = parser.iterate(buffer_.get(), num_bytes, padded).get(document);
    if (error != simdjson::SUCCESS) return StageOneError(error);
    document_ = &document;
    ondemand::array root;
    error = document.get_array().get(root);
    if (error != simdjson::SUCCESS) return Fail(error);

    Result<Value> result = InvalidArgument("at byte 0: expected a value, got nothing");
    int64_t num_values = 0;
    for (auto element : root) {
      ondemand::value value;
      error = element.get(value);
      if (error != simdjson::SUCCESS) return Fail(error);
      const size_t at = OffsetOf(value);
      if (++num_values > 1) return At(at, "expected the end of the text, got another value");
      result = ReadValue(value, 0);
      if (!result.ok()) return result;
    }
    // At the end there is no location any more; anything else is text behind the closing bracket.
    const char* location = nullptr;
    if (document.current_location().get(location) == simdjson::SUCCESS) {
      return Fail(simdjson::TRAILING_CONTENT);
    }
    return result;
  }

 private:
  Result<Value> ReadValue(ondemand::value& value, int32_t depth) {
    const std::string_view token = value.raw_json_token();
    switch (token.empty() ? '\0' : token[0]) {
      case '{':
        return ReadObject(value, depth + 1);
      case '[':
        return ReadArray(value, depth + 1);
      case '"': {
        const size_t at = OffsetOf(value);
        DI_ASSIGN_OR_RETURN(std::string text, ReadString(value.get_string(), at));
        return Value(std::move(text));
      }
      default:
        return ReadScalar(token);
    }
  }

  Result<Value> ReadObject(ondemand::value& value, int32_t depth) {
    const size_t start = OffsetOf(value);
    DI_RETURN_IF_ERROR(CheckDepth(depth, start));
    ondemand::object object;
    simdjson::error_code error = value.get_object().get(object);
    if (error != simdjson::SUCCESS) return Fail(error);
    ObjectBuilder builder;
    for (auto element : object) {
      ondemand::field field;
      error = std::move(element).get(field);
      if (error != simdjson::SUCCESS) return Fail(error);
      const size_t key_at = OffsetOf(field.key().raw() - 1);
      DI_ASSIGN_OR_RETURN(std::string key, ReadString(field.unescaped_key(), key_at));
      DI_ASSIGN_OR_RETURN(Value member, ReadValue(field.value(), depth));
      builder.Add(std::move(key), std::move(member));
    }
    Result<Value> built = std::move(builder).Finish(limits_.duplicate_keys);
    if (!built.ok())
      return At(start, StrCat("in the object that starts here, ", built.status().message()));
    return built;
  }

  Result<Value> ReadArray(ondemand::value& value, int32_t depth) {
    DI_RETURN_IF_ERROR(CheckDepth(depth, OffsetOf(value)));
    ondemand::array array;
    simdjson::error_code error = value.get_array().get(array);
    if (error != simdjson::SUCCESS) return Fail(error);
    std::vector<Value> items;
    for (auto element : array) {
      ondemand::value item;
      error = element.get(item);
      if (error != simdjson::SUCCESS) return Fail(error);
      DI_ASSIGN_OR_RETURN(Value read, ReadValue(item, depth));
      items.push_back(std::move(read));
    }
    return Value(std::move(items));
  }

  Result<std::string> ReadString(simdjson::simdjson_result<std::string_view> unescaped, size_t at) {
    std::string_view text;
    if (std::move(unescaped).get(text) != simdjson::SUCCESS) {
      return At(at, "expected a string with valid escapes");
    }
    // The text itself is UTF-8 (stage one saw to it); an escape can still smuggle in half a
    // surrogate pair.
    if (text.find('\xed') != std::string_view::npos && !IsValidUtf8(text)) {
      return At(at, "expected surrogate escapes in pairs, got half a pair");
    }
    return std::string(text);
  }

  // A token runs to the next token and so includes white space behind it.
  Result<Value> ReadScalar(std::string_view token) {
    const size_t at = OffsetOf(token.data());
    while (!token.empty() && IsJsonSpace(token.back())) token.remove_suffix(1);
    if (token == "true") return Value(true);
    if (token == "false") return Value(false);
    if (token == "null") return Value();
    if (IsNumber(token) || (limits_.allow_nan && IsNonFinite(token))) {
      return Value::NumberFromText(std::string(token));
    }
    if (token.empty() || token == "]") return At(at, "expected a value, got the end of the text");
    return At(at, StrCat("expected a value, got ", Quoted(token, 20)));
  }

  Status CheckDepth(int32_t depth, size_t at) const {
    if (depth <= limits_.max_depth) return OkStatus();
    return At(at, StrCat("nested deeper than ", limits_.max_depth, " levels"));
  }

  size_t OffsetOf(const char* position) const {
    const ptrdiff_t offset = position - (buffer_.get() + kBracket);
    return static_cast<size_t>(
        std::clamp<ptrdiff_t>(offset, 0, static_cast<ptrdiff_t>(text_.size())));
  }
  size_t OffsetOf(ondemand::value& value) const { return OffsetOf(value.raw_json_token().data()); }

  static Status At(size_t offset, std::string_view what) {
    return InvalidArgument(StrCat("at byte ", offset, ": ", what));
  }

  // An error of the walk: On-Demand stands on or just behind the token that it did not like.
  Status Fail(simdjson::error_code error) {
    const char* location = nullptr;
    size_t offset = text_.size();
    if (document_->current_location().get(location) == simdjson::SUCCESS)
      offset = OffsetOf(location);
    if (offset == text_.size()) return At(offset, "expected more, got the end of the text");
    if (error == simdjson::TRAILING_CONTENT) {
      return At(offset,
                StrCat("expected the end of the text, got ", Quoted(text_.substr(offset), 20)));
    }
    return At(offset, StrCat("expected a comma, colon, key or closing bracket near ",
                             Quoted(text_.substr(offset), 20)));
  }

  // Errors of the first pass over all bytes carry no position: find it again, slowly.
  Status StageOneError(simdjson::error_code error) const {
    const size_t invalid = FirstInvalidUtf8(text_);
    if (invalid < text_.size()) return At(invalid, "expected UTF-8");
    bool in_string = false;
    size_t opened = 0;
    for (size_t i = 0; i < text_.size(); ++i) {
      const char c = text_[i];
      if (in_string && static_cast<uint8_t>(c) < 0x20) {
        return At(i, "expected control characters in strings to be escaped");
      }
      if (in_string && c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = !in_string;
        opened = i;
      }
    }
    if (in_string) return At(opened, "expected this string to be closed");
    return At(0, StrCat("not JSON: ", simdjson::error_message(error)));
  }

  std::string_view text_;
  const Limits& limits_;
  std::unique_ptr<char[]> buffer_;
  ondemand::document* document_ = nullptr;
};

}  // namespace

Result<Value> Parse(std::string_view text, const Limits& limits) {
  const size_t max_bytes = std::min(limits.max_bytes, kMaxBytes);
  if (text.size() > max_bytes) {
    return InvalidArgument(
        StrCat("expected at most ", max_bytes, " bytes of JSON, got ", text.size()));
  }
  return Reader(text, limits).Run();
}

}  // namespace deepinfer::json
