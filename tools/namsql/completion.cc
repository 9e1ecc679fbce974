#include "tools/namsql/completion.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <set>
#include <span>

#include "tools/namsql/backslash_command.h"
#include "tools/namsql/statement_help.h"
#include "tools/namsql/text.h"

namespace namdb::namsql {
namespace {

constexpr std::string_view kStatementBeginnings[] = {"ALTER",
                                                     "ANALYZE",
                                                     "BEGIN",
                                                     "CALL",
                                                     "CLOSE",
                                                     "COMMENT ON",
                                                     "COMMIT",
                                                     "COPY",
                                                     "CREATE",
                                                     "DEALLOCATE",
                                                     "DECLARE",
                                                     "DELETE",
                                                     "DISCARD",
                                                     "DO",
                                                     "DROP",
                                                     "END",
                                                     "EXECUTE",
                                                     "EXPLAIN",
                                                     "FETCH",
                                                     "GRANT",
                                                     "INSERT",
                                                     "PREPARE",
                                                     "REASSIGN OWNED BY",
                                                     "REINDEX",
                                                     "RELEASE SAVEPOINT",
                                                     "RESET",
                                                     "REVOKE",
                                                     "ROLLBACK",
                                                     "SAVEPOINT",
                                                     "SELECT",
                                                     "SET",
                                                     "SHOW",
                                                     "START TRANSACTION",
                                                     "TRUNCATE",
                                                     "UPDATE",
                                                     "VACUUM",
                                                     "VALUES",
                                                     "WITH"};

constexpr std::string_view kKeywords[] = {
    "ALL",         "AND",        "ANY",       "ARRAY",      "AS",
    "ASC",         "BETWEEN",    "BY",        "CASCADE",    "CASE",
    "CHECK",       "COLUMN",     "CONFLICT",  "CONSTRAINT", "CROSS",
    "DEFAULT",     "DESC",       "DISTINCT",  "DO",         "ELSE",
    "END",         "EXCEPT",     "EXISTS",    "FALSE",      "FOREIGN KEY",
    "FROM",        "FULL",       "GROUP BY",  "HASH",       "HAVING",
    "ILIKE",       "IN",         "INNER",     "INTERSECT",  "INTO",
    "IS",          "JOIN",       "KEY",       "LEFT",       "LIKE",
    "LIMIT",       "NATURAL",    "NOT",       "NOTHING",    "NULL",
    "OFFSET",      "ON",         "OR",        "ORDER BY",   "PARTITION BY HASH",
    "PRIMARY KEY", "REFERENCES", "RETURNING", "RIGHT",      "SELECT",
    "SET",         "TABLE",      "THEN",      "TO",         "TRUE",
    "UNION",       "UNIQUE",     "UPDATE",    "USING",      "VALUES",
    "WHEN",        "WHERE",      "WITH"};

struct Token {
  std::string text;  // names without their quotes
  bool is_name = false;
  bool is_quoted = false;
  bool is(std::string_view word) const { return is_name && !is_quoted && equals_ignoring_case(text, word); }
};

struct Tokens {
  std::vector<Token> list;
  bool ends_inside = false;  // of a string, a comment, or a dollar quote
};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Those of the last statement.
Tokens tokens_of(std::string_view text) {
  Tokens tokens;
  std::size_t i = 0;
  // Behind the next `end`, or the end of the text.
  const auto behind = [&](std::string_view end, std::size_t from) {
    const std::size_t found = text.find(end, from);
    tokens.ends_inside = found == std::string_view::npos;
    return tokens.ends_inside ? text.size() : found + end.size();
  };
  while (i < text.size()) {
    const char c = text[i];
    if (c == '\'') {
      i = behind("'", i + 1);
      tokens.list.push_back({"''"});
    } else if (c == '"') {
      const std::size_t begin = i + 1;
      i = behind("\"", begin);
      tokens.list.push_back(
          {std::string(text.substr(begin, i - begin - (tokens.ends_inside ? 0 : 1))), true, true});
    } else if (text.substr(i, 2) == "--") {
      i = behind("\n", i);
    } else if (text.substr(i, 2) == "/*") {
      i = behind("*/", i + 2);
    } else if (text.substr(i, 2) == "$$") {
      i = behind("$$", i + 2);
    } else if (is_word(c)) {
      const std::size_t begin = i;
      while (i < text.size() && is_word(text[i])) ++i;
      tokens.list.push_back({std::string(text.substr(begin, i - begin)), true, false});
    } else {
      if (c == ';') {
        tokens.list.clear();
      } else if (c > ' ') {
        tokens.list.push_back({std::string(1, c)});
      }
      ++i;
    }
  }
  return tokens;
}

// The table that a name in the text means.
std::optional<std::string> table_of(const Token& token, const Names& names) {
  const std::string name = token.is_quoted ? token.text : lower(token.text);
  return token.is_name && names.columns.contains(name) ? std::optional(name) : std::nullopt;
}

bool is_keyword(const Token& token) {
  return !token.is_quoted &&
         std::any_of(std::begin(kKeywords), std::end(kKeywords), [&](std::string_view keyword) {
           return equals_ignoring_case(keyword.substr(0, keyword.find(' ')), token.text);
         });
}

class Candidates {
 public:
  // `word` is the part that is typed: small letters ask for small keywords.
  explicit Candidates(std::string_view word) : word_(word) {
    small_ =
        !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c < 'A' || c > 'Z'; });
  }
  void keyword(std::string_view keyword) {
    if (starts_ignoring_case(keyword, word_)) found_.insert(small_ ? lower(keyword) : std::string(keyword));
  }
  void keywords(std::span<const std::string_view> list) {
    for (const std::string_view word : list) keyword(word);
  }
  void keywords(std::initializer_list<std::string_view> list) {
    for (const std::string_view word : list) keyword(word);
  }
  void name(const std::string& name) {
    if (!word_.empty() && word_[0] == '"') {
      if (name.starts_with(word_.substr(1))) found_.insert(concat("\"", name, "\""));
    } else if (starts_ignoring_case(name, word_)) {
      found_.insert(quoted_name(name));
    }
  }
  // As it is: settings and files.
  void plain(const std::string& text) {
    if (starts_ignoring_case(text, word_)) found_.insert(text);
  }
  void names(const std::vector<std::string>& list) {
    for (const std::string& one : list) name(one);
  }
  void tables(const Names& names) {
    for (const auto& [table, columns] : names.columns) name(table);
  }
  void settings(const Names& names) {
    for (const std::string& setting : names.settings) plain(setting);
  }
  std::vector<std::string> take() const { return {found_.begin(), found_.end()}; }

