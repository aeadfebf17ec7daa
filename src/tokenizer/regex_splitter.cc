#include "tokenizer/regex_splitter.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>

#include "base/strings.h"
#include "tokenizer/utf8.h"

namespace deepinfer::tokenizer {
namespace {

constexpr size_t kJitStackStart = size_t{32} << 10;
constexpr size_t kJitStackMax = size_t{1} << 20;
constexpr uint32_t kHeapLimitKib = 64 << 10;

std::string ErrorText(int code) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  pcre2_get_error_message(code, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

struct Free {
  void operator()(pcre2_code* p) const { pcre2_code_free(p); }
  void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
  void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
  void operator()(pcre2_jit_stack* p) const { pcre2_jit_stack_free(p); }
};

}  // namespace

struct RegexScratch::State {
  std::unique_ptr<pcre2_match_data, Free> match{pcre2_match_data_create(1, nullptr)};
  std::unique_ptr<pcre2_match_context, Free> context{pcre2_match_context_create(nullptr)};
  std::unique_ptr<pcre2_jit_stack, Free> stack{
      pcre2_jit_stack_create(kJitStackStart, kJitStackMax, nullptr)};

  State() {
    pcre2_set_match_limit(context.get(), RegexSplitter::kMatchLimit);
    pcre2_set_heap_limit(context.get(), kHeapLimitKib);
    pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
  }
};

RegexScratch::RegexScratch() = default;
RegexScratch::~RegexScratch() = default;
RegexScratch::RegexScratch(RegexScratch&&) noexcept = default;
RegexScratch& RegexScratch::operator=(RegexScratch&&) noexcept = default;

struct RegexSplitter::Code {
  std::unique_ptr<pcre2_code, Free> code;
};

RegexSplitter::RegexSplitter(std::unique_ptr<Code> code) : code_(std::move(code)) {}
RegexSplitter::~RegexSplitter() = default;
RegexSplitter::RegexSplitter(RegexSplitter&&) noexcept = default;
RegexSplitter& RegexSplitter::operator=(RegexSplitter&&) noexcept = default;

Result<RegexSplitter> RegexSplitter::Compile(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes) {
    return InvalidArgument(StrCat("expected a pattern of at most ", HumanBytes(kMaxPatternBytes),
                                  ", got ", HumanBytes(pattern.size())));
  }
  int error = 0;
  PCRE2_SIZE offset = 0;
  std::unique_ptr<pcre2_code, Free> code(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &offset, nullptr));
  if (code == nullptr) {
    return InvalidArgument(
        StrCat("pattern ", Quoted(pattern), " at byte ", offset, ": ", ErrorText(error)));
  }
  // Without a JIT for this processor the interpreter runs, with the same limits.
  pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
  auto held = std::make_unique<Code>();
  held->code = std::move(code);
  return RegexSplitter(std::move(held));
}

Status RegexSplitter::Split(std::string_view text, RegexScratch& scratch,
                            std::vector<std::string_view>& pieces) const {
  if (scratch.state_ == nullptr) scratch.state_ = std::make_unique<RegexScratch::State>();
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  pcre2_match_data* match = scratch.state_->match.get();
  size_t done = 0;   // pieces cover text up to here
  size_t from = 0;   // where the next search starts
  while (from < text.size()) {
    const int rc = pcre2_match(code_->code.get(), subject, text.size(), from, PCRE2_NO_UTF_CHECK,
                               match, scratch.state_->context.get());
    if (rc == PCRE2_ERROR_NOMATCH) break;
    if (rc < 0) {
      return InvalidArgument(StrCat("the pre-tokenizer's pattern gave up at byte ", from,
                                    " of the text: ", ErrorText(rc)));
    }
    const PCRE2_SIZE* range = pcre2_get_ovector_pointer(match);
    const size_t start = range[0];
    const size_t end = range[1];
    if (start >= text.size()) break;
    if (end <= start || start < done) {
      // An empty match separates nothing that is not separated by its neighbours; look one further.
      if (start > done) pieces.push_back(text.substr(done, start - done));
      if (start > done) done = start;
      const size_t at = start > from ? start : from;
      from = at + static_cast<size_t>(DecodeUtf8(text.substr(at)).num_bytes);
      continue;
    }
    if (start > done) pieces.push_back(text.substr(done, start - done));
    pieces.push_back(text.substr(start, end - start));
    done = from = end;
  }
  if (done < text.size()) pieces.push_back(text.substr(done));
  return OkStatus();
}

}  // namespace deepinfer::tokenizer
