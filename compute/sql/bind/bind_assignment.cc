// Assignments of UPDATE and ON CONFLICT: a column and its value, and the columns of a row together, as in
// SET (a, b) = (1, 2) and SET (a, b) = (SELECT ...).
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "compute/sql/bind/bind_column.h"
#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/value/row_id.h"
#include "compute/sql/value/sequence_default.h"

namespace namdb::sql {
namespace {

// A part of a row that is assigned.
struct RowPart {
  const Json* row;
  std::size_t position;  // from 0
  std::size_t columns;
};

Status wrong_count(const Json& row, ErrorPlace* place) {
  if (place != nullptr) place->note_begin(row);
  return Status(ErrorCode::syntax_error, "number of columns does not match number of values");
}

// The subquery that gives the row was bound with its first column.
Result<ExprPtr> next_column(const RowPart& part, const std::vector<Assignment>& assignments) {
  const Expr* first = assignments[assignments.size() - part.position].value.get();
  while (first->kind != ExprKind::scalar_subquery) first = first->args[0].get();
  ExprPtr value = clone(*first);
  value->index = static_cast<std::uint32_t>(part.position);
  value->type = planned_query(*first->subquery).targets[part.position]->type;
  return value;
}

Result<ExprPtr> bind_subquery_part(ExpressionBinder& expressions, const RowPart& part, const Json& sublink,
                                   const std::vector<Assignment>& assignments, ErrorPlace* place) {
  if (part.position != 0) return next_column(part, assignments);
  std::size_t columns = 0;
  Result<ExprPtr> value = expressions.bind_row_subquery(sublink, columns);
  if (!value.ok() && place != nullptr) place->note(sublink);
  if (value.ok() && columns != part.columns) return wrong_count(*part.row, place);
  return value;
}

// The value that is assigned; a null pointer: the column's default.
Result<const Json*> part_of_row(const RowPart& part, ErrorPlace* place) {
  const Json& items = list(*node(*part.row).body, "args");
  if (items.size() != part.columns) return wrong_count(*part.row, place);
  return &items[part.position];
}

}  // namespace

Result<std::uint32_t> changed_column(const storage::Table& table, std::string_view name) {
  const std::optional<std::uint32_t> column = table.schema.find(name);
  if (column) return *column;
  return Status(ErrorCode::undefined_column,
                "column \"" + std::string(name) + "\" of relation \"" + table.name + "\" does not exist");
}

Status bind_assignment(ExpressionBinder& expressions, const storage::Table& table, const Json& target,
                       ErrorPlace* place, std::vector<Assignment>& assignments) {
  Assignment assignment;
  const Result<std::uint32_t> named = changed_column(table, text(target, "name"));
  if (!named.ok()) return located(place, target, named.status());
  NAMDB_SQL_CHECK(only(target, "UPDATE", {"name", "val"}));
  assignment.column = *named;
  const layout::Column& column = table.schema.columns()[assignment.column];
  if (is_row_id(column)) return unsupported("UPDATE of " + std::string(kRowIdColumn));
  if (std::ranges::count(assignments, assignment.column, &Assignment::column) != 0)
    return Status(ErrorCode::syntax_error, "multiple assignments to same column \"" + column.name + "\"");
  const Json* value = find(target, "val");
  const Json* sublink = nullptr;
  RowPart part{};
  if (const Node multiple = node(*value); multiple.kind == "MultiAssignRef") {
    part = {find(*multiple.body, "source"), static_cast<std::size_t>(integer(*multiple.body, "colno") - 1),
            static_cast<std::size_t>(integer(*multiple.body, "ncolumns"))};
    const Node row = node(*part.row);
    if (row.kind == "RowExpr") {
      NAMDB_SQL_ASSIGN(value, part_of_row(part, place));
    } else if (row.kind == "SubLink" && text(*row.body, "subLinkType") == "EXPR_SUBLINK") {
      sublink = row.body;
    } else {
      if (place != nullptr) place->note_begin(*part.row);
      return Status(ErrorCode::feature_not_supported,
                    "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression");
    }
  }
  const bool is_default = sublink == nullptr && node(*value).kind == "SetToDefault";
  const std::optional<SequenceDefault> filled = sequence_default_of(column);
  if (is_generated(column)) {
    if (is_default) return {};  // it is what it is
    return detailed(
        place,
        Status(ErrorCode::generated_always, "column \"" + column.name + "\" can only be updated to DEFAULT"),
        "Column \"" + column.name + "\" is a generated column.");
  }
  if (filled && filled->is_always() && !is_default) {
    return Status(ErrorCode::generated_always,
                  "column \"" + column.name + "\" can only be updated to DEFAULT");
  }
  if (is_default) {
    NAMDB_SQL_ASSIGN(assignment.value, default_of(expressions, column));
    if (assignment.value == nullptr) assignment.value = make_constant({column_type(column).id}, Datum());
  } else {
    NAMDB_SQL_ASSIGN(assignment.value, sublink == nullptr ? expressions.bind(*value)
                                                          : bind_subquery_part(expressions, part, *sublink,
                                                                               assignments, place));
    if (Status status = coerce_to_column(expressions, assignment.value, column); !status.ok()) {
      if (place != nullptr) place->note_begin(*value);
      return status;
    }
  }
  assignments.push_back(std::move(assignment));
  return {};
}

}  // namespace namdb::sql
