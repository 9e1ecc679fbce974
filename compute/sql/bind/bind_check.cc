#include "compute/sql/bind/bind_check.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compute/sql/bind/bind_definition.h"
#include "compute/sql/bind/bind_generated.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/catalog/definition_text.h"
#include "compute/sql/expression/expression_text.h"
#include "compute/sql/value/generated_column.h"

namespace namdb::sql {
namespace {

// "table_column_check" of a column's, and of one over one column; "table_check" of others.
std::string chosen_name(const Definition& definition, const Definition::Check& check, const Expr& condition,
                        const std::set<std::string>& taken) {
  std::string column = check.column;
  if (column.empty()) {
    std::set<std::uint32_t> columns;
    for_each_column(condition, [&](std::uint32_t position) { columns.insert(position); });
    if (columns.size() == 1) column = definition.columns[*columns.begin()].name;
  }
  std::vector<std::string_view> names;
  if (!column.empty()) names.push_back(column);
  for (std::size_t number = 0;; ++number) {
    std::string name =
        index_name(definition.table, names, number == 0 ? "check" : "check" + std::to_string(number));
    if (!taken.contains(name)) return name;
  }
}

}  // namespace

Result<ExprPtr> bind_check_condition(StatementBinder& binder, const Json& condition, const std::string& table,
                                     std::span<const layout::Column> columns) {
  return bind_over_columns(binder, condition, table, columns, kCheckUse, "CHECK");
}

Result<ExprPtr> bind_kept_check(StatementBinder& binder, const storage::TableCheck& check,
                                const std::string& table, std::span<const layout::Column> columns) {
  return bind_kept(binder, check.expression, table, columns, kCheckUse, "CHECK",
                   "check constraint \"" + check.name + "\"");
}

std::string check_text(const Expr& condition, std::span<const layout::Column> columns) {
  std::vector<std::string> names;
  for (const layout::Column& column : columns) names.push_back(quote_identifier(column.name));
  return expression_text(condition, names);
}

Result<std::vector<CheckCondition>> bind_checks_of(StatementBinder& binder, const storage::Table& table) {
  std::vector<CheckCondition> checks;
  const std::vector<layout::Column>& columns = table.schema.columns();
  for (std::uint32_t i = 0; i < columns.size(); ++i) {
    if (!generation_of(columns[i])) continue;
    // Left behind by an index that is gone.
    const bool is_used = std::ranges::any_of(table.indexes, [i](const storage::IndexRef& index) {
      return std::ranges::count(index->shape.columns(), i, &layout::IndexColumn::column) != 0;
    });
    if (is_index_column(columns[i]) && table.id != 0 && !is_used) continue;
    NAMDB_SQL_ASSIGN(ExprPtr value, bind_generated_value(binder, columns[i], table.name, columns));
    checks.push_back({columns[i].name, std::move(value), i});
  }
  for (const storage::TableCheck& check : table.checks) {
    NAMDB_SQL_ASSIGN(ExprPtr condition, bind_kept_check(binder, check, table.name, table.schema.columns()));
    checks.push_back({check.name, std::move(condition), {}});
  }
  return checks;
}

Result<std::vector<storage::TableCheck>> bind_checks(StatementBinder& binder, const Definition& definition) {
  std::vector<storage::TableCheck> checks = definition.checks;
  std::set<std::string> taken;
  for (const storage::TableCheck& check : checks) taken.insert(check.name);
  for (const Definition::Check& check : definition.new_checks) {
    if (check.name.empty()) continue;
    if (!taken.insert(check.name).second) {
      return Status(ErrorCode::duplicate_object, "check constraint \"" + check.name + "\" already exists");
    }
  }
  for (const Definition::Check& check : definition.new_checks) {
    NAMDB_SQL_ASSIGN(const ExprPtr condition,
                     bind_check_condition(binder, *check.condition, definition.table, definition.columns));
    storage::TableCheck kept;
    kept.name = check.name.empty() ? chosen_name(definition, check, *condition, taken) : check.name;
    kept.expression = check_text(*condition, definition.columns);
    taken.insert(kept.name);
    if (!bind_kept_check(binder, kept, definition.table, definition.columns).ok())
      return unsupported("this expression in CHECK");
    checks.push_back(std::move(kept));
  }
  return checks;
}

}  // namespace namdb::sql