 private:
  std::string_view word_;
  bool small_ = false;
  std::set<std::string> found_;
};

void columns_behind_a_dot(Candidates& candidates, const Token& qualifier, const std::vector<Token>& all,
                          const Names& names) {
  std::optional<std::string> table = table_of(qualifier, names);
  for (std::size_t i = 0; i + 1 < all.size() && !table; ++i) {
    const std::size_t alias = all[i + 1].is("as") && i + 2 < all.size() ? i + 2 : i + 1;
    if (all[alias].is_name && equals_ignoring_case(all[alias].text, qualifier.text))
      table = table_of(all[i], names);
  }
  if (table) candidates.names(names.columns.at(*table));
  if (qualifier.is("public")) candidates.tables(names);
}

void columns_of_named_tables(Candidates& candidates, const std::vector<Token>& all, const Names& names) {
  for (const Token& token : all) {
    if (const auto table = table_of(token, names)) candidates.names(names.columns.at(*table));
  }
}

// Words behind those of `before`, in a statement whose words are `all`.
void words_of_statement(Candidates& candidates, const std::vector<Token>& before,
                        const std::vector<Token>& all, const Names& names) {
  if (before.empty()) return candidates.keywords(kStatementBeginnings);
  const Token& first = before.front();
  const Token& last = before.back();
  const auto last_is = [&](std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return last.is(word); });
  };
  const auto has = [&](std::string_view word) {
    return std::any_of(before.begin(), before.end(), [&](const Token& token) { return token.is(word); });
  };
  if (before.size() == 1) {
    if (last.is("create")) {
      return candidates.keywords({"FUNCTION", "INDEX", "OR REPLACE", "PROCEDURE", "ROLE", "SEQUENCE", "TABLE",
                                  "UNIQUE INDEX", "USER", "VIEW"});
    }
    if (last.is("drop"))
      return candidates.keywords(
          {"FUNCTION", "INDEX", "PROCEDURE", "ROLE", "SEQUENCE", "TABLE", "USER", "VIEW"});
    if (last.is("alter")) return candidates.keywords({"INDEX", "ROLE", "TABLE", "USER", "VIEW"});
    if (last.is("reindex")) return candidates.keywords({"INDEX", "TABLE"});
    if (last_is({"grant", "revoke"}))
      return candidates.keywords(
          {"ALL", "DELETE", "EXECUTE", "INSERT", "SELECT", "TRUNCATE", "UPDATE", "USAGE"});
    if (last.is("insert")) return candidates.keyword("INTO");
    if (last.is("delete")) return candidates.keyword("FROM");
    if (last.is("discard") || last.is("deallocate")) return candidates.keyword("ALL");
    if (last.is("call")) return candidates.names(names.procedures);
    if (last.is("rollback")) return candidates.keyword("TO SAVEPOINT");
    if (last.is("begin")) return candidates.keywords({"ISOLATION LEVEL", "READ ONLY", "READ WRITE"});
    if (last.is("explain")) {
      candidates.keyword("ANALYZE");
      return candidates.keywords({"DELETE", "INSERT", "SELECT", "UPDATE"});
    }
    if (last_is({"show", "reset", "set"})) {
      candidates.settings(names);
      if (last.is("set")) return candidates.keywords({"LOCAL", "ROLE", "SESSION", "TIME ZONE"});
      return candidates.keyword("ALL");
    }
  }
  if (first.is("set") && last_is({"local", "session"})) return candidates.settings(names);
  if (last.is("level"))
    return candidates.keywords({"READ COMMITTED", "READ UNCOMMITTED", "REPEATABLE READ", "SERIALIZABLE"});
  if (last.is("index") && !first.is("create")) return candidates.names(names.indexes);
  const bool on_table =
      last.is("on") && ((first.is("create") && has("index")) || first.is("grant") || first.is("revoke"));
  if (on_table ||
      last_is({"from", "join", "into", "table", "copy", "truncate", "analyze", "vacuum", "references"}) ||
      (last.is("view") && !first.is("create")) || (last.is("update") && !has("conflict"))) {
    if (last.is("truncate")) candidates.keyword("TABLE");
    if (last.is("from") && first.is("copy")) return candidates.keyword("STDIN");
    return candidates.tables(names);
  }
  if (last.is("to") && first.is("copy")) return candidates.keyword("STDOUT");
  columns_of_named_tables(candidates, all, names);
  candidates.keywords(kKeywords);
  // A table may follow a comma, and stand before the dot of a column.
  if (!is_keyword(last) || last_is({"select", "where", "and", "or", "on", "by"})) candidates.tables(names);
}

