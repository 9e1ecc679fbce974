#include "compute/sql/expression/regex.h"

#include <re2/re2.h>

namespace namdb::sql {
namespace {

constexpr std::size_t kMaxPatterns = 32;
constexpr std::int64_t kMaxMemory_bytes = 1 << 20;  // of a compiled pattern
// A byte of the text may cost a step for each instruction of the compiled pattern.
constexpr std::size_t kMaxSteps = 64 << 20;

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

Status check(const re2::RE2& compiled, std::string_view text) {
  if (!compiled.ok()) {
    return Status(ErrorCode::invalid_regex,
                  "invalid regular expression: " + std::string(error_text(compiled.error_code())));
  }
  if (static_cast<std::size_t>(compiled.ProgramSize()) * text.size() <= kMaxSteps) return {};
  return Status(ErrorCode::limit_exceeded, "a regular expression is too complex for a text of " +
                                               std::to_string(text.size()) + " bytes");
}

// The quantifiers of a pattern: those that want as much as they can get, and the others (*?, +?, ??, {1}?).
struct Quantifiers {
  bool greedy = false;
  bool other = false;
};

Quantifiers quantifiers_of(std::string_view pattern) {
  Quantifiers quantifiers;
  bool in_brackets = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\') {
      ++i;
    } else if (in_brackets) {
      in_brackets = c != ']';
    } else if (c == '[') {
      in_brackets = true;
      // A bracket that comes first is one of the set.
      const std::size_t first = i + (pattern.substr(i + 1, 1) == "^" ? 2 : 1);
      if (pattern.substr(first, 1) == "]") i = first;
    } else if (c == '*' || c == '+' || c == '}' || (c == '?' && i > 0 && pattern[i - 1] != '(')) {
      const bool other = pattern.substr(i + 1, 1) == "?";
      (other ? quantifiers.other : quantifiers.greedy) = true;
      if (other) ++i;
    }
  }
  return quantifiers;
}

}  // namespace

RegexPatterns::RegexPatterns() = default;
RegexPatterns::~RegexPatterns() = default;
RegexPatterns::RegexPatterns(RegexPatterns&&) noexcept = default;
RegexPatterns& RegexPatterns::operator=(RegexPatterns&&) noexcept = default;

void RegexPatterns::clear() {
  if (!patterns_.empty()) patterns_.clear();
}

const re2::RE2& RegexPatterns::find(std::string_view pattern, RegexOptions options_wanted, bool longest) {
  std::string key = {options_wanted.ignores_case ? 'i' : 'c', options_wanted.lines ? 'n' : 's',
                     longest ? 'l' : 'f'};
  key += pattern;
  const auto found = patterns_.find(key);
  if (found != patterns_.end()) return *found->second;
  if (patterns_.size() >= kMaxPatterns) patterns_.clear();
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_case_sensitive(!options_wanted.ignores_case);
  options.set_max_mem(kMaxMemory_bytes);
  options.set_dot_nl(!options_wanted.lines);  // as in PostgreSQL, lines mean nothing
  options.set_longest_match(longest);
  const std::string whole = options_wanted.lines ? "(?m)" + std::string(pattern) : std::string(pattern);
  auto compiled = std::make_unique<re2::RE2>(whole, options);
  return *patterns_.emplace(std::move(key), std::move(compiled)).first->second;
}

Status RegexPatterns::match(std::string_view text, std::string_view pattern, bool ignores_case,
                            bool& matches) {
  if (text.size() > kMaxRegexText_bytes) return too_long("text", kMaxRegexText_bytes);
  if (pattern.size() > kMaxRegexPattern_bytes) return too_long("pattern", kMaxRegexPattern_bytes);
  const re2::RE2& compiled = find(pattern, {ignores_case}, false);
  if (Status status = check(compiled, text); !status.ok()) return status;
  matches = re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), compiled);
  return {};
}

Status RegexPatterns::search(std::string_view text, std::string_view pattern, RegexOptions options,
                             std::size_t from, RegexMatch& match, bool& found) {
  if (text.size() > kMaxRegexText_bytes) return too_long("text", kMaxRegexText_bytes);
  if (pattern.size() > kMaxRegexPattern_bytes) return too_long("pattern", kMaxRegexPattern_bytes);
  const Quantifiers quantifiers = quantifiers_of(pattern);
  if (quantifiers.greedy && quantifiers.other) {
    return Status(ErrorCode::feature_not_supported,
                  "a regular expression with greedy and with non-greedy quantifiers is not supported here");
  }
  const re2::RE2& compiled = find(pattern, options, !quantifiers.other);
  if (Status status = check(compiled, text); !status.ok()) return status;
  std::vector<re2::StringPiece> parts(static_cast<std::size_t>(compiled.NumberOfCapturingGroups()) + 1);
  found = compiled.Match(re2::StringPiece(text.data(), text.size()), from, text.size(), re2::RE2::UNANCHORED,
                         parts.data(), static_cast<int>(parts.size()));
  if (!found) return {};
  match.begin = static_cast<std::size_t>(parts[0].data() - text.data());
  match.end = match.begin + parts[0].size();
  match.groups.clear();
  for (std::size_t i = 1; i < parts.size(); ++i) match.groups.emplace_back(parts[i].data(), parts[i].size());
  return {};
}

}  // namespace namdb::sql
