#include "compute/sql/syntax/syntax.h"

#include <pg_query.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "compute/sql/syntax/blank_comments.h"
#include "compute/sql/syntax/syntax_depth.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sql {
namespace {

// Removes a comment at the beginning. False: there is none.
bool skip_comment(std::string_view& sql) {
  if (sql.starts_with("--")) {
    sql.remove_prefix(std::min(sql.find('\n'), sql.size()));
    return true;
  }
  if (!sql.starts_with("/*")) return false;
  // Comments nest.
  std::size_t depth = 0;
  do {
    const bool opens = sql.starts_with("/*");
    const bool closes = sql.starts_with("*/");
    if (opens) ++depth;
    if (closes) --depth;
    sql.remove_prefix(opens || closes ? 2 : 1);
  } while (depth > 0 && !sql.empty());
  return true;
}

// The digits of a constant that the grammar has negated, from its sign on: "- 3", "-(3)", "- - -3".
std::int64_t negated_constant(std::string_view sql) {
  while (!sql.empty()) {
    if (skip_comment(sql)) continue;
    const char c = sql.front();
    if (c != '-' && c != '(' && !std::isspace(static_cast<unsigned char>(c))) break;
    sql.remove_prefix(1);
  }
  std::int64_t value = 0;
  std::from_chars(sql.data(), sql.data() + sql.size(), value);
  return -value;
}

// The number of an option, as in INCREMENT BY -1: behind its words. It is not positive.
std::int64_t option_number(std::string_view sql) {
  while (!sql.empty()) {
    if (skip_comment(sql)) continue;
    const char c = sql.front();
    if (c == '-') return negated_constant(sql);
    if (c >= '0' && c <= '9') break;
    const std::size_t end = c == '"' ? sql.find('"', 1) : 0;
    sql.remove_prefix(std::min(end == std::string_view::npos ? sql.size() : end + 1, sql.size()));
  }
  return 0;
}

// libpg_query's JSON leaves out integers that are not positive. Zero is what a missing number is read as;
// negative ones are read from the text, where the constant's location is that of the sign; an option's is
// that of its name.
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
      const auto argument = json.find("arg");
      if (json.contains("defname") && argument != json.end() && location != json.end() &&
          location->is_number_integer() && *argument == Json{{"Integer", Json::object()}}) {
        const auto at = static_cast<std::size_t>(location->get<std::int64_t>());
        if (at < sql.size()) (*argument)["Integer"]["ival"] = option_number(sql.substr(at));
        continue;
      }
    }
    for (Json& child : json) open.push_back(&child);
  }
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
  PgQueryParseResult parsed = pg_query_parse(sql.c_str());
  if (parsed.error != nullptr && sql.find("--") != std::string::npos && sql.find('\'') != std::string::npos) {
    const std::string blanked = blank_line_comments(sql);
    auto error = check_depth(blanked);
    pg_query_free_parse_result(
        std::exchange(parsed, error ? PgQueryParseResult{} : pg_query_parse(blanked.c_str())));
    if (error) return std::move(*error);
  }
  std::variant<SyntaxTree, SyntaxError> result;
  if (parsed.error != nullptr) {
    result = parser_error(*parsed.error);
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

std::size_t SyntaxTree::statement_begin(std::size_t index) const {
  return static_cast<std::size_t>(integer(list(*tree_, "stmts")[index], "stmt_location"));
}

std::size_t SyntaxTree::statement_bytes(std::size_t index, std::size_t text_bytes) const {
  const Json& statement = list(*tree_, "stmts")[index];
  const auto length = static_cast<std::size_t>(integer(statement, "stmt_len"));
  // The last statement's length is missing: it reaches to the end.
  return length != 0 ? length : text_bytes - statement_begin(index);
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

}  // namespace namdb::sql
