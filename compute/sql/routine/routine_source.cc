#include "compute/sql/routine/routine_source.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

#include "compute/sql/bind/bind.h"
#include "compute/sql/syntax/temporary_names.h"

namespace namdb::sql {
namespace {

// Steps of PL/pgSQL that are refused, and their names.
struct Refused {
  std::string_view kind;
  std::string_view name;
};
constexpr std::array kRefused = {Refused{"PLpgSQL_stmt_dynexecute", "EXECUTE"},
                                 Refused{"PLpgSQL_stmt_dynfors", "FOR ... IN EXECUTE"},
                                 Refused{"PLpgSQL_stmt_forc", "FOR ... IN cursor"},
                                 Refused{"PLpgSQL_stmt_open", "OPEN"},
                                 Refused{"PLpgSQL_stmt_fetch", "FETCH"},
                                 Refused{"PLpgSQL_stmt_close", "CLOSE"},
                                 Refused{"PLpgSQL_stmt_commit", "COMMIT in a procedure"},
                                 Refused{"PLpgSQL_stmt_rollback", "ROLLBACK in a procedure"}};

bool is_statement(std::string_view step, std::string_view member) {
  return (step == "PLpgSQL_stmt_execsql" && member == "sqlstmt") ||
         (step == "PLpgSQL_stmt_fors" && member == "query") ||
         (step == "PLpgSQL_stmt_call" && member == "expr") ||
         (step == "PLpgSQL_stmt_perform" && member == "expr") ||
         (step == "PLpgSQL_stmt_return_query" && member == "query");
}

// The text behind the := or = of an assignment. Empty: its target is not a plain variable.
std::string_view assigned(std::string_view text) {
  std::size_t at = 0;
  bool quoted = false;
  while (at < text.size() && (quoted || (text[at] != ':' && text[at] != '='))) {
    if (text[at] == '"') quoted = !quoted;
    if (!quoted && (text[at] == '[' || text[at] == '(')) return {};
    ++at;
  }
  if (at < text.size() && text[at] == ':') ++at;
  return at < text.size() ? text.substr(at + 1) : std::string_view();
}

// "customer % rowtype" without its blanks, in lower case except what is in quotation marks.
std::string plain_type_text(std::string_view text) {
  std::string plain;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && std::isspace(static_cast<unsigned char>(c)) != 0) continue;
    plain += quoted ? c : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return plain;
}

// "t.a": its parts, without quotation marks.
std::vector<std::string> name_parts(std::string_view text) {
  std::vector<std::string> parts(1);
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == '.' && !quoted) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::optional<SyntaxError> parse_into(const std::string& text, SyntaxTree& tree) {
  auto parsed = parse_sql(text);
  if (auto* const error = std::get_if<SyntaxError>(&parsed)) {
    error->position = 0;
    return std::move(*error);
  }
  tree = std::move(std::get<SyntaxTree>(parsed));
  for (std::size_t i = 0; i < tree.statement_count(); ++i) {
    if (Status status = check_names(tree.statement(i), text); !status.ok()) return SyntaxError{status};
  }
  return std::nullopt;
}

std::string in_quotes(std::string_view text, char quote) {
  std::string result(1, quote);
  for (const char c : text) {
    if (c == quote) result += c;
    result += c;
  }
  return result + quote;
}

// The definition as libpg_query reads it: it knows no columns of RETURNS TABLE.
std::string plain_definition(const RoutineSignature& signature, const std::string& body) {
  std::string parameters;
  for (const RoutineParameter& parameter : signature.parameters) {
    if (!parameters.empty()) parameters += ", ";
    parameters += parameter.is_input() ? (parameter.gives() ? "INOUT " : "IN ") : "OUT ";
    if (!parameter.name.empty()) parameters += in_quotes(parameter.name, '"') + " ";
    parameters += "integer";
  }
  return "CREATE FUNCTION f(" + parameters + ") RETURNS SETOF " +
         (signature.has_outputs() ? "record" : "integer") + " LANGUAGE plpgsql AS " + in_quotes(body, '\'');
}

SyntaxError refuse(std::string_view construct) {
  return {unsupported(construct)};
}

}  // namespace

std::variant<std::unique_ptr<RoutineSource>, SyntaxError> RoutineSource::parse(
    std::shared_ptr<const RoutineSignature> signature, const std::string& definition) {
  std::unique_ptr<RoutineSource> source(new RoutineSource());
  source->signature_ = std::move(signature);
  if (auto error = source->parse_body(definition)) return std::move(*error);
  return source;
}

