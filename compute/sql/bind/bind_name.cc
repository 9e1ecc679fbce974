// Names in expressions: columns, variables of a procedure, and parameters.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"

namespace namdb::sql {
namespace {

constexpr std::int64_t kMaxParameters = 65'535;
constexpr std::size_t kMaxMisspelling = 3;  // characters that are others, missing or too many

// The Levenshtein distance, in bytes.
std::size_t distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = i;
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t replaced = diagonal + (left[i] == right[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({replaced, row[j] + 1, row[j + 1] + 1}));
    }
  }
  return row.back();
}

// Columns that PostgreSQL has in each table.
constexpr std::array<std::string_view, 6> kSystemColumns = {"ctid", "xmin", "xmax",
                                                            "cmin", "cmax", "tableoid"};

bool is_system_column(const Scope& scope, std::string_view name) {
  return !scope.relations.empty() && std::ranges::find(kSystemColumns, name) != kSystemColumns.end();
}

// A hint to the column with the most similar name; empty when none is similar, or several are. `relation` may
// be null: any.
std::string similar_column(const Scope& scope, const Scope::Relation* relation, std::string_view wanted) {
  std::size_t nearest = std::min(kMaxMisspelling, wanted.size() / 2) + 1;
  std::optional<std::uint32_t> found;
  const std::uint32_t first = relation == nullptr ? 0 : relation->first_column;
  const auto end =
      relation == nullptr ? static_cast<std::uint32_t>(scope.columns.size()) : first + relation->columns;
  for (std::uint32_t column = first; column < end; ++column) {
    const std::size_t here = distance(wanted, scope.columns[column].name);
    if (here > nearest) continue;
    found = here < nearest ? std::optional(column) : std::nullopt;
    nearest = here;
  }
  if (!found) return {};
  return "Perhaps you meant to reference the column \"" + scope.relation_of(*found).name + "." +
         scope.columns[*found].name + "\".";
}

}  // namespace

Status missing_relation(const Scope& scope, std::string_view name) {
  const auto hidden = std::ranges::find(scope.relations, name, &Scope::Relation::table);
  if (hidden == scope.relations.end()) {
    return Status(ErrorCode::undefined_table,
                  "missing FROM-clause entry for table \"" + std::string(name) + "\"");
  }
  return Status(ErrorCode::undefined_table,
                "invalid reference to FROM-clause entry for table \"" + std::string(name) + "\"",
                "Perhaps you meant to reference the table alias \"" + hidden->name + "\".");
}

void ExpressionBinder::set_query(StatementBinder* statement, OuterRows* outer) {
  statement_ = statement;
  routines_ = statement;
  outer_ = outer;
  variables_ = statement->input.variables;
}

Result<ExprPtr> ExpressionBinder::bind_column(const Json& body) {
  if (variables_ == nullptr) return bind_query_column(body);
  const Json& fields = list(body, "fields");
  const std::vector<std::string_view> parts = names(fields);
  if (parts.size() != fields.size()) return bind_query_column(body);
  NAMDB_SQL_ASSIGN(const std::optional<std::uint32_t> variable, variables_->find(parts));
  return variable ? bind_variable(body, *variable) : bind_query_column(body);
}

Result<ExprPtr> ExpressionBinder::bind_variable(const Json& body, std::uint32_t index) {
  const VariableScope::Conflict conflict = variables_->conflict();
  if (conflict == VariableScope::Conflict::use_variable) return parameter_at(index);
  Result<ExprPtr> column = bind_query_column(body);
  const bool unknown = !column.ok() && (column.status().code() == ErrorCode::undefined_column ||
                                        column.status().code() == ErrorCode::undefined_table);
  if (unknown) return parameter_at(index);
  if (!column.ok() || conflict == VariableScope::Conflict::use_column) return column;
  std::string name;
  for (const std::string_view part : names(list(body, "fields")))
    name += (name.empty() ? "" : ".") + std::string(part);
  return Status(ErrorCode::ambiguous_column, "column reference \"" + name + "\" is ambiguous",
                "it could refer to either a PL/pgSQL variable or a table column");
}

