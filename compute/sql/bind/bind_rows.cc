// Comparisons of rows. They become comparisons of the rows' columns, so that keys and indexes serve them:
// (a, b) < (c, d) is a <= c AND (a < c OR (a = c AND b < d)).
#include <nlohmann/json.hpp>
#include <utility>

#include "compute/sql/bind/bind_expression.h"
#include "compute/sql/bind/check_status.h"

namespace namdb::sql {
namespace {

// Of the rows that are compared; the columns of an ordered comparison are levels of an expression.
constexpr std::size_t kMaxColumns = 1664;
constexpr std::size_t kMaxOrderedColumns = 100;
// A column of an ordered comparison stands in it three times: so many operators may come of that.
constexpr std::size_t kMaxOperators = 20'000;

Status too_large() {
  return Status(ErrorCode::statement_too_complex, "a comparison of rows is too large");
}

std::size_t operators_in(const Expr& expr) {
  std::size_t count = 1;
  for (const ExprPtr& argument : expr.args) count += operators_in(*argument);
  return count;
}

Status unequal_rows() {
  return Status(ErrorCode::syntax_error, "unequal number of entries in row expressions");
}

bool is_ordered(char op) {
  return op == '<' || op == '>' || op == 'l' || op == 'g';
}

// < of < and <=.
char strict(char op) {
  return op == 'l' ? '<' : op == 'g' ? '>' : op;
}

char with_equality(char op) {
  return op == '<' ? 'l' : op == '>' ? 'g' : op;
}

ExprPtr both(ExprKind kind, ExprPtr left, ExprPtr right) {
  ExprPtr expr = make_expr(kind, {TypeId::boolean});
  expr->args.push_back(std::move(left));
  expr->args.push_back(std::move(right));
  return expr;
}

}  // namespace

bool is_row(const Json& json) {
  return node(json).kind == "RowExpr";
}

Result<ExprPtr> ExpressionBinder::bind_compared(char op, std::string_view name, const Json& left,
                                                const Json& right) {
  if (is_row(left) || is_row(right)) return bind_row_compare(op, name, left, right);
  NAMDB_SQL_ASSIGN(ExprPtr left_value, bind(left));
  NAMDB_SQL_ASSIGN(ExprPtr right_value, bind(right));
  return bind_compare(op, name, std::move(left_value), std::move(right_value));
}

Result<ExprPtr> ExpressionBinder::bind_row_operator(std::string_view kind, std::string_view name,
                                                    const Json& left, const Json& right) {
  if (kind == "AEXPR_DISTINCT" || kind == "AEXPR_NOT_DISTINCT")
    return bind_row_compare(kind == "AEXPR_DISTINCT" ? 'D' : 'N', "=", left, right);
  if (const std::optional<char> op = comparison_operator(name))
    return bind_row_compare(*op, name, left, right);
  if (!is_row(left) || !is_row(right)) return unsupported("operator " + std::string(name) + " of a row");
  const Json& left_columns = list(*node(left).body, "args");
  const Json& right_columns = list(*node(right).body, "args");
  if (left_columns.size() != right_columns.size()) return unequal_rows();
  if (left_columns.empty()) return unsupported("operator " + std::string(name) + " of a row");
  NAMDB_SQL_ASSIGN(ExprPtr left_value, bind(left_columns[0]));
  NAMDB_SQL_ASSIGN(ExprPtr right_value, bind(right_columns[0]));
  NAMDB_SQL_ASSIGN(const ExprPtr value,
                   bind_named_operator(name, std::move(left_value), std::move(right_value)));
  if (value->type.id != TypeId::boolean) {
    return Status(ErrorCode::datatype_mismatch, "row comparison operator must yield type boolean, not type " +
                                                    std::string(type_name(value->type.id)));
  }
  return Status(ErrorCode::feature_not_supported,
                "could not determine interpretation of row comparison operator " + std::string(name),
                "Row comparison operators must be associated with btree operator families.");
}

// The columns of a row, or of the row that a subquery gives.
Status ExpressionBinder::bind_row(const Json& row, std::size_t wanted, std::vector<ExprPtr>& columns) {
  if (is_row(row)) {
    for (const Json& item : list(*node(row).body, "args")) {
      NAMDB_SQL_ASSIGN(ExprPtr column, bind(item));
      columns.push_back(std::move(column));
    }
    return columns.size() == wanted ? Status() : unequal_rows();
  }
  std::size_t count = 0;
  NAMDB_SQL_ASSIGN(ExprPtr first, bind_row_subquery(*node(row).body, count));
  if (count != wanted) {
    return Status(ErrorCode::syntax_error,
                  std::string("subquery has too ") + (count < wanted ? "few" : "many") + " columns");
  }
  const std::vector<ExprPtr>& targets = planned_query(*first->subquery).targets;
  for (std::uint32_t i = 0; i < count; ++i) {
    ExprPtr column = clone(*first);
    column->index = i;
    column->type = targets[i]->type;
    columns.push_back(std::move(column));
  }
  return {};
}

Result<ExprPtr> ExpressionBinder::bind_row_compare(char op, std::string_view name, const Json& left,
                                                   const Json& right) {
  const auto gives_row = [](const Json& json) {
    const Node e = node(json);
    return e.kind == "RowExpr" || (e.kind == "SubLink" && text(*e.body, "subLinkType") == "EXPR_SUBLINK");
  };
  if (!is_row(left) || !gives_row(right)) {
    if (is_row(left) && is_row(right)) return unequal_rows();
    const bool row_is_left = is_row(left);
    NAMDB_SQL_ASSIGN(const ExprPtr value, bind(row_is_left ? right : left));
    if (value->type.id == TypeId::unknown) return unsupported("a row compared with a single value");
    const std::string other(type_name(value->type.id));
    return Status(
        ErrorCode::undefined_function,
        "operator does not exist: " + (row_is_left ? "record" : other) + " " + std::string(name) + " " +
            (row_is_left ? other : "record"),
        "No operator matches the given name and argument types. You might need to add explicit type "
        "casts.");
  }
  const Json& items = list(*node(left).body, "args");
  if (is_row(right) && items.size() != list(*node(right).body, "args").size()) return unequal_rows();
  if (items.empty()) return Status(ErrorCode::feature_not_supported, "cannot compare rows of zero length");
  if (items.size() > (is_ordered(op) ? kMaxOrderedColumns : kMaxColumns)) {
    return Status(ErrorCode::limit_exceeded,
                  "rows that are compared can have at most " +
                      std::to_string(is_ordered(op) ? kMaxOrderedColumns : kMaxColumns) + " columns");
  }
  std::vector<ExprPtr> left_columns;
  std::vector<ExprPtr> right_columns;
  NAMDB_SQL_CHECK(bind_row(left, items.size(), left_columns));
  NAMDB_SQL_CHECK(bind_row(right, items.size(), right_columns));
  return compare_rows(op, name, std::move(left_columns), std::move(right_columns));
}

Result<ExprPtr> ExpressionBinder::compare_rows(char op, std::string_view name, std::vector<ExprPtr> left,
                                               std::vector<ExprPtr> right) {
  if (!is_ordered(op)) {
    const bool all = op == '=' || op == 'N';
    ExprPtr expr = make_expr(all ? ExprKind::logical_and : ExprKind::logical_or, {TypeId::boolean});
    for (std::size_t i = 0; i < left.size(); ++i) {
      NAMDB_SQL_ASSIGN(ExprPtr compared, bind_compare(op, name, std::move(left[i]), std::move(right[i])));
      expr->args.push_back(std::move(compared));
    }
    return expr->args.size() == 1 ? std::move(expr->args[0]) : std::move(expr);
  }
  // From the last column to the first. The columns before the last are compared twice.
  const std::size_t last = left.size() - 1;
  for (std::size_t i = 0; i < last; ++i) {
    if (is_volatile(*left[i]) || is_volatile(*right[i]))
      return unsupported("a volatile function in a comparison of rows");
  }
  std::size_t operators = 0;
  for (std::size_t i = 0; i <= last; ++i) operators += operators_in(*left[i]) + operators_in(*right[i]);
  if (operators > kMaxOperators) return too_large();
  ExprPtr first;
  if (last != 0) {
    NAMDB_SQL_ASSIGN(first, bind_compare(with_equality(op), name, clone(*left[0]), clone(*right[0])));
  }
  NAMDB_SQL_ASSIGN(ExprPtr expr, bind_compare(op, name, std::move(left[last]), std::move(right[last])));
  for (std::size_t i = last; i-- > 0;) {
    NAMDB_SQL_ASSIGN(ExprPtr equal, bind_compare('=', name, clone(*left[i]), clone(*right[i])));
    NAMDB_SQL_ASSIGN(ExprPtr before, bind_compare(strict(op), name, std::move(left[i]), std::move(right[i])));
    expr = both(ExprKind::logical_or, std::move(before),
                both(ExprKind::logical_and, std::move(equal), std::move(expr)));
  }
  return first == nullptr ? std::move(expr) : both(ExprKind::logical_and, std::move(first), std::move(expr));
}

// (a, b) IN ((1, 2), (3, 4)), or what NOT IN negates.
Result<ExprPtr> ExpressionBinder::bind_row_in(const Json& body, const Json& items) {
  ExprPtr any = make_expr(ExprKind::logical_or, {TypeId::boolean});
  std::size_t operators = 0;
  for (const Json& item : items) {
    NAMDB_SQL_ASSIGN(ExprPtr compared, bind_row_compare('=', "=", *find(body, "lexpr"), item));
    operators += operators_in(*compared);
    if (operators > 10 * kMaxOperators) return too_large();
    any->args.push_back(std::move(compared));
  }
  return any->args.size() == 1 ? std::move(any->args[0]) : std::move(any);
}

// A row is NULL if all of its columns are, and not NULL if none is.
Result<ExprPtr> ExpressionBinder::bind_row_null_test(const Json& row, bool is_null) {
  ExprPtr all = make_expr(ExprKind::logical_and, {TypeId::boolean});
  for (const Json& item : list(*node(row).body, "args")) {
    NAMDB_SQL_ASSIGN(ExprPtr column, bind(item));
    ExprPtr test = make_expr(is_null ? ExprKind::is_null : ExprKind::is_not_null, {TypeId::boolean});
    test->args.push_back(std::move(column));
    all->args.push_back(std::move(test));
  }
  if (all->args.empty()) return make_constant({TypeId::boolean}, Datum::of_boolean(true));
  return all->args.size() == 1 ? std::move(all->args[0]) : std::move(all);
}

}  // namespace namdb::sql
