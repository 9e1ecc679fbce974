#include "compute/sql/syntax/plpgsql.h"

#include <pg_query.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "compute/sql/syntax/syntax_depth.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
// After an error in a body libpg_query 15 forgets to free an empty string.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:pg_query_raw_parse\n";
}
#endif
#endif

namespace namdb::sql {
namespace {

// Bounds the recursion of libpg_query over blocks, loops and branches within each other.
constexpr std::size_t kMaxBranches = 1000;

bool is_word_byte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || (c & 0x80) != 0;
}

// The words and signs of a body, without its strings and comments.
class BodyScanner {
 public:
  explicit BodyScanner(std::string_view text) : text_(text) {}

  // A word in lower case, a name in quotation marks with them, or a sign; empty at the end.
  std::string next() {
    skip_space();
    if (at_ >= text_.size()) return {};
    const char first = text_[at_];
    if (first == '\'') return skip_string();
    if (first == '"') return skip_until('"');
    if (first == '$' && skip_dollar_string()) return "''";
    if ((first == 'e' || first == 'E') && at_ + 1 < text_.size() && text_[at_ + 1] == '\'') {
      escapes_ = true;
      ++at_;
      return skip_string();
    }
    if (!is_word_byte(first)) return std::string(1, text_[at_++]);
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word_byte(text_[at_])) ++at_;
    std::string word(text_.substr(begin, at_ - begin));
    std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
    return word;
  }
  // Behind what next() gave last.
  std::size_t offset() const { return at_; }
  // The rest of the line.
  void skip_line() { at_ = std::min(text_.find('\n', at_), text_.size()); }

 private:
  void skip_space() {
    while (at_ < text_.size()) {
      const std::string_view rest = text_.substr(at_);
      if (rest.starts_with("--")) {
        skip_line();
      } else if (rest.starts_with("/*")) {
        skip_comment();
      } else if (std::isspace(static_cast<unsigned char>(rest.front())) != 0) {
        ++at_;
      } else {
        return;
      }
    }
  }
  void skip_comment() {
    std::size_t depth = 0;
    do {
      const std::string_view rest = text_.substr(at_);
      const bool opens = rest.starts_with("/*");
      const bool closes = rest.starts_with("*/");
      if (opens) ++depth;
      if (closes) --depth;
      at_ += opens || closes ? 2 : 1;
    } while (depth > 0 && at_ < text_.size());
  }
  // Quotes within are doubled: the next string begins at once.
  std::string skip_until(char quote) {
    const std::size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != quote) at_ += escapes_ && text_[at_] == '\\' ? 2 : 1;
    escapes_ = false;
    at_ = std::min(at_ + 1, text_.size());
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::string skip_string() {
    const bool escapes = escapes_;
    skip_until('\'');
    while (escapes && continues()) {
      escapes_ = true;
      skip_until('\'');
    }
    return "''";
  }
  // A string goes on behind a quote that is doubled, and on a later line. Moves to its next quote.
  bool continues() {
    const std::size_t before = at_;
    bool on_later_line = false;
    while (at_ < text_.size()) {
      const std::string_view rest = text_.substr(at_);
      if (rest.front() == '\'' && (on_later_line || at_ == before)) return true;
      if (rest.starts_with("--")) {
        skip_line();
      } else if (std::isspace(static_cast<unsigned char>(rest.front())) != 0) {
        on_later_line = on_later_line || rest.front() == '\n' || rest.front() == '\r';
        ++at_;
      } else {
        break;
      }
    }
    at_ = before;
    return false;
  }
  bool skip_dollar_string() {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != '$' && is_word_byte(text_[end])) ++end;
    if (end >= text_.size() || text_[end] != '$') return false;
    const std::string_view tag = text_.substr(at_, end + 1 - at_);
    const std::size_t close = text_.find(tag, end + 1);
    at_ = close == std::string_view::npos ? text_.size() : close + tag.size();
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool escapes_ = false;
};

std::string name_of(const std::string& word) {
  if (!word.starts_with('"')) return word;
  return word.substr(1, word.size() - 2);
}

