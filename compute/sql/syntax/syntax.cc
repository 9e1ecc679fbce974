#include "compute/sql/syntax/syntax.h"

#include <pg_query.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <span>

#include "compute/sql/value/value_format.h"

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

SyntaxError from_library(const PgQueryError& error) {
  const std::string message = error.message;
  const bool exhausted = message.find("memory exhausted") != std::string::npos;
  return {Status(exhausted ? ErrorCode::statement_too_complex : ErrorCode::syntax_error, message),
          error.cursorpos > 0 ? static_cast<std::uint32_t>(error.cursorpos) : 0};
}

std::optional<SyntaxError> check_depth(const std::string& sql) {
  if (sql.size() <= kMaxExpression_tokens) return std::nullopt;  // a token takes a byte
  const PgQueryScanResult scan = pg_query_scan(sql.c_str());
  std::optional<SyntaxError> error;
  if (scan.error != nullptr) {
    error = from_library(*scan.error);
  } else if (too_deep({scan.pbuf.data, scan.pbuf.len}, sql)) {
    error = SyntaxError{Status(
        ErrorCode::statement_too_complex, "statement is too complex",
        "at most " + std::to_string(kMaxExpression_tokens) + " words may follow each other without a comma")};
  }
  pg_query_free_scan_result(scan);
  return error;
}

// The digits of a constant that the grammar has negated, from its sign on: "- 3", "-(3)", "- - -3".
std::int64_t negated_constant(std::string_view sql) {
  while (!sql.empty()) {
    const char c = sql.front();
    if (sql.starts_with("--")) {
      sql.remove_prefix(std::min(sql.find('\n'), sql.size()));
    } else if (sql.starts_with("/*")) {
      // Comments nest.
      std::size_t depth = 0;
      do {
        const bool opens = sql.starts_with("/*");
        const bool closes = sql.starts_with("*/");
        if (opens) ++depth;
        if (closes) --depth;
        sql.remove_prefix(opens || closes ? 2 : 1);
      } while (depth > 0 && !sql.empty());
    } else if (c == '-' || c == '(' || std::isspace(static_cast<unsigned char>(c))) {
      sql.remove_prefix(1);
    } else {
      break;
    }
  }
  std::int64_t value = 0;
  std::from_chars(sql.data(), sql.data() + sql.size(), value);
  return -value;
}

// libpg_query's JSON leaves out integers that are not positive. Zero is what a missing number is read as;
// negative ones are read from the text, where the constant's location is that of the sign.
void restore_negative_constants(Json& tree, std::string_view sql) {
  std::vector<Json*> open = {&tree};
  while (!open.empty()) {
    Json& json = *open.back();
    open.pop_back();
    if (!json.is_structured()) continue;
    if (json.is_object()) {
      const auto value = json.find("ival");
      const auto location = json.find("location");
      if (value != json.end() && value->is_object() && value->empty() && location != json.end() &&
          location->is_number_integer()) {
        const auto at = location->get<std::int64_t>();
        if (at >= 0 && static_cast<std::size_t>(at) < sql.size() && sql[static_cast<std::size_t>(at)] == '-')
          (*value)["ival"] = negated_constant(sql.substr(static_cast<std::size_t>(at)));
        continue;
      }
    }
    for (Json& child : json) open.push_back(&child);
  }
}

struct MemberName {
  std::string_view member;
  std::string_view construct;
};

