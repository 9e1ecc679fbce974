// COPY.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/value/characters.h"
#include "compute/sql/value/row_id.h"

namespace namdb::sql {
namespace {

Status repeated() {
  return Status(ErrorCode::syntax_error, "conflicting or redundant options");
}

std::string word_of(const Json& option) {
  const Json* const argument = find(option, "arg");
  if (argument == nullptr) return {};
  const Node value = node(*argument);
  if (value.kind == "String") return std::string(text(*value.body, "sval"));
  if (value.kind == "Integer") return std::to_string(integer(*value.body, "ival"));
  if (value.kind == "Boolean") return flag(*value.body, "boolval") ? "true" : "false";
  return {};
}

Result<bool> switch_of(const Json& option, std::string_view name) {
  const std::string word = word_of(option);
  if (word.empty() || word == "true" || word == "on" || word == "1") return true;
  if (word == "false" || word == "off" || word == "0") return false;
  return Status(ErrorCode::syntax_error, std::string(name) + " requires a Boolean value");
}

// One character of one byte.
Result<char> character_of(const Json& option, std::string_view name) {
  const std::string word = word_of(option);
  if (word.size() == 1) return word[0];
  return Status(ErrorCode::feature_not_supported,
                "COPY " + std::string(name) + " must be a single one-byte character");
}

Result<CopyFormat> format_of(const Json& options) {
  std::optional<CopyFormat> format;
  for (const Json& item : options) {
    const Json& option = *node(item).body;
    if (text(option, "defname") != "format") continue;
    if (format) return repeated();
    const std::string word = word_of(option);
    if (word != "text" && word != "csv" && word != "binary")
      return Status(ErrorCode::invalid_parameter_value, "COPY format \"" + word + "\" not recognized");
    format = word == "text" ? CopyFormat::text : word == "csv" ? CopyFormat::csv : CopyFormat::binary;
  }
  return format.value_or(CopyFormat::text);
}

Status bind_option(const Json& option, bool is_from, CopyOptions& options) {
  const std::string_view name = text(option, "defname");
  const bool csv = options.format == CopyFormat::csv;
  if (name == "format") return {};
  if (options.format == CopyFormat::binary && (name == "delimiter" || name == "null")) {
    return Status(ErrorCode::syntax_error,
                  "cannot specify " + std::string(name == "null" ? "NULL" : "DELIMITER") + " in BINARY mode");
  }
  if (name == "delimiter") {
    NAMDB_SQL_ASSIGN(options.delimiter, character_of(option, "delimiter"));
    if (options.delimiter == '\n' || options.delimiter == '\r') {
      return Status(ErrorCode::invalid_parameter_value,
                    "COPY delimiter cannot be newline or carriage return");
    }
    constexpr std::string_view kRefused = "\\.abcdefghijklmnopqrstuvwxyz0123456789";
    if (!csv && kRefused.find(options.delimiter) != std::string_view::npos) {
      return Status(ErrorCode::invalid_parameter_value,
                    "COPY delimiter cannot be \"" + std::string(1, options.delimiter) + "\"");
    }
  } else if (name == "null") {
    options.null_text = word_of(option);
    if (options.null_text.find_first_of("\r\n") != std::string::npos) {
      return Status(ErrorCode::invalid_parameter_value,
                    "COPY null representation cannot use newline or carriage return");
    }
  } else if (name == "header") {
    if (word_of(option) == "match") return unsupported("COPY HEADER MATCH");
    NAMDB_SQL_ASSIGN(options.header, switch_of(option, "header"));
    if (options.header && options.format == CopyFormat::binary)
      return Status(ErrorCode::feature_not_supported, "cannot specify HEADER in BINARY mode");
  } else if (name == "quote" || name == "escape") {
    if (!csv) {
      return Status(ErrorCode::feature_not_supported,
                    "COPY " + std::string(name) + " available only in CSV mode");
    }
    NAMDB_SQL_ASSIGN((name == "quote" ? options.quote : options.escape), character_of(option, name));
  } else if (name == "encoding") {
    const std::string word = in_upper_case(word_of(option));
    if (word != "UTF8" && word != "UTF-8") return unsupported("COPY ENCODING " + word);
  } else if (name == "freeze") {
    // There is nothing to freeze: versions have no transaction ids that could wrap around.
    if (!is_from) return Status(ErrorCode::feature_not_supported, "COPY freeze cannot be used with COPY TO");
    NAMDB_SQL_CHECK(switch_of(option, "freeze").status());
  } else {
    std::string shown = in_upper_case(name);
    std::ranges::replace(shown, '_', ' ');
    const bool known = name == "force_quote" || name == "force_not_null" || name == "force_null";
    if (known) return unsupported("COPY " + shown);
    return Status(ErrorCode::syntax_error, "option \"" + std::string(name) + "\" not recognized");
  }
  return {};
}

Result<CopyOptions> bind_options(const Json& list_of_options, bool is_from) {
  NAMDB_SQL_ASSIGN(const CopyFormat format, format_of(list_of_options));
  CopyOptions options = CopyOptions::of(format);
  std::set<std::string_view> seen;
  bool has_escape = false;
  for (const Json& item : list_of_options) {
    const Json& option = *node(item).body;
    if (!seen.insert(text(option, "defname")).second) return repeated();
    has_escape = has_escape || text(option, "defname") == "escape";
    NAMDB_SQL_CHECK(bind_option(option, is_from, options));
  }
  if (!has_escape) options.escape = options.quote;
  if (format != CopyFormat::binary && options.null_text.find(options.delimiter) != std::string::npos) {
    return Status(ErrorCode::invalid_parameter_value,
                  "COPY delimiter character must not appear in the NULL specification");
  }
  if (format == CopyFormat::csv && options.delimiter == options.quote)
    return Status(ErrorCode::invalid_parameter_value, "COPY delimiter and quote must be different");
  return options;
}

Json column_reference(std::string_view name) {
  return {
      {"ResTarget", {{"val", {{"ColumnRef", {{"fields", Json::array({{{"String", {{"sval", name}}}}})}}}}}}}};
}

// SELECT of the columns of a table.
Result<Json> query_of(const StatementBinder& binder, const Json& body) {
  Json targets = Json::array();
  const auto table = binder.input.tables.find(text(*find(body, "relation"), "relname"));
  const bool is_stored = table != binder.input.tables.end();
  for (const std::string_view name : names(list(body, "attlist"))) {
    const auto column = is_stored ? table->second->schema.find(name) : std::nullopt;
    if (column) NAMDB_SQL_CHECK(check_copied(table->second->schema.columns()[*column], binder.input.place));
    targets.push_back(column_reference(name));
  }
  const bool generates = is_stored && std::ranges::any_of(table->second->schema.columns(), is_generated);
  if (targets.empty() && generates) {
    for (const layout::Column& column : shown_columns(table->second->schema)) {
      if (!is_generated(column)) targets.push_back(column_reference(column.name));
    }
  }
  if (targets.empty()) {
    const Json star = {{"ColumnRef", {{"fields", Json::array({{{"A_Star", Json::object()}}})}}}};
    targets.push_back({{"ResTarget", {{"val", star}}}});
  }
  return Json{{"targetList", targets},
              {"fromClause", Json::array({{{"RangeVar", *find(body, "relation")}}})},
              {"limitOption", "LIMIT_OPTION_DEFAULT"},
              {"op", "SETOP_NONE"}};
}

}  // namespace

Result<Plan> bind_copy(StatementBinder& binder, const Json& body) {
  NAMDB_SQL_CHECK(
      only(body, "COPY",
           {"relation", "query", "attlist", "is_from", "is_program", "filename", "options", "whereClause"}));
  const bool is_from = flag(body, "is_from");
  if (flag(body, "is_program")) return unsupported("COPY with a program");
  if (!text(body, "filename").empty()) {
    return Status(ErrorCode::feature_not_supported, "COPY with a file of the server is not supported",
                  "COPY ... FROM STDIN and TO STDOUT, and psql's \\copy, use files of the client");
  }
  if (find(body, "whereClause") != nullptr) return unsupported("COPY FROM ... WHERE");
  if (const Json* const relation = find(body, "relation")) {
    const std::string_view name = text(*relation, "relname");
    const bool is_view = binder.input.views.contains(name) && !binder.input.tables.contains(name);
    if (is_view)
      return Status(
          ErrorCode::wrong_object_type,
          "cannot copy " + std::string(is_from ? "to" : "from") + " view \"" + std::string(name) + "\"",
          is_from ? "" : "Try the COPY (SELECT ...) TO variant.");
  }
  NAMDB_SQL_ASSIGN(CopyOptions options, bind_options(list(body, "options"), is_from));
  Plan plan;
  plan.tag = "COPY";
  if (is_from) {
    CopyFromPlan copy;
    NAMDB_SQL_CHECK(bind_copied_columns(binder, body, copy));
    copy.options = std::move(options);
    plan.body = std::move(copy);
    return plan;
  }
  CopyToPlan copy;
  copy.options = std::move(options);
  const Json* const query = find(body, "query");
  if (query != nullptr && node(*query).kind != "SelectStmt")
    return unsupported("COPY of a statement that writes");
  Json whole;
  if (query == nullptr) {
    NAMDB_SQL_ASSIGN(whole, query_of(binder, body));
  }
  NAMDB_SQL_ASSIGN(BoundQuery bound, bind_query(binder, query == nullptr ? whole : *node(*query).body,
                                                nullptr, UnknownColumns::become_text));
  copy.query = std::move(bound.select);
  copy.query->gives_id = binder.gives_id;
  copy.query->reads_tables = binder.reads_tables;
  copy.query->locking_command = binder.locking_command;
  copy.columns = std::move(bound.columns);
  plan.body = std::move(copy);
  return plan;
}

}  // namespace namdb::sql
