#include <algorithm>

#include "base/json.h"
#include "base/json_number.h"
#include "base/strings.h"
#include "base/utf8.h"

namespace deepinfer::json {
namespace {

void AppendUnicodeEscape(std::string& out, uint32_t unit) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += "\\u";
  for (int32_t shift = 12; shift >= 0; shift -= 4) out += kHex[unit >> shift & 0xf];
}

void AppendCodePoint(std::string& out, uint32_t code_point, bool ensure_ascii) {
  switch (code_point) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
  }
  if (code_point < 0x20 || (ensure_ascii && code_point > 0x7e && code_point < 0x10000)) {
    AppendUnicodeEscape(out, code_point);
  } else if (ensure_ascii && code_point >= 0x10000) {
    AppendUnicodeEscape(out, 0xd800 + ((code_point - 0x10000) >> 10));
    AppendUnicodeEscape(out, 0xdc00 + ((code_point - 0x10000) & 0x3ff));
  } else {
    AppendUtf8(out, code_point);
  }
}

class Writer {
 public:
  explicit Writer(const WriteOptions& options) : options_(options) {}

  void Put(const Value& value, int32_t depth) {
    switch (value.type()) {
      case Type::kNull:
        out_ += "null";
        return;
      case Type::kBool:
        out_ += *value.AsBool() ? "true" : "false";
        return;
      case Type::kNumber:
        PutNumber(value);
        return;
      case Type::kString:
        PutString(*value.AsString());
        return;
      case Type::kArray:
        PutArray(value, depth);
        return;
      case Type::kObject:
        PutObject(value, depth);
        return;
    }
  }

  void PutString(std::string_view text) {
    out_ += '"';
    size_t at = 0;
    while (at < text.size()) {
      const auto byte = static_cast<uint8_t>(text[at]);
      if (byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\') {
        out_ += static_cast<char>(byte);  // nearly every byte of nearly every text
        ++at;
        continue;
      }
      const Utf8Char next = DecodeUtf8(text, at);
      AppendCodePoint(out_, next.code_point, options_.ensure_ascii);
      at += static_cast<size_t>(next.num_bytes);
    }
    out_ += '"';
  }

  std::string Take() && { return std::move(out_); }

 private:
  void PutNumber(const Value& value) {
    const std::string& text = value.number_text();
    if (options_.numbers == NumberStyle::kAsParsed || IsNonFinite(text)) {
      out_ += text;
    } else if (value.is_integer()) {
      out_ += text == "-0" ? "0" : text;
    } else if (const std::optional<double> number = ToDouble(text)) {
      out_ += FormatDouble(*number);
    } else {
      out_ += text[0] == '-' ? "-Infinity" : "Infinity";
    }
  }

  void PutArray(const Value& value, int32_t depth) {
    out_ += '[';
    bool is_first = true;
    for (const Value& item : value.items()) {
      Separate(is_first, depth + 1);
      is_first = false;
      Put(item, depth + 1);
    }
    Close(value.size() == 0, depth);
    out_ += ']';
  }

  void PutObject(const Value& value, int32_t depth) {
    std::vector<const Member*> members;
    members.reserve(value.size());
    for (const Member& member : value.members()) members.push_back(&member);
    if (options_.sort_keys) {
      std::sort(members.begin(), members.end(),
                [](const Member* a, const Member* b) { return a->key < b->key; });
    }
    out_ += '{';
    bool is_first = true;
    for (const Member* member : members) {
      Separate(is_first, depth + 1);
      is_first = false;
      PutString(member->key);
      out_ += options_.key_separator;
      Put(member->value, depth + 1);
    }
    Close(members.empty(), depth);
    out_ += '}';
  }

  void Separate(bool is_first, int32_t depth) {
    if (options_.indent < 0) {
      if (!is_first) out_ += options_.item_separator;
      return;
    }
    if (!is_first) {
      const size_t last = options_.item_separator.find_last_not_of(' ');
      out_ += options_.item_separator.substr(0, last == std::string_view::npos ? 0 : last + 1);
    }
    NewLine(depth);
  }

  void Close(bool is_empty, int32_t depth) {
    if (options_.indent >= 0 && !is_empty) NewLine(depth);
  }

  void NewLine(int32_t depth) {
    out_ += '\n';
    out_.append(static_cast<size_t>(options_.indent) * static_cast<size_t>(depth), ' ');
  }

  const WriteOptions& options_;
  std::string out_;
};

}  // namespace

std::string Write(const Value& value, const WriteOptions& options) {
  Writer writer(options);
  writer.Put(value, 0);
  return std::move(writer).Take();
}

std::string WriteString(std::string_view text, const WriteOptions& options) {
  Writer writer(options);
  writer.PutString(text);
  return std::move(writer).Take();
}

}  // namespace deepinfer::json
