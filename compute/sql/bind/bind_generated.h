// Expressions that the catalog keeps over the columns of a table: those of generated columns, and of indexes
// on expressions and of a part of a table, whose columns are generated, too.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compute/sql/bind/bind_definition.h"
#include "compute/sql/bind/bind_statement.h"

namespace namdb::sql {

// Expressions over a table's columns, and the words for each in errors.
struct KeptUse {
  std::string_view one;            // "column generation expression"
  std::string_view several;        // "column generation expressions"
  std::string_view not_immutable;  // the message; empty: any function may be called
};
inline constexpr KeptUse kCheckUse = {"check constraint", "check constraints", ""};
inline constexpr KeptUse kGenerationUse = {"column generation expression", "column generation expressions",
                                           "generation expression is not immutable"};
inline constexpr KeptUse kIndexUse = {"index expression", "index expressions",
                                      "functions in index expression must be marked IMMUTABLE"};
inline constexpr KeptUse kPredicateUse = {"index predicate", "index predicates",
                                          "functions in index predicate must be marked IMMUTABLE"};

// Binds an expression over these columns. `construct`: it must be boolean, as CHECK; null: it may be
// anything.
Result<ExprPtr> bind_over_columns(StatementBinder& binder, const Json& expression, const std::string& table,
                                  std::span<const layout::Column> columns, const KeptUse& use,
                                  const char* construct);
// The same of one that the catalog keeps. `what`: for the error if it cannot be read.
Result<ExprPtr> bind_kept(StatementBinder& binder, const std::string& expression, const std::string& table,
                          std::span<const layout::Column> columns, const KeptUse& use, const char* construct,
                          const std::string& what);
// As the catalog keeps it, with these names of the columns. feature_not_supported: it could not be bound
// again.
Result<std::string> kept_text(StatementBinder& binder, const Expr& expression, const std::string& table,
                              std::span<const layout::Column> columns, const KeptUse& use);

// The value of a generated column, of the column's type.
Result<ExprPtr> bind_generated_value(StatementBinder& binder, const layout::Column& column,
                                     const std::string& table, std::span<const layout::Column> columns);
// Gives the definition's new generated columns their expressions, once it has all its columns.
Status bind_new_generated(StatementBinder& binder, Definition& definition);
// The columns that the expressions of a generated column read.
Result<std::set<std::string>> columns_of_generated(StatementBinder& binder, const layout::Column& column,
                                                   const std::string& table,
                                                   std::span<const layout::Column> columns);
// The same column after these got other names.
Status rename_in_generated(StatementBinder& binder, layout::Column& column, const std::string& table,
                           std::span<const layout::Column> columns, std::span<const layout::Column> renamed);

// The expressions of the table's indexes; null: they have no such columns.
Result<std::shared_ptr<const std::vector<IndexExpression>>> bind_index_expressions(
    StatementBinder& binder, const storage::Table& table);
// Leaves out the generated columns that an UPDATE of `assigned` does not change, and adds the others to
// `assigned`.
void keep_changed(std::vector<CheckCondition>& checks, std::set<std::uint32_t>& assigned);

}  // namespace namdb::sql