Completion complete_command(std::string_view text, std::size_t cursor, std::size_t line_begin,
                            std::size_t word_begin, const Names& names) {
  const std::string_view line = text.substr(line_begin, cursor - line_begin);
  const std::size_t space = line.find(' ');
  Completion completion;
  completion.begin = word_begin;
  if (space == std::string_view::npos) {
    completion.begin = line_begin + line.find('\\');
    Candidates candidates(text.substr(completion.begin, cursor - completion.begin));
    for (const CommandHelp& command : command_list()) candidates.plain(std::string(command.name));
    completion.candidates = candidates.take();
    return completion;
  }
  const BackslashCommand command = parse_command(line);
  Candidates candidates(text.substr(word_begin, cursor - word_begin));
  if (command.name == "\\h") {
    completion.begin = line_begin + std::min(line.find_first_not_of(' ', space), line.size());
    candidates = Candidates(text.substr(completion.begin, cursor - completion.begin));
    for (const StatementHelp& statement : statement_list()) candidates.keyword(statement.name);
  } else if (command.name == "\\i" || command.name == "\\o") {
    completion.is_file = true;
  } else if (command.name == "\\copy") {
    const std::vector<Token> before = tokens_of(text.substr(line_begin, word_begin - line_begin)).list;
    const bool behind_keyword = !before.empty() && (before.back().is("from") || before.back().is("to"));
    completion.is_file = behind_keyword;
    if (!behind_keyword) {
      candidates.tables(names);
      candidates.keywords({"FROM", "TO"});
    }
  } else if (command.name == "\\x" || command.name == "\\timing" || command.name == "\\stats") {
    candidates.plain("on");
    candidates.plain("off");
  } else if (command.name == "\\di") {
    candidates.names(names.indexes);
  } else if (command.name.starts_with("\\d")) {
    candidates.tables(names);
    if (command.name == "\\d") candidates.names(names.indexes);
  }
  completion.candidates = candidates.take();
  return completion;
}

}  // namespace

