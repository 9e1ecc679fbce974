#include "compute/sql/syntax/syntax_depth.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "compute/sql/syntax/scan_tokens.h"

namespace namdb::sql {
namespace {

// Steps of the scanner over characters of operators that it reads more than once: a tenth of a second.
constexpr std::size_t kMaxOperator_steps = 20'000'000;

// The scanner reads a run of operators' characters to its end at each sign of it that is a token of its own,
// or begins a comment. Strings count as well, but there such runs are hardly ever: those of one character are
// cheap, except for '+'.
bool too_many_steps(std::string_view sql) {
  constexpr std::string_view kSigns = "+-*/<>=~!@#%^&|`?";
  std::size_t steps = 0;
  for (std::size_t begin = sql.find_first_of(kSigns); begin < sql.size();) {
    const std::size_t end = std::min(sql.find_first_not_of(kSigns, begin), sql.size());
    std::size_t starts = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const std::string_view two = sql.substr(i, std::min<std::size_t>(2, end - i));
      if (two == "--") {
        ++i;  // a comment to the end of the line
      } else if (two == "/*") {
        starts += 2;  // an operator may begin where it ends
        ++i;
      } else if (two.front() == '+' || two.front() == '-') {
        ++starts;
      }
    }
    steps += starts * (end - begin);
    if (steps > kMaxOperator_steps) return true;
    begin = sql.find_first_of(kSigns, end);
  }
  return false;
}

bool is_set_operation(std::string_view word) {
  if (word.size() < 5 || word.size() > 9) return false;
  std::string lower(word);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower == "union" || lower == "intersect" || lower == "except";
}

// libpg_query's recursion over its tree has no bound. The tree's depth is at most the number of tokens
// without a comma between them, over all open parentheses; set operations nest across commas as well.
bool too_deep(std::string_view scan_result, std::string_view sql) {
  ScanTokens tokens(scan_result, sql);
  std::vector<std::size_t> outer;
  std::size_t outer_sum = 0;
  std::size_t here = 0;
  std::size_t set_operations = 0;
  while (const std::optional<ScanToken> token = tokens.next()) {
    switch (token->code) {
      case '(':
      case '[':
        outer.push_back(here);
        outer_sum += here + 1;
        here = 0;
        break;
      case ')':
      case ']':
        if (!outer.empty()) {
          here = outer.back() + 1;
          outer_sum -= outer.back() + 1;
          outer.pop_back();
        }
        break;
      case ',':
      case ';':
        here = 0;
        break;
      default:
        ++here;
        if (is_set_operation(token->text)) ++set_operations;
        break;
    }
    if (outer_sum + here + set_operations > kMaxExpression_tokens) return true;
  }
  return false;
}

}  // namespace

SyntaxError parser_error(const PgQueryError& error) {
  const std::string message = error.message;
  const bool exhausted = message.find("memory exhausted") != std::string::npos;
  const bool reserved = message.ends_with("cannot be used as a role name here") ||
                        (message.starts_with("role name ") && message.ends_with(" is reserved"));
  const bool of_frame = message.starts_with("frame ");
  return {Status(exhausted                             ? ErrorCode::statement_too_complex
                 : reserved                            ? ErrorCode::reserved_name
                 : of_frame                            ? ErrorCode::windowing_error
                 : message == "invalid Unicode escape" ? ErrorCode::invalid_escape_sequence
                                                       : ErrorCode::syntax_error,
                 message),
          error.cursorpos > 0 ? static_cast<std::uint32_t>(error.cursorpos) : 0};
}

std::optional<SyntaxError> check_depth(const std::string& sql) {
  if (sql.size() <= kMaxExpression_tokens) return std::nullopt;  // a token takes a byte
  if (too_many_steps(sql)) {
    return SyntaxError{Status(ErrorCode::statement_too_complex, "statement is too complex",
                              "a long row of signs is neither an operator nor a comment")};
  }
  const PgQueryScanResult scan = pg_query_scan(sql.c_str());
  std::optional<SyntaxError> error;
  if (scan.error != nullptr) {
    error = parser_error(*scan.error);
  } else if (too_deep({scan.pbuf.data, scan.pbuf.len}, sql)) {
    error = SyntaxError{Status(
        ErrorCode::statement_too_complex, "statement is too complex",
        "at most " + std::to_string(kMaxExpression_tokens) + " words may follow each other without a comma")};
  }
  pg_query_free_scan_result(scan);
  return error;
}

}  // namespace namdb::sql
