// Finds stop strings in text that arrives piece by piece, and holds back what could become one.
//
//   StopStrings stop({"END", "\n\n"});
//   Emit(stop.Push("ab E").text);          // "ab ": the "E" may begin a stop string
//   Emit(stop.Push("ND cd").text);         // "": cut in front of "END", is_stopped is set
//
// The stop string that is complete first wins; of those that are complete at the same byte the
// longest.  So the result does not depend on how the text was cut into pieces.
//
// Memory and time: at most one stop string's length is held back; a piece costs its length times
// the number of stop strings.
// Threading: thread-compatible; one object for each sequence.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace deepinfer::engine {

class StopStrings {
 public:
  // What a piece of text set free.
  struct Released {
    std::string text;
    bool is_stopped = false;  // a stop string is complete; nothing follows
  };

  // Requires non-empty strings.
  explicit StopStrings(std::vector<std::string> stop) : stop_(std::move(stop)) {}

  // Takes the next piece.  With `may_stop` false a stop string that is complete in this piece counts
  // as ordinary text.
  Released Push(std::string_view piece, bool may_stop = true);

  // The end of the text: what was held back.
  std::string Finish();

 private:
  size_t NumHeld() const;

  std::vector<std::string> stop_;
  std::string held_;  // text that is not yet set free
};

}  // namespace deepinfer::engine