Completion complete(std::string_view text, std::size_t cursor, std::size_t line_begin, const Names& names) {
  const std::string_view before_cursor = text.substr(0, cursor);
  std::size_t begin = cursor;
  const std::string_view line = before_cursor.substr(line_begin);
  const bool is_command =
      trimmed(line).starts_with('\\') && trimmed(before_cursor.substr(0, line_begin)).empty();
  const auto belongs = [&](char c) { return is_word(c) || (is_command && c > ' ' && c != '\''); };
  while (begin > line_begin && belongs(text[begin - 1])) --begin;
  // A quoted name may have blanks in it.
  const std::size_t quotes = static_cast<std::size_t>(std::count(line.begin(), line.end(), '"'));
  if (quotes % 2 == 1) begin = line_begin + line.rfind('"');
  if (is_command) return complete_command(text, cursor, line_begin, begin, names);

  Completion completion;
  completion.begin = begin;
  const Tokens before = tokens_of(text.substr(0, begin));
  if (before.ends_inside) return completion;
  // A setting's name has dots in it.
  if (before.list.size() >= 3 && before.list.back().text == "." &&
      (before.list[0].is("set") || before.list[0].is("show") || before.list[0].is("reset"))) {
    while (completion.begin > 0 && (text[completion.begin - 1] == '.' || is_word(text[completion.begin - 1])))
      --completion.begin;
    Candidates candidates(text.substr(completion.begin, cursor - completion.begin));
    candidates.settings(names);
    completion.candidates = candidates.take();
    return completion;
  }
  Candidates candidates(text.substr(begin, cursor - begin));
  // Tables may be named behind the cursor.
  const std::vector<Token> all =
      tokens_of(text.substr(0, std::min(text.find(';', cursor), text.size()))).list;
  if (before.list.size() >= 2 && before.list.back().text == ".") {
    columns_behind_a_dot(candidates, before.list[before.list.size() - 2], all, names);
  } else {
    words_of_statement(candidates, before.list, all, names);
  }
  completion.candidates = candidates.take();
  return completion;
}

std::string common_beginning(const std::vector<std::string>& words) {
  if (words.empty()) return {};
  std::string common = words[0];
  for (const std::string& word : words) {
    const auto differs = std::mismatch(common.begin(), common.end(), word.begin(), word.end());
    common.resize(static_cast<std::size_t>(differs.first - common.begin()));
  }
  // Never a part of a character.
  while (!common.empty() && (static_cast<unsigned char>(common.back()) & 0xC0) == 0x80 && common != words[0])
    common.pop_back();
  if (!common.empty() && static_cast<unsigned char>(common.back()) >= 0xC0) common.pop_back();
  return common;
}

}  // namespace namdb::namsql