constexpr std::array kMemberNames = {
    MemberName{"withClause", "WITH"},
    MemberName{"groupClause", "GROUP BY"},
    MemberName{"groupDistinct", "GROUP BY DISTINCT"},
    MemberName{"havingClause", "HAVING"},
    MemberName{"windowClause", "WINDOW"},
    MemberName{"distinctClause", "DISTINCT"},
    MemberName{"lockingClause", "FOR UPDATE/SHARE"},
    MemberName{"intoClause", "SELECT INTO"},
    MemberName{"returningList", "RETURNING"},
    MemberName{"onConflictClause", "ON CONFLICT"},
    MemberName{"sortClause", "ORDER BY"},
    MemberName{"valuesLists", "VALUES"},
    MemberName{"usingClause", "USING"},
    MemberName{"fromClause", "FROM"},
    MemberName{"agg_filter", "FILTER"},
    MemberName{"agg_order", "ORDER BY in an aggregate"},
    MemberName{"agg_within_group", "WITHIN GROUP"},
    MemberName{"over", "OVER (window functions)"},
    MemberName{"func_variadic", "VARIADIC"},
    MemberName{"inhRelations", "INHERITS"},
    MemberName{"partspec", "PARTITION BY"},
    MemberName{"partbound", "PARTITION OF"},
    MemberName{"ofTypename", "OF type"},
    MemberName{"tablespacename", "TABLESPACE"},
    MemberName{"accessMethod", "USING method"},
    MemberName{"collClause", "COLLATE"},
    MemberName{"indirection", "indirection"},
    MemberName{"arrayBounds", "arrays"},
    MemberName{"setof", "SETOF"},
    MemberName{"schemaname", "a schema other than public"},
    MemberName{"catalogname", "a database name"},
    MemberName{"tablesample", "TABLESAMPLE"},
};

// "CreateFunctionStmt" -> "CREATE FUNCTION".
std::string words(std::string_view kind) {
  if (kind.ends_with("Stmt")) kind.remove_suffix(4);
  std::string result;
  for (std::size_t i = 0; i < kind.size(); ++i) {
    const auto c = static_cast<unsigned char>(kind[i]);
    if (i > 0 && std::isupper(c) && !std::isupper(static_cast<unsigned char>(kind[i - 1]))) result += ' ';
    if (c != '_') result += static_cast<char>(std::toupper(c));
  }
  return result;
}

constexpr std::array kKindNames = {
    MemberName{"IndexStmt", "CREATE INDEX"},
    MemberName{"ViewStmt", "CREATE VIEW"},
    MemberName{"RuleStmt", "CREATE RULE"},
    MemberName{"CreateSchemaStmt", "CREATE SCHEMA"},
    MemberName{"CreateSeqStmt", "CREATE SEQUENCE"},
    MemberName{"CreateTableAsStmt", "CREATE TABLE AS"},
    MemberName{"CreateTrigStmt", "CREATE TRIGGER"},
    MemberName{"CreatedbStmt", "CREATE DATABASE"},
    MemberName{"DropdbStmt", "DROP DATABASE"},
    MemberName{"RenameStmt", "ALTER ... RENAME"},
    MemberName{"CopyStmt", "COPY"},
    MemberName{"PrepareStmt", "PREPARE (use the extended query protocol)"},
    MemberName{"ExecuteStmt", "EXECUTE (use the extended query protocol)"},
    MemberName{"DeclareCursorStmt", "DECLARE CURSOR"},
    MemberName{"ClosePortalStmt", "CLOSE"},
    MemberName{"ConstraintsSetStmt", "SET CONSTRAINTS"},
    MemberName{"LockStmt", "LOCK TABLE"},
    MemberName{"VacuumStmt", "VACUUM or ANALYZE"},
    MemberName{"GrantStmt", "GRANT or REVOKE"},
    MemberName{"DoStmt", "DO"},
    MemberName{"SubLink", "a subquery"},
    MemberName{"RangeSubselect", "a subquery"},
    MemberName{"RangeFunction", "a function in FROM"},
    MemberName{"JoinExpr", "JOIN"},
    MemberName{"A_ArrayExpr", "ARRAY"},
    MemberName{"RowExpr", "ROW"},
    MemberName{"A_Indirection", "indirection"},
    MemberName{"CollateClause", "COLLATE"},
    MemberName{"GroupingFunc", "GROUPING"},
    MemberName{"BitString", "a bit string"},
    MemberName{"MultiAssignRef", "assignment of a row"},
    MemberName{"CurrentOfExpr", "WHERE CURRENT OF"},
    MemberName{"NamedArgExpr", "a named argument"},
};

std::string_view find_name(std::span<const MemberName> table, std::string_view key) {
  const auto row = std::ranges::find(table, key, &MemberName::member);
  return row == table.end() ? std::string_view() : row->construct;
}

}  // namespace

