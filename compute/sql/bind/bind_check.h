// CHECK constraints: conditions over a table's columns.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compute/sql/bind/bind_statement.h"

namespace namdb::sql {

// A condition over these columns. Errors of the expression; it has no subquery, and is boolean.
Result<ExprPtr> bind_check_condition(StatementBinder& binder, const Json& condition, const std::string& table,
                                     std::span<const layout::Column> columns);
// One that the catalog keeps.
Result<ExprPtr> bind_kept_check(StatementBinder& binder, const storage::TableCheck& check,
                                const std::string& table, std::span<const layout::Column> columns);
// As the catalog keeps it, with these names of the columns; it can be bound again.
std::string check_text(const Expr& condition, std::span<const layout::Column> columns);
// The checks of a table that a statement writes, over its columns; before them its generated columns.
Result<std::vector<CheckCondition>> bind_checks_of(StatementBinder& binder, const storage::Table& table);

}  // namespace namdb::sql