std::optional<SyntaxError> RoutineSource::parse_body(const std::string& definition) {
  if (signature_->is_expression) return parse_expression(definition);
  if (signature_->language == RoutineLanguage::sql) return parse_into(signature_->body, statements_);
  std::string body = signature_->body;
  const bool rewrites = signature_->returns_set;
  if (rewrites) body = with_values_of_return_next(body);
  auto parsed = parse_plpgsql(rewrites ? plain_definition(*signature_, body) : definition, body);
  if (auto* const error = std::get_if<SyntaxError>(&parsed)) return std::move(*error);
  tree_ = std::move(std::get<PlpgsqlTree>(parsed));
  return parse_fragments();
}

// RETURN expression is SELECT expression.
std::optional<SyntaxError> RoutineSource::parse_expression(const std::string& definition) {
  SyntaxTree create;
  if (auto error = parse_into(definition, create)) return error;
  const Node body = node(*find(*create.statement(0).body, "sql_body"));
  Json target;
  target["ResTarget"]["val"] = *find(*body.body, "returnval");
  Json select;
  select["targetList"] = Json::array();
  select["targetList"].push_back(std::move(target));
  select["limitOption"] = "LIMIT_OPTION_DEFAULT";
  select["op"] = "SETOP_NONE";
  Json statement;
  statement["stmt"]["SelectStmt"] = std::move(select);
  Json tree;
  tree["stmts"] = Json::array();
  tree["stmts"].push_back(std::move(statement));
  statements_ = SyntaxTree(std::move(tree));
  return std::nullopt;
}

Status RoutineSource::check_return(std::string_view step, const Json& body) const {
  const bool has_value = find(body, "expr") != nullptr;
  if (step == "PLpgSQL_stmt_return_query" && find(body, "dynquery") != nullptr)
    return unsupported("RETURN QUERY EXECUTE");
  if (step != "PLpgSQL_stmt_return") return {};
  if (!signature_->is_function && has_value)
    return Status(ErrorCode::syntax_error, "RETURN cannot have a parameter in a procedure");
  if (!signature_->is_function) return {};
  const bool gives_value =
      !signature_->returns_set && !signature_->returns_nothing && !signature_->has_outputs();
  if (gives_value && !has_value && find(body, "lineno") != nullptr)
    return Status(ErrorCode::syntax_error, "missing expression at or near \";\"");
  if (gives_value || !has_value) return {};
  const std::string message = "RETURN cannot have a parameter in function ";
  if (signature_->returns_set) {
    return Status(ErrorCode::datatype_mismatch, message + "returning set",
                  "Use RETURN NEXT or RETURN QUERY.");
  }
  return Status(ErrorCode::datatype_mismatch,
                message + (signature_->returns_nothing ? "returning void" : "with OUT parameters"));
}

std::optional<SyntaxError> RoutineSource::parse_fragments() {
  // A part of the tree, within that member of that step.
  struct Part {
    const Json* json = nullptr;
    std::string_view step;
    std::string_view member;
  };
  std::vector<Part> open = {{&tree_.function, {}, {}}};
  while (!open.empty()) {
    const Part part = open.back();
    open.pop_back();
    if (part.json->is_array()) {
      for (const Json& item : *part.json) open.push_back({&item, part.step, part.member});
      continue;
    }
    if (!part.json->is_object()) continue;
    for (auto member = part.json->begin(); member != part.json->end(); ++member) {
      const std::string_view name = member.key();
      const auto refused = std::ranges::find(kRefused, name, &Refused::kind);
      // In a function these fail when they are run, as in PostgreSQL.
      const bool ends = name == "PLpgSQL_stmt_commit" || name == "PLpgSQL_stmt_rollback";
      if (refused != kRefused.end() && !(ends && signature_->is_function)) return refuse(refused->name);
      std::optional<SyntaxError> error;
      if (Status status = check_return(name, member.value()); !status.ok()) return SyntaxError{status};
      if (name == "PLpgSQL_expr") {
        error = parse_fragment(part.step, part.member, member.value());
      } else if (name == "PLpgSQL_type") {
        error = parse_type(std::string(text(member.value(), "typname")));
      } else if (name.starts_with("PLpgSQL_")) {
        open.push_back({&member.value(), name, {}});
      } else {
        open.push_back({&member.value(), part.step, name});
      }
      if (error) return error;
    }
  }
  return std::nullopt;
}

