#include "base/json.h"
#include "base/strings.h"

namespace deepinfer::json {
namespace {

bool IsPlainKey(std::string_view key) {
  if (key.empty() || key.size() > 100) return false;
  for (const char c : key) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-';
    if (!plain) return false;
  }
  return true;
}

// a + b -> a.b ; a + "b c" -> a["b c"]
std::string JoinPath(const std::string& path, std::string_view key) {
  if (!IsPlainKey(key)) return StrCat(path, "[", Quoted(key), "]");
  return path.empty() ? std::string(key) : StrCat(path, ".", key);
}

Status WithPath(const std::string& path, const Status& status) {
  return path.empty() ? status : status.WithContext(path);
}

template <typename T>
Result<std::vector<T>> ListOf(const Cursor& cursor) {
  DI_ASSIGN_OR_RETURN(const std::vector<Cursor> items, cursor.Items());
  std::vector<T> out;
  out.reserve(items.size());
  for (const Cursor& item : items) {
    DI_ASSIGN_OR_RETURN(T value, item.As<T>());
    out.push_back(std::move(value));
  }
  return out;
}

template <typename T>
Result<T> Located(const std::string& path, Result<T> result) {
  if (!result.ok()) return WithPath(path, result.status());
  return result;
}

}  // namespace

Status Cursor::Expected(std::string_view what) const {
  return Refuse(StrCat("expected ", what, ", got ", value_->Brief()));
}

Status Cursor::Refuse(std::string_view message) const {
  return WithPath(path_, InvalidArgument(std::string(message)));
}

Result<Cursor> Cursor::Get(std::string_view key) const {
  if (!value_->is_object()) return Expected("an object");
  const Value* member = value_->Find(key);
  std::string path = JoinPath(path_, key);
  if (member == nullptr) return InvalidArgument(StrCat(path, ": expected a value, got none"));
  return Cursor(*member, std::move(path));
}

Result<std::optional<Cursor>> Cursor::Find(std::string_view key) const {
  if (!value_->is_object()) return Expected("an object");
  const Value* member = value_->Find(key);
  if (member == nullptr || member->is_null()) return std::optional<Cursor>();
  return std::optional<Cursor>(Cursor(*member, JoinPath(path_, key)));
}

Result<std::vector<Cursor>> Cursor::Items() const {
  if (!value_->is_array()) return Expected("an array");
  std::vector<Cursor> out;
  out.reserve(value_->size());
  for (size_t i = 0; i < value_->size(); ++i) {
    out.emplace_back(value_->items()[i], StrCat(path_, "[", i, "]"));
  }
  return out;
}

Result<std::vector<std::pair<std::string_view, Cursor>>> Cursor::Members() const {
  if (!value_->is_object()) return Expected("an object");
  std::vector<std::pair<std::string_view, Cursor>> out;
  out.reserve(value_->size());
  for (const Member& member : value_->members()) {
    out.emplace_back(member.key, Cursor(member.value, JoinPath(path_, member.key)));
  }
  return out;
}

template <>
Result<bool> Cursor::As() const {
  return Located(path_, value_->AsBool());
}
template <>
Result<int32_t> Cursor::As() const {
  return Located(path_, value_->AsInt32());
}
template <>
Result<int64_t> Cursor::As() const {
  return Located(path_, value_->AsInt64());
}
template <>
Result<uint64_t> Cursor::As() const {
  return Located(path_, value_->AsUint64());
}
template <>
Result<double> Cursor::As() const {
  return Located(path_, value_->AsDouble());
}
template <>
Result<std::string> Cursor::As() const {
  DI_ASSIGN_OR_RETURN(const std::string_view text, Located(path_, value_->AsString()));
  return std::string(text);
}
template <>
Result<std::vector<int32_t>> Cursor::As() const {
  return ListOf<int32_t>(*this);
}
template <>
Result<std::vector<int64_t>> Cursor::As() const {
  return ListOf<int64_t>(*this);
}
template <>
Result<std::vector<double>> Cursor::As() const {
  return ListOf<double>(*this);
}
template <>
Result<std::vector<std::string>> Cursor::As() const {
  return ListOf<std::string>(*this);
}

}  // namespace deepinfer::json
