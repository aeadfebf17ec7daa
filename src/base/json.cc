#include "base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/check.h"
#include "base/json_number.h"
#include "base/strings.h"

namespace deepinfer::json {
namespace {

// Below this many members a linear scan beats the index.
constexpr size_t kIndexFrom = 16;

template <typename T>
Result<T> ParseInteger(const Value& value, std::string_view what) {
  const auto refuse = [&] {
    return InvalidArgument(StrCat("expected ", what, ", got ", value.Brief()));
  };
  if (!value.is_integer()) return refuse();
  const std::string& text = value.number_text();
  T parsed = 0;
  if (text == "-0") return parsed;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error != std::errc() || end != text.data() + text.size()) return refuse();
  return parsed;
}

}  // namespace

std::string_view TypeName(Type type) {
  constexpr std::string_view kNames[] = {"null",     "a boolean", "a number",
                                         "a string", "an array",  "an object"};
  return kNames[static_cast<size_t>(type)];
}

Value Value::Object() {
  Value value;
  value.data_ = ObjectData();
  return value;
}

Value Value::Object(std::initializer_list<std::pair<std::string_view, Value>> members) {
  Value value = Object();
  for (const auto& [key, member] : members) value.Set(std::string(key), member);
  return value;
}

Result<Value> Value::NumberFromText(std::string text) {
  if (!IsNumber(text) && !IsNonFinite(text)) {
    return InvalidArgument(StrCat("expected a JSON number, got ", Quoted(text)));
  }
  Value value;
  value.data_ = Number{std::move(text)};
  return value;
}

Value Value::FromDouble(double number) {
  Value value;
  value.data_ = Number{FormatDouble(number)};
  return value;
}

std::string Value::FormatInt(int64_t value) { return StrCat(value); }
std::string Value::FormatUint(uint64_t value) { return StrCat(value); }

bool Value::is_integer() const {
  return is_number() && number_text().find_first_not_of("-0123456789") == std::string::npos;
}

Result<bool> Value::AsBool() const {
  if (!is_bool()) return InvalidArgument(StrCat("expected a boolean, got ", Brief()));
  return std::get<bool>(data_);
}

Result<int32_t> Value::AsInt32() const { return ParseInteger<int32_t>(*this, "a 32-bit integer"); }

Result<int64_t> Value::AsInt64() const {
  return ParseInteger<int64_t>(*this, is_integer() ? "a 64-bit integer" : "an integer");
}

Result<uint64_t> Value::AsUint64() const {
  return ParseInteger<uint64_t>(*this, is_integer() ? "an unsigned 64-bit integer" : "an integer");
}

Result<double> Value::AsDouble() const {
  if (!is_number()) return InvalidArgument(StrCat("expected a number, got ", Brief()));
  const std::string& text = number_text();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  const std::optional<double> parsed = ToDouble(text);
  if (!parsed.has_value()) {
    return InvalidArgument(StrCat("expected a number within the range of a double, got ", Brief()));
  }
  return *parsed;
}

Result<std::string_view> Value::AsString() const {
  if (!is_string()) return InvalidArgument(StrCat("expected a string, got ", Brief()));
  return std::string_view(std::get<std::string>(data_));
}

const std::string& Value::number_text() const {
  DI_CHECK(is_number(), "type=", TypeName(type()));
  return std::get<Number>(data_).text;
}

const std::vector<Value>& Value::items() const {
  DI_CHECK(is_array(), "type=", TypeName(type()));
  return std::get<std::vector<Value>>(data_);
}

std::vector<Value>& Value::items() {
  DI_CHECK(is_array(), "type=", TypeName(type()));
  return std::get<std::vector<Value>>(data_);
}

Value& Value::Append(Value item) { return items().emplace_back(std::move(item)); }

const Value::ObjectData& Value::object() const {
  DI_CHECK(is_object(), "type=", TypeName(type()));
  return std::get<ObjectData>(data_);
}

Value::ObjectData& Value::object() {
  DI_CHECK(is_object(), "type=", TypeName(type()));
  return std::get<ObjectData>(data_);
}

const std::vector<Member>& Value::members() const { return object().members; }

std::optional<size_t> Value::PositionOf(const ObjectData& object, std::string_view key) {
  if (object.by_key.empty()) {
    for (size_t i = 0; i < object.members.size(); ++i) {
      if (object.members[i].key == key) return i;
    }
    return std::nullopt;
  }
  const auto at = std::lower_bound(
      object.by_key.begin(), object.by_key.end(), key,
      [&](uint32_t position, std::string_view k) { return object.members[position].key < k; });
  if (at == object.by_key.end() || object.members[*at].key != key) return std::nullopt;
  return *at;
}