// Fills in the tree's facts that come from the text.
Status scan_body(const std::string& body, PlpgsqlTree& tree) {
  constexpr std::array<std::string_view, 6> kBefore = {"", ";", "then", "else", "loop", "begin"};
  constexpr std::array<std::string_view, 4> kBranches = {"begin", "if", "loop", "case"};
  BodyScanner scanner(body);
  tree.variable_conflict = "error";
  std::vector<std::string> declared;
  bool in_declarations = false;
  bool name_is_next = false;
  std::size_t parentheses = 0;
  std::size_t branches = 0;
  std::string before;
  for (std::string word = scanner.next(); !word.empty(); word = scanner.next()) {
    if (word == "#" && before.empty()) {
      if (scanner.next() == "variable_conflict") tree.variable_conflict = scanner.next();
      scanner.skip_line();
      continue;
    }
    if (std::ranges::find(kBranches, word) != kBranches.end() && ++branches > kMaxBranches)
      return Status(ErrorCode::statement_too_complex, "the procedure is too complex");
    const bool begins = std::ranges::find(kBefore, before) != kBefore.end() || before == ">";
    if (in_declarations && word == "(") ++parentheses;
    if (in_declarations && word == ")" && parentheses > 0) --parentheses;
    if (word == "declare" && (begins || name_is_next)) {
      in_declarations = true;
      name_is_next = true;
    } else if (word == "begin" && (in_declarations ? name_is_next : begins)) {
      tree.declared.push_back(std::exchange(declared, {}));
      in_declarations = false;
    } else if (in_declarations && name_is_next) {
      declared.push_back(name_of(word));
      name_is_next = false;
    } else if (in_declarations && word == "alias" && !declared.empty() &&
               name_of(before) == declared.back()) {
      return unsupported("ALIAS FOR");
    } else if (in_declarations && word == ";" && parentheses == 0) {
      name_is_next = true;
    }
    before = std::move(word);
  }
  return {};
}

}  // namespace

std::variant<PlpgsqlTree, SyntaxError> parse_plpgsql(const std::string& statement, const std::string& body) {
  PlpgsqlTree tree;
  if (Status status = scan_body(body, tree); !status.ok()) return SyntaxError{std::move(status)};
  const PgQueryPlpgsqlParseResult parsed = pg_query_parse_plpgsql(statement.c_str());
  std::variant<PlpgsqlTree, SyntaxError> result;
  if (parsed.error != nullptr) {
    SyntaxError error = parser_error(*parsed.error);
    error.position = 0;  // of the body, not of the statement
    if (error.status.message().ends_with("in a non-SETOF function"))
      error.status = Status(ErrorCode::datatype_mismatch, std::string(error.status.message()));
    // The parser knows of no types.
    if (error.status.message().ends_with("must be of type cursor or refcursor"))
      error.status = unsupported("a variable that is a cursor");
    if (error.status.message().ends_with("is declared CONSTANT"))
      error.status = Status(ErrorCode::error_in_assignment, std::string(error.status.message()));
    result = std::move(error);
  } else {
    Json functions = Json::parse(parsed.plpgsql_funcs, nullptr, false);
    const bool is_one =
        functions.is_array() && functions.size() == 1 && node(functions[0]).kind == "PLpgSQL_function";
    if (is_one) {
      tree.function = functions[0]["PLpgSQL_function"];
      result = std::move(tree);
    } else {
      result = SyntaxError{Status(ErrorCode::internal, "the parser's output cannot be read")};
    }
  }
  pg_query_free_plpgsql_parse_result(parsed);
  return result;
}

std::string with_values_of_return_next(const std::string& body) {
  std::string made;
  std::size_t copied = 0;
  std::size_t begin = 0;  // of the value; 0: none begins
  BodyScanner scanner(body);
  std::string before;
  for (std::string word = scanner.next(); !word.empty(); word = scanner.next()) {
    if (word == "next" && before == "return") {
      begin = scanner.offset();
    } else if (word == ";" && begin != 0) {
      const std::size_t end = scanner.offset() - 1;
      made += body.substr(copied, begin - copied);
      made += before == "next" ? " NULL" : " (" + body.substr(begin, end - begin) + ")";
      copied = end;
      begin = 0;
    }
    before = std::move(word);
  }
  return made + body.substr(copied);
}

}  // namespace namdb::sql
