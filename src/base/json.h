// JSON: values, a strict reader, a path-aware way to take values apart, and a writer.
//
//   json::Parse(text)         -> Value             outside bytes in; refuses with a byte offset
//   json::Cursor(value)       -> typed access      refuses with the path: "text_config.hidden_size:
//   ..." json::Write(value)        -> text              equal to Python's json.dumps where it
//   matters
//
// This is the only JSON in the code base; the parser underneath (simdjson) appears in json_parse.cc
// alone.
//
// Threading: values; thread-compatible.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "deepinfer/status.h"

namespace deepinfer::json {

struct Member;

enum class Type : uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };

// "null", "a boolean", "a number", "a string", "an array", "an object".
std::string_view TypeName(Type type);

// Whether a repeated key in one object refuses the text, or overwrites the value and keeps the
// place of the first (what Python's json.loads does).
enum class DuplicateKeys : uint8_t { kRefuse, kLastWins };

// What Parse accepts.
struct Limits {
  size_t max_bytes = size_t{256} << 20;  // of the text; at most 4 GiB - 256
  int32_t max_depth = 128;               // nested arrays and objects; `[]` has depth 1, `1` depth 0
  DuplicateKeys duplicate_keys = DuplicateKeys::kRefuse;
  bool allow_nan = false;  // also NaN, Infinity and -Infinity as numbers, as Python does
};

// One JSON value.
//
// A number keeps the text it was made from, so 64-bit integers, 1.0 and 1e2 survive a round trip;
// numbers made from a double get Python's shortest repr.  An object keeps the order in which keys
// were first set and has no key twice; look-ups cost O(log n) in the worst case, whoever chose the
// keys.
//
// Ownership: a value owns everything below it; copies are deep.
// Threading: thread-compatible.
// Invariant: strings made by Parse are valid UTF-8.
class Value {
 public:
  // Bodies stand below Member: clang wants to see it whole.
  Value();                          // null
  Value(std::nullptr_t);            // NOLINT: implicit on purpose, like the rest
  Value(std::string text);          // NOLINT
  Value(std::string_view text);     // NOLINT
  Value(const char* text);          // NOLINT
  Value(std::vector<Value> items);  // NOLINT
  template <std::same_as<bool> T>
  Value(T value);  // NOLINT
  template <std::floating_point T>
  Value(T value);  // NOLINT
  template <std::integral T>
  requires(!std::same_as<T, bool>) Value(T value);  // NOLINT
  Value(const Value&);
  Value(Value&&) noexcept;
  Value& operator=(const Value&);
  Value& operator=(Value&&) noexcept;
  ~Value();

  static Value Array();
  static Value Object();
  // Later members win over earlier ones of the same key.
  static Value Object(std::initializer_list<std::pair<std::string_view, Value>> members);
  // A number with exactly this text.  Refused unless it is a JSON number, NaN, Infinity or
  // -Infinity.
  static Result<Value> NumberFromText(std::string text);

  Type type() const { return static_cast<Type>(data_.index()); }
  bool is_null() const { return type() == Type::kNull; }
  bool is_bool() const { return type() == Type::kBool; }
  bool is_number() const { return type() == Type::kNumber; }
  bool is_string() const { return type() == Type::kString; }
  bool is_array() const { return type() == Type::kArray; }
  bool is_object() const { return type() == Type::kObject; }
  // A number without fraction and exponent: -1, 18446744073709551616; not 1.0.
  bool is_integer() const;

  // Typed access.  The wrong type or range is kInvalidArgument: `expected an integer, got "x"`.
  Result<bool> AsBool() const;
  Result<int32_t> AsInt32() const;
  Result<int64_t> AsInt64() const;    // integers only: 1.0 is refused
  Result<uint64_t> AsUint64() const;  // integers only
  Result<double> AsDouble() const;    // any number; the nearest double; refused beyond the range
  Result<std::string_view> AsString() const;  // valid while this value is neither changed nor gone
  // The text of a number, as parsed.  Requires is_number().
  const std::string& number_text() const;

