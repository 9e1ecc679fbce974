#include "compute/sql/expression/subquery.h"

#include <algorithm>

#include "compute/sql/value/array.h"
#include "compute/sql/value/equal_bytes.h"

namespace namdb::sql {
namespace {

// = ANY, and its negation <> ALL.
Datum compare_with_set(const Expr& expr, std::span<const Datum> tests, const SubqueryRows& rows) {
  const bool negated = expr.kind == ExprKind::all_of_subquery;
  std::string bytes;
  for (std::size_t i = 0; i < tests.size(); ++i) append_equal_bytes(bytes, expr.args[i]->type.id, tests[i]);
  if (rows.equal.contains(bytes)) return Datum::of_boolean(!negated);
  return rows.has_null ? Datum() : Datum::of_boolean(negated);
}

// PostgreSQL's comparison of rows: of = and <> each column counts, of the others the first that differs.
// Null: a NULL leaves it open.
Datum compare_rows(const Expr& expr, std::span<const Datum> tests, std::span<const Datum> row) {
  const bool in_order = expr.op != '=' && expr.op != '!';
  bool open = false;
  for (std::size_t i = 0; i < tests.size(); ++i) {
    if (tests[i].null || row[i].null) {
      if (in_order) return Datum();
      open = true;
      continue;
    }
    const int order = compare_values(expr.args[i]->type.id, tests[i], row[i]);
    if (order == 0) continue;
    return Datum::of_boolean(in_order ? compare_matches(expr.op, order) : expr.op == '!');
  }
  return open ? Datum() : Datum::of_boolean(compare_matches(expr.op, 0));
}

Datum compare_with_each(const Expr& expr, std::span<const Datum> tests, const SubqueryRows& rows) {
  const bool any = expr.kind == ExprKind::any_of_subquery;
  bool open = false;
  for (std::size_t first = 0; first < rows.values.size(); first += tests.size()) {
    const Datum compared =
        compare_rows(expr, tests, std::span<const Datum>(rows.values).subspan(first, tests.size()));
    if (compared.null) {
      open = true;
    } else if ((compared.integer != 0) == any) {
      return Datum::of_boolean(any);
    }
  }
  return open ? Datum() : Datum::of_boolean(!any);
}

}  // namespace

bool is_subquery(const Expr& expr) {
  return expr.subquery != nullptr;
}

bool contains_subquery(const Expr& expr) {
  return is_subquery(expr) || std::ranges::any_of(expr.args, [](const ExprPtr& argument) {
           return argument != nullptr && contains_subquery(*argument);
         });
}

std::size_t tested_columns(const Expr& subquery) {
  const bool tests = subquery.kind == ExprKind::any_of_subquery || subquery.kind == ExprKind::all_of_subquery;
  return tests ? subquery.index + 1 : 0;
}

bool tests_equality(const Expr& subquery) {
  return (subquery.kind == ExprKind::any_of_subquery && subquery.op == '=') ||
         (subquery.kind == ExprKind::all_of_subquery && subquery.op == '!');
}

Status subquery_value(const Expr& subquery, std::span<const Datum> tests, const SubqueryRows& rows,
                      Arena& arena, Datum& out) {
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
  const bool any = subquery.kind == ExprKind::any_of_subquery;
  const bool tests_null = std::ranges::any_of(tests, &Datum::null);
  if (rows.rows == 0) {
    out = Datum::of_boolean(!any);
  } else if (tests_null && tests.size() == 1) {
    out = Datum();
  } else if (tests_equality(subquery) && !(tests.size() > 1 && (tests_null || rows.has_null))) {
    out = compare_with_set(subquery, tests, rows);
  } else {
    out = compare_with_each(subquery, tests, rows);
  }
  return {};
}

}  // namespace namdb::sql
