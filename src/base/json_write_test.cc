#include <gtest/gtest.h>

#include <limits>

#include "base/json.h"

namespace deepinfer::json {
namespace {

// Every expectation here is the output of CPython 3.11's json.dumps.

TEST(JsonWrite, DefaultEqualsPythonDumps) {
  const Value value = *Parse(R"({"b":[1,2.5,"x",null,true,{}],"a":{"k":[]},"é":"中\u007f\u0001"})");
  EXPECT_EQ(Write(value),
            "{\"b\": [1, 2.5, \"x\", null, true, {}], \"a\": {\"k\": []}, "
            "\"é\": \"中\x7f\\u0001\"}");
}

TEST(JsonWrite, EnsureAsciiEqualsPythonDumps) {
  const WriteOptions ascii = {.ensure_ascii = true};
  EXPECT_EQ(WriteString("é中😀\x7f~\"\\\n\r\t\b\f\x01/", ascii),
            R"("\u00e9\u4e2d\ud83d\ude00\u007f~\"\\\n\r\t\b\f\u0001/")");
  EXPECT_EQ(WriteString("é😀\x7f/"), "\"é😀\x7f/\"");
}

TEST(JsonWrite, CompactAndIndented) {
  const Value value = *Parse(R"({"a":[1,{"b":2}],"c":[],"d":{}})");
  EXPECT_EQ(Write(value, kCompact), R"({"a":[1,{"b":2}],"c":[],"d":{}})");
  EXPECT_EQ(
      Write(value, {.indent = 2}),
      "{\n  \"a\": [\n    1,\n    {\n      \"b\": 2\n    }\n  ],\n  \"c\": [],\n  \"d\": {}\n}");
}

TEST(JsonWrite, SortKeysIsByCodePoint) {
  EXPECT_EQ(Write(*Parse(R"({"b":1,"é":2,"a":3,"B":4})"), {.sort_keys = true}),
            R"({"B": 4, "a": 3, "b": 1, "é": 2})");
}

TEST(JsonWrite, DoublesAsPythonRepr) {
  EXPECT_EQ(FormatDouble(0.1), "0.1");
  EXPECT_EQ(FormatDouble(1.0), "1.0");
  EXPECT_EQ(FormatDouble(-0.0), "-0.0");
  EXPECT_EQ(FormatDouble(123456.789), "123456.789");
  EXPECT_EQ(FormatDouble(1e15), "1000000000000000.0");
  EXPECT_EQ(FormatDouble(1e16), "1e+16");
  EXPECT_EQ(FormatDouble(1.5e16), "1.5e+16");
  EXPECT_EQ(FormatDouble(123456789012345680.0), "1.2345678901234568e+17");
  EXPECT_EQ(FormatDouble(9007199254740993.0), "9007199254740992.0");
  EXPECT_EQ(FormatDouble(0.0001), "0.0001");
  EXPECT_EQ(FormatDouble(0.00001), "1e-05");
  EXPECT_EQ(FormatDouble(1.25e-7), "1.25e-07");
  EXPECT_EQ(FormatDouble(1e21), "1e+21");
  EXPECT_EQ(FormatDouble(1e100), "1e+100");
  EXPECT_EQ(FormatDouble(5e-324), "5e-324");
  EXPECT_EQ(FormatDouble(1.7976931348623157e308), "1.7976931348623157e+308");
  EXPECT_EQ(FormatDouble(2.0 / 3), "0.6666666666666666");
  EXPECT_EQ(FormatDouble(std::numeric_limits<double>::quiet_NaN()), "NaN");
  EXPECT_EQ(FormatDouble(-std::numeric_limits<double>::infinity()), "-Infinity");
}

TEST(JsonWrite, NumberStyles) {
  const Value value = *Parse("[1E5, 1.50, -0, -0.0, 100000000000000000000000, 1e999, 1e-999, 1e2]");
  EXPECT_EQ(Write(value), "[1E5, 1.50, -0, -0.0, 100000000000000000000000, 1e999, 1e-999, 1e2]");
  EXPECT_EQ(Write(value, {.numbers = NumberStyle::kPython}),
            "[100000.0, 1.5, 0, -0.0, 100000000000000000000000, Infinity, 0.0, 100.0]");
}

TEST(JsonWrite, BadUtf8BecomesReplacementCharacters) {
  EXPECT_EQ(WriteString("a\xff\xe4\xb8z"), "\"a\xef\xbf\xbd\xef\xbf\xbdz\"");
  EXPECT_EQ(WriteString("\xff", {.ensure_ascii = true}), R"("\ufffd")");
}

TEST(JsonWrite, RoundTripOfStringsWithEveryByteBelow128) {
  std::string text;
  for (char c = 0; c < 127; ++c) text += c;
  text += '\x7f';
  EXPECT_EQ(*Parse(WriteString(text))->AsString(), text);
  EXPECT_EQ(*Parse(WriteString(text, {.ensure_ascii = true}))->AsString(), text);
}

}  // namespace
}  // namespace deepinfer::json