std::variant<SyntaxTree, SyntaxError> parse_sql(const std::string& sql) {
  if (sql.size() > kMaxStatement_bytes) {
    return SyntaxError{Status(ErrorCode::limit_exceeded,
                              "statement is longer than " + std::to_string(kMaxStatement_bytes) + " bytes",
                              "use parameters, or several statements")};
  }
  if (Status status = check_utf8(sql); !status.ok()) return SyntaxError{std::move(status)};
  if (auto error = check_depth(sql)) return std::move(*error);
  const PgQueryParseResult parsed = pg_query_parse(sql.c_str());
  std::variant<SyntaxTree, SyntaxError> result;
  if (parsed.error != nullptr) {
    result = from_library(*parsed.error);
  } else {
    Json tree = Json::parse(parsed.parse_tree, nullptr, false);
    if (tree.is_discarded()) {
      result = SyntaxError{Status(ErrorCode::internal, "the parser's output cannot be read")};
    } else {
      restore_negative_constants(tree, sql);
      result = SyntaxTree(std::move(tree));
    }
  }
  pg_query_free_parse_result(parsed);
  return result;
}

SyntaxTree::SyntaxTree(Json tree) : tree_(std::make_shared<const Json>(std::move(tree))) {}

std::size_t SyntaxTree::statement_count() const {
  return tree_ == nullptr ? 0 : list(*tree_, "stmts").size();
}

Node SyntaxTree::statement(std::size_t index) const {
  const Json* statement = find(list(*tree_, "stmts")[index], "stmt");
  return statement == nullptr ? Node{} : node(*statement);
}

std::size_t SyntaxTree::statement_bytes(std::size_t index, std::size_t text_bytes) const {
  const Json& statement = list(*tree_, "stmts")[index];
  const auto length = static_cast<std::size_t>(integer(statement, "stmt_len"));
  // The last statement's length is missing: it reaches to the end.
  return length != 0 ? length : text_bytes - static_cast<std::size_t>(integer(statement, "stmt_location"));
}

Node node(const Json& json) {
  if (!json.is_object() || json.size() != 1) return {};
  const auto member = json.begin();
  return {member.key(), &member.value()};
}

const Json* find(const Json& body, const char* member) {
  if (!body.is_object()) return nullptr;
  const auto found = body.find(member);
  return found == body.end() ? nullptr : &*found;
}

std::string_view text(const Json& body, const char* member) {
  const Json* value = find(body, member);
  return value != nullptr && value->is_string() ? std::string_view(value->get_ref<const std::string&>())
                                                : std::string_view();
}

std::int64_t integer(const Json& body, const char* member) {
  const Json* value = find(body, member);
  return value != nullptr && value->is_number_integer() ? value->get<std::int64_t>() : 0;
}

bool flag(const Json& body, const char* member) {
  const Json* value = find(body, member);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

const Json& list(const Json& body, const char* member) {
  static const Json kEmpty = Json::array();
  const Json* value = find(body, member);
  return value != nullptr && value->is_array() ? *value : kEmpty;
}

std::vector<std::string_view> names(const Json& strings) {
  std::vector<std::string_view> result;
  for (const Json& item : strings) {
    const Node string = node(item);
    if (string.kind == "String") result.push_back(text(*string.body, "sval"));
  }
  return result;
}

Status only(const Json& body, std::string_view statement, std::initializer_list<std::string_view> known) {
  if (!body.is_object()) return {};
  for (const auto& [member, value] : body.items()) {
    if (member == "location" || std::ranges::find(known, member) != known.end()) continue;
    const std::string_view construct = find_name(kMemberNames, member);
    return unsupported(std::string(construct.empty() ? std::string_view(member) : construct) + " in " +
                       std::string(statement));
  }
  return {};
}

Status unsupported(Node unknown) {
  const std::string_view name = find_name(kKindNames, unknown.kind);
  return unsupported(name.empty() ? words(unknown.kind) : std::string(name));
}

Status unsupported(std::string_view construct) {
  return Status(ErrorCode::feature_not_supported, std::string(construct) + " is not supported");
}

}  // namespace namdb::sql