void Value::BuildIndex(ObjectData& object) {
  object.by_key.clear();
  if (object.members.size() < kIndexFrom) return;
  object.by_key.resize(object.members.size());
  for (size_t i = 0; i < object.by_key.size(); ++i) object.by_key[i] = static_cast<uint32_t>(i);
  const auto less = [&](uint32_t a, uint32_t b) {
    const int32_t order = object.members[a].key.compare(object.members[b].key);
    return order != 0 ? order < 0 : a < b;
  };
  // Files often list their keys in order already.
  if (!std::is_sorted(object.by_key.begin(), object.by_key.end(), less)) {
    std::sort(object.by_key.begin(), object.by_key.end(), less);
  }
}

const Value* Value::Find(std::string_view key) const {
  if (!is_object()) return nullptr;
  const ObjectData& data = object();
  const std::optional<size_t> at = PositionOf(data, key);
  return at.has_value() ? &data.members[*at].value : nullptr;
}

Value* Value::Find(std::string_view key) {
  return const_cast<Value*>(static_cast<const Value*>(this)->Find(key));
}

Value& Value::Set(std::string key, Value value) {
  ObjectData& data = object();
  if (const std::optional<size_t> at = PositionOf(data, key)) {
    data.members[*at].value = std::move(value);
    return data.members[*at].value;
  }
  const auto position = static_cast<uint32_t>(data.members.size());
  data.members.push_back({std::move(key), std::move(value)});
  if (data.by_key.empty()) {
    BuildIndex(data);
  } else {
    const std::string& added = data.members.back().key;
    const auto at =
        std::lower_bound(data.by_key.begin(), data.by_key.end(), added,
                         [&](uint32_t p, const std::string& k) { return data.members[p].key < k; });
    data.by_key.insert(at, position);
  }
  return data.members.back().value;
}

bool Value::Remove(std::string_view key) {
  ObjectData& data = object();
  const std::optional<size_t> at = PositionOf(data, key);
  if (!at.has_value()) return false;
  data.members.erase(data.members.begin() + static_cast<ptrdiff_t>(*at));
  BuildIndex(data);
  return true;
}

size_t Value::size() const {
  if (is_array()) return items().size();
  if (is_object()) return members().size();
  return 0;
}

bool Value::Equals(const Value& other) const {
  if (type() != other.type()) return false;
  switch (type()) {
    case Type::kNull:
      return true;
    case Type::kBool:
      return std::get<bool>(data_) == std::get<bool>(other.data_);
    case Type::kNumber:
      return number_text() == other.number_text();
    case Type::kString:
      return std::get<std::string>(data_) == std::get<std::string>(other.data_);
    case Type::kArray:
      return items() == other.items();
    case Type::kObject:
      break;
  }
  if (size() != other.size()) return false;
  return std::all_of(members().begin(), members().end(), [&](const Member& member) {
    const Value* theirs = other.Find(member.key);
    return theirs != nullptr && *theirs == member.value;
  });
}

std::string Value::Brief() const {
  switch (type()) {
    case Type::kNull:
      return "null";
    case Type::kBool:
      return std::get<bool>(data_) ? "true" : "false";
    case Type::kNumber:
      return number_text().size() <= 40 ? number_text() : number_text().substr(0, 40) + "...";
    case Type::kString:
      return Quoted(std::get<std::string>(data_));
    case Type::kArray:
      return StrCat("an array of ", size());
    case Type::kObject:
      return StrCat("an object of ", size());
  }
  return "";
}

void ObjectBuilder::Add(std::string key, Value value) {
  object_.members.push_back({std::move(key), std::move(value)});
}

Result<Value> ObjectBuilder::Finish(DuplicateKeys duplicates) && {
  if (object_.members.size() > std::numeric_limits<uint32_t>::max()) {
    return InvalidArgument("expected fewer than 2^32 members in one object");
  }
  std::vector<Member>& members = object_.members;
  Value::BuildIndex(object_);
  std::vector<uint32_t> order = object_.by_key;
  if (order.empty()) {
    for (uint32_t i = 0; i < members.size(); ++i) order.push_back(i);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return members[a].key != members[b].key ? members[a].key < members[b].key : a < b;
    });
  }
  // Runs of one key stand together, in order of appearance: the first keeps the place.
  std::vector<bool> repeated;
  for (size_t i = 1, first = 0; i < order.size(); ++i) {
    if (members[order[i]].key != members[order[first]].key) {
      first = i;
      continue;
    }
    if (duplicates == DuplicateKeys::kRefuse) {
      return InvalidArgument(StrCat("key ", Quoted(members[order[i]].key), " occurs twice"));
    }
    repeated.resize(members.size(), false);
    repeated[order[i]] = true;
    members[order[first]].value = std::move(members[order[i]].value);
  }
  if (!repeated.empty()) {
    size_t kept = 0;
    for (size_t i = 0; i < members.size(); ++i) {
      if (repeated[i]) continue;
      if (kept != i) members[kept] = std::move(members[i]);
      ++kept;
    }
    members.resize(kept);
    Value::BuildIndex(object_);
  }
  Value value;
  value.data_ = std::move(object_);
  return value;
}

}  // namespace deepinfer::json
