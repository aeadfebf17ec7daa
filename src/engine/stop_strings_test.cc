#include "engine/stop_strings.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"

namespace deepinfer::engine {
namespace {

struct Outcome {
  std::string text;
  bool is_stopped = false;
  bool operator==(const Outcome&) const = default;
};

Outcome Feed(const std::vector<std::string>& stop, const std::vector<std::string>& pieces) {
  StopStrings strings(stop);
  Outcome outcome;
  for (const std::string& piece : pieces) {
    const StopStrings::Released released = strings.Push(piece);
    outcome.text += released.text;
    if (released.is_stopped) {
      outcome.is_stopped = true;
      return outcome;
    }
  }
  outcome.text += strings.Finish();
  return outcome;
}

TEST(StopStrings, WithoutStopStringsTextPasses) {
  EXPECT_EQ(Feed({}, {"ab", "c"}), (Outcome{"abc", false}));
}

TEST(StopStrings, CutsInFrontOfAStopAcrossPieces) {
  EXPECT_EQ(Feed({"END"}, {"ab E", "N", "D cd"}), (Outcome{"ab ", true}));
}

TEST(StopStrings, HoldsBackNoMoreThanItMust) {
  StopStrings strings({"END"});
  EXPECT_EQ(strings.Push("ab E").text, "ab ");
  EXPECT_EQ(strings.Push("x").text, "Ex");
}

TEST(StopStrings, HeldTextIsDeliveredAtTheEnd) {
  EXPECT_EQ(Feed({"END"}, {"ab EN"}), (Outcome{"ab EN", false}));
}

TEST(StopStrings, FirstCompleteWinsAndThenTheLongest) {
  EXPECT_EQ(Feed({"b c", "b"}, {"ab c"}), (Outcome{"a", true}));
  EXPECT_EQ(Feed({"abc", "bc", "c"}, {"xabcd"}), (Outcome{"x", true}));
}

TEST(StopStrings, RepeatedBeginningIsNotLost) {
  EXPECT_EQ(Feed({"aab"}, {"a", "a", "a", "b"}), (Outcome{"a", true}));
}

TEST(StopStrings, StopThatMayNotCountIsText) {
  StopStrings strings({"ab"});
  EXPECT_EQ(strings.Push("xa", false).text, "x");
  EXPECT_EQ(strings.Push("by", false).text, "aby");
  EXPECT_EQ(strings.Push("ab", true).is_stopped, true);
}

TEST(StopStrings, StopThatIsCompleteTooEarlyIsNotFoundLater) {
  StopStrings strings({"aa"});
  EXPECT_EQ(strings.Push("aa", false).text, "a");  // the second may begin another
  const StopStrings::Released released = strings.Push("b", true);
  EXPECT_FALSE(released.is_stopped);
  EXPECT_EQ(released.text, "ab");
}

// Whatever the pieces, the outcome is that of a search over the whole text.
TEST(StopStrings, OutcomeDoesNotDependOnThePieces) {
  PhiloxStream random(5, 5);
  const auto random_text = [&](size_t max_size) {
    std::string text(1 + random.NextWord() % max_size, 'a');
    for (char& c : text) c = static_cast<char>('a' + random.NextWord() % 3);
    return text;
  };
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> stop(1 + random.NextWord() % 3);
    for (std::string& s : stop) s = random_text(4);
    const std::string text = random_text(14);
    Outcome expected{text, false};
    for (size_t end = 1; end <= text.size() && !expected.is_stopped; ++end) {
      size_t longest = 0;
      for (const std::string& s : stop) {
        if (end >= s.size() && text.compare(end - s.size(), s.size(), s) == 0) {
          longest = std::max(longest, s.size());
        }
      }
      if (longest > 0) expected = {text.substr(0, end - longest), true};
    }
    std::vector<std::string> pieces;
    for (size_t at = 0; at < text.size();) {
      const size_t size = 1 + random.NextWord() % 5;
      pieces.push_back(text.substr(at, size));
      at += size;
    }
    ASSERT_EQ(Feed(stop, pieces), expected) << text << " round " << round;
  }
}

}  // namespace
}  // namespace deepinfer::engine
