#include "compute/sql/expression/subquery.h"

#include "compute/sql/value/array.h"
#include "compute/sql/value/equal_bytes.h"

namespace namdb::sql {
namespace {

// = ANY, and its negation <> ALL.
Datum compare_with_set(bool negated, TypeId type, const Datum& test, const SubqueryRows& rows) {
  if (rows.rows == 0) return Datum::of_boolean(negated);
  if (test.null) return Datum();
  std::string bytes;
  append_equal_bytes(bytes, type, test);
  if (rows.equal.contains(bytes)) return Datum::of_boolean(!negated);
  return rows.has_null ? Datum() : Datum::of_boolean(negated);
}

Datum compare_with_each(const Expr& expr, const Datum& test, const SubqueryRows& rows) {
  const bool any = expr.kind == ExprKind::any_of_subquery;
  if (rows.rows == 0) return Datum::of_boolean(!any);
  if (test.null) return Datum();
  for (const Datum& value : rows.values) {
    if (value.null) continue;
    if (compare_matches(expr.op, compare_values(expr.args[0]->type.id, test, value)) == any)
      return Datum::of_boolean(any);
  }
  return rows.has_null ? Datum() : Datum::of_boolean(!any);
}

}  // namespace

bool is_subquery(const Expr& expr) {
  return expr.subquery != nullptr;
}

bool has_test(const Expr& subquery) {
  return subquery.kind == ExprKind::any_of_subquery || subquery.kind == ExprKind::all_of_subquery;
}

bool tests_equality(const Expr& subquery) {
  return (subquery.kind == ExprKind::any_of_subquery && subquery.op == '=') ||
         (subquery.kind == ExprKind::all_of_subquery && subquery.op == '!');
}

Status subquery_value(const Expr& subquery, const Datum& test, const SubqueryRows& rows, Arena& arena,
                      Datum& out) {
  switch (subquery.kind) {
    case ExprKind::exists:
      out = Datum::of_boolean(rows.rows != 0);
      return {};
    case ExprKind::scalar_subquery:
      if (rows.rows > 1) {
        return Status(ErrorCode::cardinality_violation,
                      "more than one row returned by a subquery used as an expression");
      }
      out = rows.rows == 0 ? Datum() : rows.values[subquery.index];
      return {};
    case ExprKind::array_subquery: {
      ArrayWriter writer(subquery.type.id);
      for (const Datum& value : rows.values) {
        writer.add(value);
        if (Status status = check_array_bytes(writer.bytes()); !status.ok()) return status;
      }
      out = writer.finish(arena);
      return {};
    }
    default:
      break;
  }
  out = tests_equality(subquery) ? compare_with_set(subquery.kind == ExprKind::all_of_subquery,
                                                    subquery.args[0]->type.id, test, rows)
                                 : compare_with_each(subquery, test, rows);
  return {};
}

}  // namespace namdb::sql