Result<ExprPtr> ExpressionBinder::bind_query_column(const Json& body) {
  Result<ExprPtr> own = bind_own_column(body);
  const bool unknown = !own.ok() && (own.status().code() == ErrorCode::undefined_column ||
                                     own.status().code() == ErrorCode::undefined_table);
  if (!unknown || outer_ == nullptr) return own;
  const bool qualified = list(body, "fields").size() > 1;
  // A table of that name hides those around the query.
  if (qualified && own.status().code() == ErrorCode::undefined_column) return own;
  Result<ExprPtr> around = outer_->bind_column(body);
  if (around.ok() || around.status().code() == ErrorCode::ambiguous_column) return around;
  // It may be a table around the query that the name means.
  const bool names_outer = qualified && (around.status().code() == ErrorCode::undefined_column ||
                                         around.status().message().starts_with("invalid reference"));
  return names_outer && own.status().message().starts_with("missing") ? std::move(around) : std::move(own);
}

Result<ExprPtr> ExpressionBinder::bind_own_column(const Json& body) {
  const Json& fields = list(body, "fields");
  const std::vector<std::string_view> parts = names(fields);
  if (parts.size() != fields.size()) return unsupported("* in this place");
  if (parts.empty() || parts.size() > 3) return unsupported("a column name with a database");
  const std::string_view column = parts.back();
  if (parts.size() == 1) return bind_shown_column(column);
  const std::string_view name = parts[parts.size() - 2];
  const Scope::Relation* const relation = scope_.find(name);
  // With a schema, the relation's own name counts, and no alias.
  if (relation == nullptr || (parts.size() == 3 && relation->table != name))
    return missing_relation(scope_, name);
  for (std::uint32_t i = relation->first_column; i < relation->first_column + relation->columns; ++i) {
    if (scope_.columns[i].name == column) return scope_column(scope_, i);
  }
  if (is_system_column(scope_, column)) return unsupported("system column " + std::string(column));
  return Status(ErrorCode::undefined_column,
                "column " + std::string(name) + "." + std::string(column) + " does not exist",
                similar_column(scope_, relation, column));
}

Result<ExprPtr> ExpressionBinder::bind_shown_column(std::string_view name) {
  const Scope::Shown* found = nullptr;
  for (const Scope::Shown& shown : scope_.shown) {
    if (shown.name != name) continue;
    if (found != nullptr) {
      return Status(ErrorCode::ambiguous_column,
                    "column reference \"" + std::string(name) + "\" is ambiguous");
    }
    found = &shown;
  }
  if (found != nullptr) return shown_column(scope_, *found);
  for (std::uint32_t i = 0; i < scope_.columns.size(); ++i) {
    if (scope_.columns[i].hidden && scope_.columns[i].name == name) return scope_column(scope_, i);
  }
  if (scope_.find(name) != nullptr) return unsupported("a whole row as a value");
  if (is_system_column(scope_, name)) return unsupported("system column " + std::string(name));
  return Status(ErrorCode::undefined_column, "column \"" + std::string(name) + "\" does not exist",
                similar_column(scope_, nullptr, name));
}

Result<ExprPtr> ExpressionBinder::bind_parameter(const Json& body) {
  const std::int64_t number = integer(body, "number");
  if (number < 1 || number > kMaxParameters)
    return Status(ErrorCode::undefined_parameter, "there is no parameter $" + std::to_string(number));
  const auto index = static_cast<std::uint32_t>(number - 1);
  if (variables_ != nullptr && index >= variables_->numbered())
    return Status(ErrorCode::undefined_parameter, "there is no parameter $" + std::to_string(number));
  if (parameters_.size() <= index) parameters_.resize(index + 1);
  return parameter_at(index);
}

ExprPtr ExpressionBinder::parameter_at(std::uint32_t index) const {
  ExprPtr expr = make_expr(ExprKind::parameter, parameters_[index]);
  expr->index = index;
  return expr;
}

}  // namespace namdb::sql
