// Subqueries in expressions, and the columns of the rows around them.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"

namespace namdb::sql {
namespace {

// EXISTS asks whether there are rows, and not for their values or their order.
void keep_rows_only(SelectPlan& select) {
  if (select.grouped || select.limit != nullptr || select.offset != nullptr || !select.locks.empty()) return;
  select.targets.clear();
  select.targets.push_back(make_constant({TypeId::boolean}, Datum::of_boolean(true)));
  select.order.clear();
  select.distinct = false;
  select.distinct_on = 0;
}

}  // namespace

Result<ExprPtr> OuterRows::bind_column(const Json& body) {
  NAMDB_SQL_ASSIGN(ExprPtr column, around->bind_query_column(body));
  const Type type = column->type;
  auto found = std::ranges::find_if(arguments,
                                    [&column](const ExprPtr& argument) { return same(*argument, *column); });
  ExprPtr value = make_expr(ExprKind::outer, type);
  value->index = static_cast<std::uint32_t>(found - arguments.begin());
  if (found == arguments.end()) arguments.push_back(std::move(column));
  return value;
}

Result<ExprPtr> ExpressionBinder::bind_row_subquery(const Json& body, std::size_t& columns) {
  if (statement_ == nullptr) return unsupported("a subquery in this place");
  NAMDB_SQL_CHECK(only(body, "a subquery", {"subLinkType", "subselect"}));
  const Node query = node(*find(body, "subselect"));
  if (query.kind != "SelectStmt") return unsupported(query);
  OuterRows outer{this, {}};
  NAMDB_SQL_ASSIGN(BoundQuery bound,
                   bind_query(*statement_, *query.body, &outer, UnknownColumns::become_text));
  columns = bound.columns.size();
  if (columns == 0)
    return Status(ErrorCode::syntax_error, "number of columns does not match number of values");
  ExprPtr expr = make_expr(ExprKind::scalar_subquery, bound.columns[0].type);
  for (ExprPtr& argument : outer.arguments) expr->args.push_back(std::move(argument));
  expr->subquery = std::make_shared<SubqueryPlan>(std::move(*bound.select));
  return expr;
}

Result<ExprPtr> ExpressionBinder::bind_subquery(const Json& body) {
  if (statement_ == nullptr) return unsupported("a subquery in this place");
  NAMDB_SQL_CHECK(only(body, "a subquery", {"subLinkType", "testexpr", "operName", "subselect"}));
  const std::string_view kind = text(body, "subLinkType");
  const bool is_test = kind == "ANY_SUBLINK" || kind == "ALL_SUBLINK";
  if (!is_test && kind != "EXISTS_SUBLINK" && kind != "EXPR_SUBLINK" && kind != "ARRAY_SUBLINK")
    return unsupported("this kind of subquery");
  std::vector<ExprPtr> tests;
  char op = '=';
  std::string_view op_name = "=";
  if (is_test) {
    const Json& tested = *find(body, "testexpr");
    if (is_row(tested)) {
      NAMDB_SQL_CHECK(bind_row(tested, list(*node(tested).body, "args").size(), tests));
      if (tests.empty()) return unsupported("a row without columns compared with a subquery");
    } else {
      NAMDB_SQL_ASSIGN(ExprPtr test, bind(tested));
      tests.push_back(std::move(test));
    }
    const std::vector<std::string_view> name = names(list(body, "operName"));
    if (!name.empty()) op_name = name.back();
    const std::optional<char> compares = comparison_operator(op_name);
    if (!compares) return unsupported("this operator with ANY and ALL");
    op = *compares;
  }
  const Node query = node(*find(body, "subselect"));
  if (query.kind != "SelectStmt") return unsupported(query);
  OuterRows outer{this, {}};
  NAMDB_SQL_ASSIGN(BoundQuery bound,
                   bind_query(*statement_, *query.body, &outer, UnknownColumns::become_text));
  auto subquery = std::make_shared<SubqueryPlan>(std::move(*bound.select));
  ExprPtr expr = make_expr(ExprKind::exists, {TypeId::boolean}, op);
  if (kind == "EXISTS_SUBLINK") {
    keep_rows_only(subquery->query);
  } else {
    const std::size_t wanted = is_test ? tests.size() : 1;
    if (bound.columns.size() != wanted) {
      const std::string_view count = bound.columns.size() < wanted ? "few" : "many";
      return Status(ErrorCode::syntax_error, is_test ? "subquery has too " + std::string(count) + " columns"
                                                     : "subquery must return only one column");
    }
    if (is_test) {
      expr->kind = kind == "ANY_SUBLINK" ? ExprKind::any_of_subquery : ExprKind::all_of_subquery;
      expr->index = static_cast<std::uint32_t>(wanted - 1);
      for (std::size_t i = 0; i < wanted; ++i) {
        NAMDB_SQL_CHECK(unify(tests[i], subquery->query.targets[i], op_name));
        expr->args.push_back(std::move(tests[i]));
      }
    } else if (kind == "ARRAY_SUBLINK") {
      expr->kind = ExprKind::array_subquery;
      NAMDB_SQL_ASSIGN(expr->type, array_of(bound.columns[0].type.id));
    } else {
      expr->kind = ExprKind::scalar_subquery;
      expr->type = bound.columns[0].type;
    }
  }
  for (ExprPtr& argument : outer.arguments) expr->args.push_back(std::move(argument));
  expr->subquery = std::move(subquery);
  return expr;
}

}  // namespace namdb::sql