  // Arrays.  Requires is_array().
  const std::vector<Value>& items() const;
  std::vector<Value>& items();
  Value& Append(Value item);  // the new item

  // Objects.  Requires is_object(), except Find, which finds nothing in anything else.
  const std::vector<Member>& members() const;     // in order
  const Value* Find(std::string_view key) const;  // null when absent; valid until the next change
  Value* Find(std::string_view key);
  // Adds or overwrites (keeping the place).  O(log n), plus moving n small integers when the object
  // is large and the key does not sort last.
  Value& Set(std::string key, Value value);
  bool Remove(std::string_view key);  // whether it was there; O(n)

  // Items of an array, members of an object, otherwise 0.
  size_t size() const;

  // Deep equality; members in any order, numbers by their text.
  friend bool operator==(const Value& a, const Value& b) { return a.Equals(b); }

  // A short piece of JSON for messages: `"x"`, `3.5`, `an array of 3`.
  std::string Brief() const;

 private:
  friend class ObjectBuilder;
  struct Number {
    std::string text;
  };
  struct ObjectData {
    std::vector<Member> members;
    std::vector<uint32_t> by_key;  // positions sorted by key; empty while the object is small
  };

  static Value FromDouble(double value);
  static std::string FormatInt(int64_t value);
  static std::string FormatUint(uint64_t value);
  static void BuildIndex(ObjectData& object);
  static std::optional<size_t> PositionOf(const ObjectData& object, std::string_view key);
  bool Equals(const Value& other) const;
  const ObjectData& object() const;
  ObjectData& object();

  std::variant<std::monostate, bool, Number, std::string, std::vector<Value>, ObjectData> data_;
};

// One key and its value.
struct Member {
  std::string key;
  Value value;
};

inline Value::Value() = default;
inline Value::Value(std::nullptr_t) {}
inline Value::Value(std::string text) : data_(std::move(text)) {}
inline Value::Value(std::string_view text) : data_(std::string(text)) {}
inline Value::Value(const char* text) : data_(std::string(text)) {}
inline Value::Value(std::vector<Value> items) : data_(std::move(items)) {}
template <std::same_as<bool> T>
Value::Value(T value) : data_(value) {}
template <std::floating_point T>
Value::Value(T value) : Value(FromDouble(static_cast<double>(value))) {}
template <std::integral T>
requires(!std::same_as<T, bool>) Value::Value(T value) {
  if constexpr (std::is_signed_v<T>) {
    data_ = Number{FormatInt(static_cast<int64_t>(value))};
  } else {
    data_ = Number{FormatUint(static_cast<uint64_t>(value))};
  }
}
inline Value::Value(const Value&) = default;
inline Value::Value(Value&&) noexcept = default;
inline Value& Value::operator=(const Value&) = default;
inline Value& Value::operator=(Value&&) noexcept = default;
inline Value::~Value() = default;
inline Value Value::Array() { return Value(std::vector<Value>()); }

// Collects the members of a large object in O(n log n), detecting repeated keys at the end.
class ObjectBuilder {
 public:
  void Add(std::string key, Value value);  // any order, repeats allowed until Finish
  // The object.  With kRefuse a repeated key is kInvalidArgument: `key "a" occurs twice`.
  Result<Value> Finish(DuplicateKeys duplicates) &&;

 private:
  Value::ObjectData object_;
};

// Reads exactly one value.  Strict RFC 8259: no BOM, comments, trailing commas or text behind,
// valid UTF-8 only, no lone surrogate escapes.  A refusal is kInvalidArgument and names the byte
// offset. Linear time and memory in the size of the text, whatever the text.
Result<Value> Parse(std::string_view text, const Limits& limits = {});

