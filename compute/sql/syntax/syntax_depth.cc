#include "compute/sql/syntax/syntax_depth.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

namespace namdb::sql {
namespace {

// Reads the varints and fields of pg_query.ScanResult, as far as its tokens' codes.
class ScanReader {
 public:
  explicit ScanReader(std::string_view bytes) : rest_(bytes) {}
  bool empty() const { return rest_.empty(); }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) break;
    }
    return value;
  }
  std::string_view bytes() {
    const std::size_t length = std::min<std::size_t>(varint(), rest_.size());
    const std::string_view taken = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return taken;
  }

 private:
  std::string_view rest_;
};

struct Token {
  std::uint64_t code = 0;  // single characters are their ASCII code
  std::string_view text;
};

Token read_token(std::string_view token, std::string_view sql) {
  ScanReader reader(token);
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  Token result;
  while (!reader.empty()) {
    const std::uint64_t tag = reader.varint();
    const std::uint64_t value = reader.varint();
    if (tag >> 3 == 1) start = value;
    if (tag >> 3 == 2) end = value;
    if (tag >> 3 == 4) result.code = value;
  }
  if (start <= end && end <= sql.size()) result.text = sql.substr(start, end - start);
  return result;
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
  constexpr std::uint64_t kTokensField = 2;
  ScanReader reader(scan_result);
  std::vector<std::size_t> outer;
  std::size_t outer_sum = 0;
  std::size_t here = 0;
  std::size_t set_operations = 0;
  while (!reader.empty()) {
    const std::uint64_t tag = reader.varint();
    if ((tag & 7) == 0) {
      reader.varint();
      continue;
    }
    const std::string_view bytes = reader.bytes();
    if (tag >> 3 != kTokensField) continue;
    const Token token = read_token(bytes, sql);
    switch (token.code) {
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
        if (is_set_operation(token.text)) ++set_operations;
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
  return {Status(exhausted  ? ErrorCode::statement_too_complex
                 : reserved ? ErrorCode::reserved_name
                            : ErrorCode::syntax_error,
                 message),
          error.cursorpos > 0 ? static_cast<std::uint32_t>(error.cursorpos) : 0};
}

std::optional<SyntaxError> check_depth(const std::string& sql) {
  if (sql.size() <= kMaxExpression_tokens) return std::nullopt;  // a token takes a byte
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
