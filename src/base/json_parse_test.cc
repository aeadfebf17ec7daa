#include <gtest/gtest.h>

#include <chrono>

#include "base/json.h"
#include "base/strings.h"

namespace deepinfer::json {
namespace {

std::string ErrorOf(std::string_view text, const Limits& limits = {}) {
  const Result<Value> result = Parse(text, limits);
  return result.ok() ? "accepted" : result.status().message();
}

TEST(JsonParse, EveryKindOfRoot) {
  EXPECT_TRUE(Parse("null")->is_null());
  EXPECT_TRUE(*Parse(" true ")->AsBool());
  EXPECT_FALSE(*Parse("\tfalse\r\n")->AsBool());
  EXPECT_EQ(*Parse("-12.5e-1")->AsDouble(), -1.25);
  EXPECT_EQ(*Parse(R"("a\"b")")->AsString(), "a\"b");
  EXPECT_EQ(Parse("[]")->size(), 0u);
  EXPECT_EQ(Parse("{}")->size(), 0u);
  EXPECT_EQ(Parse(R"([{"a":[[],{}]},null,1])")->size(), 3u);
}

TEST(JsonParse, StringEscapesBecomeUtf8) {
  EXPECT_EQ(*Parse(R"("\u00e9\ud83d\ude00\n\/\u0000x")")->AsString(),
            std::string_view("\xc3\xa9\xf0\x9f\x98\x80\n/\0x", 10));
  EXPECT_EQ(*Parse("\"\xe4\xb8\xad\xed\x9f\xbf\"")->AsString(), "\xe4\xb8\xad\xed\x9f\xbf");
}

TEST(JsonParse, RefusesWhatTheGrammarForbids) {
  for (const std::string_view text : {"",
                                      " ",
                                      "[",
                                      "]",
                                      "{",
                                      "}",
                                      "[1",
                                      "[1,",
                                      "[1,]",
                                      "[,1]",
                                      "[1 2]",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{\"a\":1,}",
                                      "{,}",
                                      "{a:1}",
                                      "{1:1}",
                                      "{\"a\" 1}",
                                      "{\"a\":1 \"b\":2}",
                                      "1 2",
                                      "1,2",
                                      "[1]]",
                                      "[]1",
                                      "[],[]",
                                      "][",
                                      "1],[2",
                                      "{}{}",
                                      "tru",
                                      "truee",
                                      "nul",
                                      "True",
                                      "None",
                                      "'a'",
                                      "\"a",
                                      "a\"",
                                      "\"a\"b",
                                      "\"\\x\"",
                                      "\"\\u12\"",
                                      "\"\\",
                                      "01",
                                      "+1",
                                      "1.",
                                      ".5",
                                      "1e",
                                      "1e+",
                                      "--1",
                                      "0x10",
                                      "1_0",
                                      "-",
                                      "NaN",
                                      "Infinity",
                                      "-Infinity",
                                      "nan",
                                      "[1,2",
                                      "{\"a\":[1,{\"b\":2}",
                                      "// c\n1",
                                      "[1]//",
                                      "\"\n\"",
                                      "\"\t\"",
                                      "\xef\xbb\xbf{}",
                                      "\"\xff\"",
                                      "\xff",
                                      "[\"\xc0\x80\"]",
                                      "\"\xed\xa0\x80\"",
                                      "\"\xf4\x90\x80\x80\"",
                                      R"("\ud800")",
                                      R"("\udc00")",
                                      R"("\ud800\ud800")",
                                      R"("\ud83dx")",
                                      R"({"\udc00":1})",
                                      "[\"a\":1]",
                                      "{\"a\",1}",
                                      "[1}",
                                      "{\"a\":1]",
                                      "\x00"}) {
    EXPECT_FALSE(Parse(text).ok()) << Quoted(text);
  }
  EXPECT_FALSE(Parse(std::string_view("1\0", 2)).ok());
  EXPECT_FALSE(Parse(std::string_view("\0", 1)).ok());
}

TEST(JsonParse, RefusalNamesTheByte) {
  EXPECT_EQ(ErrorOf("[1, xyz]"), "at byte 4: expected a value, got \"xyz\"");
  EXPECT_EQ(ErrorOf("{\"a\": 01}"), "at byte 6: expected a value, got \"01\"");
  EXPECT_EQ(ErrorOf("12 13"),
            "at byte 3: expected a comma, colon, key or closing bracket near \"13\"");
  EXPECT_EQ(ErrorOf("[1] [2]"),
            "at byte 4: expected a comma, colon, key or closing bracket near \"[2]\"");
  EXPECT_EQ(ErrorOf("[1], 2"), "at byte 5: expected the end of the text, got another value");
  EXPECT_EQ(ErrorOf("{\"abc\": \"d"), "at byte 8: expected this string to be closed");
  EXPECT_EQ(ErrorOf("[\"a\xff\"]"), "at byte 3: expected UTF-8");
  EXPECT_EQ(ErrorOf("[\"a\n\"]"),
            "at byte 3: expected control characters in strings to be escaped");
  EXPECT_EQ(ErrorOf("[0, \"\\ud800\"]"), "at byte 4: expected a string with valid escapes");
  EXPECT_EQ(ErrorOf("[1,2"), "at byte 4: expected more, got the end of the text");
  EXPECT_EQ(ErrorOf(""), "at byte 0: expected a value, got nothing");
}

TEST(JsonParse, NonFiniteNumbersOnRequestOnly) {
  const Limits limits = {.allow_nan = true};
  EXPECT_EQ(Write(*Parse("[NaN, Infinity, -Infinity]", limits)), "[NaN, Infinity, -Infinity]");
  EXPECT_FALSE(Parse("[nan]", limits).ok());
  EXPECT_EQ(ErrorOf("[NaN]"), "at byte 1: expected a value, got \"NaN\"");
}

TEST(JsonParse, RepeatedKeysAreRefusedOrTheLastWins) {
  EXPECT_EQ(ErrorOf(R"([{"a":1,"b":2,"a":3}])"),
            "at byte 1: in the object that starts here, key \"a\" occurs twice");
  EXPECT_FALSE(Parse(R"({"a":1,"\u0061":2})").ok());
  const Limits lenient = {.duplicate_keys = DuplicateKeys::kLastWins};
  EXPECT_EQ(Write(*Parse(R"({"a":1,"b":2,"a":3,"a":4})", lenient)), R"({"a": 4, "b": 2})");
}

TEST(JsonParse, RepeatedKeysInALargeObject) {
  std::string text = "{";
  for (int32_t i = 0; i < 100; ++i) text += StrCat("\"", i % 50, "\":", i, ",");
  text += "\"x\":0}";
  EXPECT_FALSE(Parse(text).ok());
  const Value value = *Parse(text, {.duplicate_keys = DuplicateKeys::kLastWins});
  EXPECT_EQ(value.size(), 51u);
  EXPECT_EQ(value.members()[49].key, "49");
  for (int32_t i = 0; i < 50; ++i) ASSERT_EQ(*value.Find(StrCat(i))->AsInt32(), 50 + i);
}

TEST(JsonParse, DepthLimitIsExact) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(Parse(nested(128)).ok());
  EXPECT_EQ(ErrorOf(nested(129)), "at byte 128: nested deeper than 128 levels");
  EXPECT_FALSE(Parse(std::string(1'000'000, '[')).ok());
  std::string objects;
  for (int32_t i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_FALSE(Parse(objects).ok());
  EXPECT_TRUE(Parse("1", {.max_depth = 0}).ok());
  EXPECT_FALSE(Parse("[]", {.max_depth = 0}).ok());
}

TEST(JsonParse, SizeLimit) {
  EXPECT_TRUE(Parse("[1]", {.max_bytes = 3}).ok());
  EXPECT_EQ(ErrorOf("[10]", {.max_bytes = 3}), "expected at most 3 bytes of JSON, got 4");
}

TEST(JsonParse, HundredThousandKeysTakeLinearTime) {
  std::string text = "{";
  for (int32_t i = 0; i < 100'000; ++i)
    text += StrCat("\"layers.", i, ".weight\":{\"n\":[", i, ",2]},");
  text += "\"end\":0}";
  const auto start = std::chrono::steady_clock::now();
  const Value value = *Parse(text);
  for (int32_t i = 0; i < 100'000; ++i) {
    ASSERT_NE(value.Find(StrCat("layers.", i, ".weight")), nullptr);
  }
  // A quadratic reader needs minutes; ours about 0.1 s.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

}  // namespace
}  // namespace deepinfer::json
