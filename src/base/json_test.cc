#include "base/json.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/strings.h"

namespace deepinfer::json {
namespace {

Value ParseOrDie(std::string_view text) { return *Parse(text); }

TEST(JsonValue, NumbersKeepTextAndConvertExactly) {
  EXPECT_EQ(*ParseOrDie("-9223372036854775808").AsInt64(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(*ParseOrDie("18446744073709551615").AsUint64(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(*ParseOrDie("1e2").AsDouble(), 100.0);
  EXPECT_EQ(*ParseOrDie("1e-400").AsDouble(), 0.0);
  EXPECT_EQ(*ParseOrDie("5e-324").AsDouble(), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(*ParseOrDie("-0").AsInt64(), 0);
  EXPECT_EQ(ParseOrDie("1.50").number_text(), "1.50");
}

TEST(JsonValue, WrongTypesAndRangesAreRefusedWithWhatCame) {
  EXPECT_EQ(Value("x").AsInt64().status().message(), "expected an integer, got \"x\"");
  EXPECT_EQ(ParseOrDie("1.0").AsInt64().status().message(), "expected an integer, got 1.0");
  EXPECT_EQ(ParseOrDie("9223372036854775808").AsInt64().status().message(),
            "expected a 64-bit integer, got 9223372036854775808");
  EXPECT_EQ(Value(-1).AsUint64().status().message(), "expected an unsigned 64-bit integer, got -1");
  EXPECT_EQ(Value(int64_t{1} << 31).AsInt32().status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseOrDie("1e999").AsDouble().status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Value(true).AsDouble().status().message(), "expected a number, got true");
  EXPECT_EQ(ParseOrDie("[1,2]").AsString().status().message(),
            "expected a string, got an array of 2");
  EXPECT_EQ(Value().AsBool().status().message(), "expected a boolean, got null");
}

TEST(JsonValue, BuiltFromCppValues) {
  EXPECT_TRUE(Value(true).is_bool());
  EXPECT_TRUE(Value("text").is_string());
  EXPECT_EQ(Value(uint64_t{18446744073709551615u}).number_text(), "18446744073709551615");
  EXPECT_EQ(Value(-3).number_text(), "-3");
  EXPECT_EQ(Value(1.0).number_text(), "1.0");
  EXPECT_FALSE(Value(1.0).is_integer());
  EXPECT_FALSE(Value::NumberFromText("01").ok());
  EXPECT_EQ(Value::NumberFromText("1E5")->number_text(), "1E5");
}

TEST(JsonValue, ObjectKeepsOrderAndOverwritesInPlace) {
  Value object = Value::Object({{"b", 1}, {"a", 2}});
  object.Set("b", 3);
  object.Set("c", Value::Array()).Append("x");
  EXPECT_EQ(Write(object), R"({"b": 3, "a": 2, "c": ["x"]})");
  EXPECT_TRUE(object.Remove("b"));
  EXPECT_FALSE(object.Remove("b"));
  EXPECT_EQ(object.Find("b"), nullptr);
  EXPECT_EQ(*object.Find("a")->AsInt64(), 2);
  EXPECT_EQ(Value(1).Find("a"), nullptr);
}

TEST(JsonValue, LargeObjectFindsEveryKeyAfterParseSetAndRemove) {
  constexpr int32_t kCount = 1000;
  std::string text = "{";
  for (int32_t i = 0; i < kCount; ++i) {
    text += StrCat(i > 0 ? "," : "", "\"k", (i * 7919) % kCount, "\":", i);
  }
  Value object = ParseOrDie(text + "}");
  for (int32_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(*object.Find(StrCat("k", (i * 7919) % kCount))->AsInt32(), i);
  }
  EXPECT_EQ(object.Find("k1000"), nullptr);
  object.Set("a", 1);
  object.Set("z", 2);
  ASSERT_TRUE(object.Remove("k500"));
  EXPECT_EQ(*object.Find("a")->AsInt32(), 1);
  EXPECT_EQ(*object.Find("z")->AsInt32(), 2);
  EXPECT_EQ(object.Find("k500"), nullptr);
  EXPECT_EQ(object.size(), 1001u);
}

TEST(JsonValue, EqualityIgnoresMemberOrder) {
  EXPECT_EQ(ParseOrDie(R"({"a":1,"b":[true,null]})"), ParseOrDie(R"({"b":[true,null],"a":1})"));
  EXPECT_FALSE(ParseOrDie("[1,2]") == ParseOrDie("[2,1]"));
  EXPECT_FALSE(ParseOrDie(R"({"a":1})") == ParseOrDie(R"({"b":1})"));
}

TEST(JsonCursor, RefusalsNameThePath) {
  const Value config = ParseOrDie(
      R"({"text_config":{"hidden_size":"x","layers":[1,2,"3"],"odd key":{"n":true}},"list":[{"a":1}]})");
  const Cursor root(config);
  const Cursor text = *root.Get("text_config");
  EXPECT_EQ(text.Read<int64_t>("hidden_size").status().message(),
            "text_config.hidden_size: expected an integer, got \"x\"");
  EXPECT_EQ(text.Read<std::vector<int64_t>>("layers").status().message(),
            "text_config.layers[2]: expected an integer, got \"3\"");
  EXPECT_EQ(text.Get("absent").status().message(),
            "text_config.absent: expected a value, got none");
  EXPECT_EQ(text.Get("odd key")->Read<double>("n").status().message(),
            "text_config[\"odd key\"].n: expected a number, got true");
  const std::vector<Cursor> list = *root.Get("list")->Items();
  EXPECT_EQ(list[0].Read<bool>("a").status().message(), "list[0].a: expected a boolean, got 1");
  EXPECT_EQ(list[0].Get("a")->Get("b").status().message(), "list[0].a: expected an object, got 1");
  EXPECT_EQ(Cursor(config, "config.json").Read<bool>("list").status().message(),
            "config.json.list: expected a boolean, got an array of 1");
}

TEST(JsonCursor, ReadOrTakesNullAsAbsentButNotAWrongType) {
  const Value value = ParseOrDie(R"({"a":null,"b":2,"c":"2"})");
  const Cursor root(value);
  EXPECT_EQ(*root.ReadOr<int32_t>("a", 7), 7);
  EXPECT_EQ(*root.ReadOr<int32_t>("b", 7), 2);
  EXPECT_EQ(*root.ReadOr<int32_t>("x", 7), 7);
  EXPECT_FALSE(root.ReadOr<int32_t>("c", 7).ok());
  EXPECT_EQ(*root.ReadOr<std::string>("c", ""), "2");
}

}  // namespace
}  // namespace deepinfer::json
