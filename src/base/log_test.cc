#include "base/log.h"

#include <gtest/gtest.h>

#include <vector>

namespace deepinfer {
namespace {

class LogTest : public testing::Test {
 protected:
  LogTest() {
    SetLogSink([this](LogLevel, std::string_view line) { lines_.emplace_back(line); });
  }
  ~LogTest() override {
    SetLogSink(nullptr);
    SetLogLevel(LogLevel::kWarning);
  }
  std::vector<std::string> lines_;
};

TEST_F(LogTest, OneLinePerEventWithQuotedOddValues) {
  LogWarning("disk_slow", {{"ms", 12.5},
                           {"path", "/a b"},
                           {"note", "x=\"1\"\n\x01"},
                           {"empty", ""},
                           {"ok", true},
                           {"name", "é"}});
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_EQ(lines_[0],
            "level=warning event=disk_slow ms=12.5 path=\"/a b\" note=\"x=\\\"1\\\"\\n\\x01\" "
            "empty=\"\" ok=true name=é");
}

TEST_F(LogTest, LevelDropsLinesBelow) {
  LogInfo("a");
  SetLogLevel(LogLevel::kInfo);
  LogInfo("b");
  LogDebug("c");
  SetLogLevel(LogLevel::kOff);
  LogError("d");
  EXPECT_EQ(lines_, (std::vector<std::string>{"level=info event=b"}));
}

TEST_F(LogTest, StderrLineStartsWithTheTime) {
  SetLogSink(nullptr);
  testing::internal::CaptureStderr();
  LogError("x", {{"n", 1}});
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(text.starts_with("time=2")) << text;
  EXPECT_TRUE(text.ends_with("Z level=error event=x n=1\n")) << text;
}

TEST(LogLevels, NamesRoundTrip) {
  EXPECT_EQ(*ParseLogLevel("info"), LogLevel::kInfo);
  EXPECT_EQ(ParseLogLevel("loud").status().message(),
            "expected debug, info, warning, error or off, got \"loud\"");
}

}  // namespace
}  // namespace deepinfer
