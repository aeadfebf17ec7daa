// Splits text by one regular expression, for tokenizer files whose patterns we have no scanner for.
//
// Wraps PCRE2 with its JIT; no PCRE2 type is visible here.  Differences from the reference's engine
// (Oniguruma) that a file may meet: PCRE2 of Debian 12 has Unicode 14, so characters added since are
// \p{Cn} to it, and constructs that it does not know are refused when compiling.
//
// Limits: a pattern has at most kMaxPatternBytes; a search that backtracks more than kMatchLimit steps is
// refused, so that a hostile pattern or text costs bounded time.
//
// Ownership: owns the compiled pattern.  Threading: thread-compatible; Split uses a RegexScratch, one for
// each thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/status.h"

namespace deepinfer::tokenizer {

// Match data and the JIT's stack.  Opaque; made on first use.
class RegexScratch {
 public:
  RegexScratch();
  ~RegexScratch();
  RegexScratch(RegexScratch&&) noexcept;
  RegexScratch& operator=(RegexScratch&&) noexcept;

 private:
  friend class RegexSplitter;
  struct State;
  std::unique_ptr<State> state_;
};

class RegexSplitter {
 public:
  static constexpr size_t kMaxPatternBytes = size_t{16} << 10;
  static constexpr uint32_t kMatchLimit = 10'000'000;

  // Refused with the engine's message and the offset in the pattern.
  static Result<RegexSplitter> Compile(std::string_view pattern);

  ~RegexSplitter();
  RegexSplitter(RegexSplitter&&) noexcept;
  RegexSplitter& operator=(RegexSplitter&&) noexcept;

  // Appends the pieces of `text` (valid UTF-8): each match and each stretch between matches, none empty.
  // This is the behaviour "Isolated".  The pieces point into `text`.
  Status Split(std::string_view text, RegexScratch& scratch,
               std::vector<std::string_view>& pieces) const;

 private:
  struct Code;
  explicit RegexSplitter(std::unique_ptr<Code> code);
  std::unique_ptr<Code> code_;
};

}  // namespace deepinfer::tokenizer