// A value together with its path from the root, so that a refusal can say where: "layers[3].name:
// ...".
//
// Ownership: borrows the Value, which must outlive it unchanged.  Threading: thread-compatible.
class Cursor {
 public:
  // `path` is what the root is called in messages; usually empty, a file name or a field name.
  explicit Cursor(const Value& value, std::string path = "")
      : value_(&value), path_(std::move(path)) {}

  const Value& value() const { return *value_; }
  const std::string& path() const { return path_; }

  // The member `key`; refused when this is no object or has no such member.
  Result<Cursor> Get(std::string_view key) const;
  // The member `key`, or nothing when it is absent or null; refused when this is no object.
  Result<std::optional<Cursor>> Find(std::string_view key) const;
  // The items of an array, or the values of an object, with their paths.
  Result<std::vector<Cursor>> Items() const;
  Result<std::vector<std::pair<std::string_view, Cursor>>> Members() const;

  // This value as T: bool, int32_t, int64_t, uint64_t, double, std::string, or std::vector of one
  // of them.
  template <typename T>
  Result<T> As() const;

  // The member `key` as T; refused when absent.
  template <typename T>
  Result<T> Read(std::string_view key) const {
    DI_ASSIGN_OR_RETURN(const Cursor member, Get(key));
    return member.As<T>();
  }
  // The member `key` as T, or `fallback` when it is absent or null.
  template <typename T>
  Result<T> ReadOr(std::string_view key, T fallback) const {
    DI_ASSIGN_OR_RETURN(const std::optional<Cursor> member, Find(key));
    if (!member.has_value()) return fallback;
    return member->template As<T>();
  }

  // kInvalidArgument "<path>: expected <what>, got <this value>".
  Status Expected(std::string_view what) const;
  // kInvalidArgument "<path>: <message>".
  Status Refuse(std::string_view message) const;

 private:
  const Value* value_;
  std::string path_;
};

template <>
Result<bool> Cursor::As() const;
template <>
Result<int32_t> Cursor::As() const;
template <>
Result<int64_t> Cursor::As() const;
template <>
Result<uint64_t> Cursor::As() const;
template <>
Result<double> Cursor::As() const;
template <>
Result<std::string> Cursor::As() const;
template <>
Result<std::vector<int32_t>> Cursor::As() const;
template <>
Result<std::vector<int64_t>> Cursor::As() const;
template <>
Result<std::vector<double>> Cursor::As() const;
template <>
Result<std::vector<std::string>> Cursor::As() const;

// How Write spells numbers.
enum class NumberStyle : uint8_t {
  kAsParsed,  // the text they were made from
  kPython,    // as json.dumps(json.loads(text)): integers plain, everything else repr(float)
};

// How Write lays out a value.  The default is json.dumps(value, ensure_ascii=False) of Python, byte
// for byte, as long as numbers were not parsed from an unusual spelling (see NumberStyle).
struct WriteOptions {
  bool ensure_ascii = false;  // escape everything outside ' '..'~' as \uXXXX
  std::string_view item_separator = ", ";
  std::string_view key_separator = ": ";
  int32_t indent =
      -1;  // >= 0: one item a line, as Python's indent (trailing blanks of the separator cut)
  bool sort_keys = false;  // by code point
  NumberStyle numbers = NumberStyle::kAsParsed;
};

// No spaces at all; for wire formats.
inline constexpr WriteOptions kCompact = {.item_separator = ",", .key_separator = ":"};

// The text of a value.  Bytes that are not UTF-8 (only possible in strings not made by Parse) come
// out as U+FFFD each.
std::string Write(const Value& value, const WriteOptions& options = {});

// One string with its quotes.
std::string WriteString(std::string_view text, const WriteOptions& options = {});

// Python's repr(float): shortest digits that read back the same; 0.1, 1e+16, 1e-05, 1.0; json's
// NaN, Infinity and -Infinity.
std::string FormatDouble(double value);

}  // namespace deepinfer::json
