#include "compute/sql/expression/regex.h"

#include <re2/re2.h>

namespace namdb::sql {
namespace {

constexpr std::size_t kMaxPatterns = 32;
constexpr std::int64_t kMaxMemory_bytes = 1 << 20;  // of a compiled pattern

// In PostgreSQL's words.
std::string_view error_text(re2::RE2::ErrorCode code) {
  switch (code) {
    case re2::RE2::ErrorMissingParen:
      return "parentheses () not balanced";
    case re2::RE2::ErrorMissingBracket:
      return "brackets [] not balanced";
    case re2::RE2::ErrorBadCharRange:
      return "invalid character range";
    case re2::RE2::ErrorBadCharClass:
      return "invalid character class";
    case re2::RE2::ErrorRepeatArgument:
    case re2::RE2::ErrorRepeatOp:
      return "quantifier operand invalid";
    case re2::RE2::ErrorRepeatSize:
      return "invalid repetition count(s)";
    case re2::RE2::ErrorBadEscape:
    case re2::RE2::ErrorTrailingBackslash:
      return "invalid escape \\ sequence";
    case re2::RE2::ErrorPatternTooLarge:
      return "regular expression is too complex";
    default:
      return "a construct that is not supported";
  }
}

Status too_long(std::string_view part, std::size_t limit) {
  return Status(ErrorCode::limit_exceeded, "a regular expression's " + std::string(part) +
                                               " can have at most " + std::to_string(limit) + " bytes");
}

}  // namespace

RegexPatterns::RegexPatterns() = default;
RegexPatterns::~RegexPatterns() = default;
RegexPatterns::RegexPatterns(RegexPatterns&&) noexcept = default;
RegexPatterns& RegexPatterns::operator=(RegexPatterns&&) noexcept = default;

void RegexPatterns::clear() {
  if (!patterns_.empty()) patterns_.clear();
}

const re2::RE2& RegexPatterns::find(std::string_view pattern, bool ignores_case) {
  std::string key(ignores_case ? "i" : "c");
  key += pattern;
  const auto found = patterns_.find(key);
  if (found != patterns_.end()) return *found->second;
  if (patterns_.size() >= kMaxPatterns) patterns_.clear();
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_case_sensitive(!ignores_case);
  options.set_max_mem(kMaxMemory_bytes);
  options.set_dot_nl(true);  // as in PostgreSQL, lines mean nothing
  auto compiled = std::make_unique<re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  return *patterns_.emplace(std::move(key), std::move(compiled)).first->second;
}

Status RegexPatterns::match(std::string_view text, std::string_view pattern, bool ignores_case,
                            bool& matches) {
  if (text.size() > kMaxRegexText_bytes) return too_long("text", kMaxRegexText_bytes);
  if (pattern.size() > kMaxRegexPattern_bytes) return too_long("pattern", kMaxRegexPattern_bytes);
  const re2::RE2& compiled = find(pattern, ignores_case);
  if (!compiled.ok())
    return Status(ErrorCode::invalid_regex,
                  "invalid regular expression: " + std::string(error_text(compiled.error_code())));
  matches = re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), compiled);
  return {};
}

}  // namespace namdb::sql