std::optional<SyntaxError> RoutineSource::parse_fragment(std::string_view step, std::string_view member,
                                                         const Json& body) {
  SyntaxTree tree;
  std::string sql(text(body, "query"));
  const bool whole = is_statement(step, member);
  if (step == "PLpgSQL_stmt_assign") {
    const std::string value(assigned(sql));
    if (value.empty()) return refuse("an assignment to a part of a variable");
    sql = value;
  }
  const std::string expression = sql;
  if (!whole) sql = "SELECT " + expression;
  if (auto error = parse_into(sql, tree)) return error;
  if (tree.statement_count() != 1) return refuse("several statements in one");
  if (step == "PLpgSQL_stmt_perform") {
    // PERFORM FROM t: its rows have no columns.
    const Node select = tree.statement(0);
    if (select.kind == "SelectStmt" && find(*select.body, "targetList") == nullptr &&
        find(*select.body, "fromClause") != nullptr) {
      sql.insert(sql.find_first_of("Tt") + 1, " 1");
      if (auto error = parse_into(sql, tree)) return error;
    }
  }
  if (!whole) {
    // An expression with FROM, and its like, is a subquery.
    const Node select = tree.statement(0);
    const bool plain = select.kind == "SelectStmt" &&
                       only(*select.body, "SELECT", {"targetList", "limitOption", "op"}).ok() &&
                       list(*select.body, "targetList").size() == 1;
    if (!plain) {
      sql = "SELECT (SELECT " + expression + ")";
      if (auto error = parse_into(sql, tree)) return error;
    }
  }
  fragments_.emplace(&body, std::move(tree));
  return std::nullopt;
}

std::optional<SyntaxError> RoutineSource::parse_type(const std::string& type_text) {
  if (type_text == "UNKNOWN" || types_.contains(type_text)) return std::nullopt;
  DeclaredType type;
  const std::string plain = plain_type_text(type_text);
  constexpr std::string_view kRow = "%rowtype";
  constexpr std::string_view kColumn = "%type";
  if (plain == "record") {
    type.kind = DeclaredType::Kind::record;
  } else if (plain == "refcursor" || plain.starts_with("cursor")) {
    return refuse("a cursor variable");
  } else if (plain.ends_with(kRow)) {
    type.kind = DeclaredType::Kind::row_of_table;
    type.names = name_parts(std::string_view(plain).substr(0, plain.size() - kRow.size()));
  } else if (plain.ends_with(kColumn)) {
    type.kind = DeclaredType::Kind::of_column;
    type.names = name_parts(std::string_view(plain).substr(0, plain.size() - kColumn.size()));
  } else if (auto error = parse_into("SELECT NULL::" + type_text, type.tree)) {
    return error;
  }
  types_.emplace(type_text, std::move(type));
  return std::nullopt;
}

Node RoutineSource::fragment(const Json& expression) const {
  return fragments_.at(&expression).statement(0);
}

const RoutineSource::DeclaredType& RoutineSource::type(std::string_view text) const {
  return types_.find(text)->second;
}

std::vector<std::string> RoutineSource::tables(const procedure::ProcedureRegistry& procedures) const {
  std::vector<std::string> names;
  const auto add = [&](Node statement) {
    for (std::string& name : tables_named_by(statement, procedures)) names.push_back(std::move(name));
  };
  for (const auto& [expression, tree] : fragments_) add(tree.statement(0));
  for (std::size_t i = 0; i < statements_.statement_count(); ++i) add(statements_.statement(i));
  for (const auto& [text, type] : types_) {
    if (type.kind == DeclaredType::Kind::row_of_table) names.push_back(type.names.back());
    if (type.kind == DeclaredType::Kind::of_column && type.names.size() > 1)
      names.push_back(type.names[type.names.size() - 2]);
  }
  return names;
}

std::vector<std::string> RoutineSource::called() const {
  std::vector<std::string> names;
  const auto add = [&](Node statement) {
    for (std::string& name : routines_named_by(statement)) names.push_back(std::move(name));
  };
  for (const auto& [expression, tree] : fragments_) add(tree.statement(0));
  for (std::size_t i = 0; i < statements_.statement_count(); ++i) add(statements_.statement(i));
  return names;
}

}  // namespace namdb::sql
