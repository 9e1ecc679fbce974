// Queries of any form: SELECT, VALUES, UNION, INTERSECT and EXCEPT, and WITH in front of them.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"

namespace namdb::sql {
namespace {

// Of queries in queries.
constexpr std::size_t kMaxQueryDepth = 64;
// Of one statement. A query of WITH that others name twice, and others those, doubles with each of them.
constexpr std::size_t kMaxQueries = 1000;

// A SELECT of all columns of a derived table, with the ORDER BY and LIMIT of the query's body.
Result<BoundQuery> select_from(StatementBinder& binder, const Json& body, OuterRows* outer,
                               std::shared_ptr<const DerivedTable> table) {
  BoundQuery query{std::make_unique<SelectPlan>(), table->columns};
  SelectPlan& select = *query.select;
  select.source.derived = std::move(table);
  ExpressionBinder expressions(binder.parameters, binder.input.facts, binder.input.place);
  expressions.set_query(&binder, outer);
  Scope scope = scope_of(select.source);
  for (const Scope::Shown& shown : scope.shown) select.targets.push_back(shown_column(scope, shown));
  expressions.set_scope(std::move(scope));
  expressions.set_aggregates(nullptr, "ORDER BY");
  NAMDB_SQL_CHECK(bind_order(expressions, body, select, query.columns, binder.input.place));
  NAMDB_SQL_CHECK(bind_limits(expressions, body, binder.input.place, select));
  return query;
}

Result<BoundQuery> bind_values(StatementBinder& binder, const Json& body, OuterRows* outer) {
  NAMDB_SQL_CHECK(check_no_locking(body, "VALUES"));
  NAMDB_SQL_CHECK(
      only(body, "VALUES",
           {"valuesLists", "sortClause", "limitOffset", "limitCount", "limitOption", "op", "withClause"}));
  auto table = std::make_shared<DerivedTable>();
  ExpressionBinder expressions(binder.parameters, binder.input.facts, binder.input.place);
  expressions.set_query(&binder, outer);
  expressions.set_aggregates(nullptr, "VALUES");
  for (const Json& item : list(body, "valuesLists")) {
    std::vector<ExprPtr>& row = table->values.emplace_back();
    for (const Json& value : list(*node(item).body, "items")) {
      if (node(value).kind == "SetToDefault")
        return Status(ErrorCode::syntax_error, "DEFAULT is not allowed in this context");
      NAMDB_SQL_ASSIGN(ExprPtr expr, expressions.bind(value));
      row.push_back(std::move(expr));
    }
    if (row.size() != table->values.front().size())
      return Status(ErrorCode::syntax_error, "VALUES lists must all be the same length");
  }
  for (std::size_t column = 0; column < table->values.front().size(); ++column) {
    std::vector<ExprPtr*> exprs;
    for (std::vector<ExprPtr>& row : table->values) exprs.push_back(&row[column]);
    Type type;
    NAMDB_SQL_CHECK(expressions.unify_all(exprs, "VALUES", type));
    table->columns.push_back({"column" + std::to_string(column + 1), type});
  }
  return select_from(binder, body, outer, std::move(table));
}

SetOperation operation_of(const Json& body) {
  const std::string_view op = text(body, "op");
  const bool all = flag(body, "all");
  if (op == "SETOP_UNION") return all ? SetOperation::union_all : SetOperation::union_distinct;
  if (op == "SETOP_INTERSECT") return all ? SetOperation::intersect_all : SetOperation::intersect;
  return all ? SetOperation::except_all : SetOperation::except;
}

std::string_view name_of(SetOperation operation) {
  switch (operation) {
    case SetOperation::union_all:
    case SetOperation::union_distinct:
      return "UNION";
    case SetOperation::intersect_all:
    case SetOperation::intersect:
      return "INTERSECT";
    default:
      return "EXCEPT";
  }
}

Result<BoundQuery> bind_set_operation(StatementBinder& binder, const Json& body, OuterRows* outer,
                                      UnknownColumns unknown) {
  for (const Json* query : {&body, find(body, "larg"), find(body, "rarg")})
    NAMDB_SQL_CHECK(check_no_locking(*query, "UNION/INTERSECT/EXCEPT"));
  NAMDB_SQL_CHECK(only(
      body, "a set operation",
      {"op", "all", "larg", "rarg", "sortClause", "limitOffset", "limitCount", "limitOption", "withClause"}));
  NAMDB_SQL_ASSIGN(BoundQuery left, bind_query(binder, *find(body, "larg"), outer, UnknownColumns::stay));
  NAMDB_SQL_ASSIGN(BoundQuery right, bind_query(binder, *find(body, "rarg"), outer, UnknownColumns::stay));
  auto table = std::make_shared<DerivedTable>();
  table->operation = operation_of(body);
  const std::string name(name_of(table->operation));
  if (left.columns.size() != right.columns.size())
    return Status(ErrorCode::syntax_error, "each " + name + " query must have the same number of columns");
  ExpressionBinder expressions(binder.parameters, binder.input.facts, binder.input.place);
  for (std::size_t i = 0; i < left.columns.size(); ++i) {
    const std::array<ExprPtr*, 2> both = {&left.select->targets[i], &right.select->targets[i]};
    const bool undecided = (*both[0])->type.id == TypeId::unknown && (*both[1])->type.id == TypeId::unknown;
    Type type;
    if (!undecided || unknown == UnknownColumns::become_text)
      NAMDB_SQL_CHECK(expressions.unify_all(both, name, type));
    table->columns.push_back({left.columns[i].name, type});
  }
  table->query = std::move(left.select);
  table->right = std::move(right.select);
  for (const Json& item : list(body, "sortClause")) {
    const std::string_view kind = node(*find(*node(item).body, "node")).kind;
    if (kind != "ColumnRef" && kind != "A_Const") {
      return Status(ErrorCode::feature_not_supported, "invalid UNION/INTERSECT/EXCEPT ORDER BY clause",
                    "Add the expression/function to every SELECT, or move the UNION into a FROM clause.");
    }
  }
  return select_from(binder, body, outer, std::move(table));
}

bool names_table(const Json& tree, std::string_view name) {
  return std::ranges::any_of(range_vars(tree), [name](const Json* table) {
    return text(*table, "relname") == name && text(*table, "schemaname").empty();
  });
}

// The right query reads the rows of the round before by the table's name.
Result<BoundQuery> bind_recursive(StatementBinder& binder, const CommonTable& named) {
  const Json& body = *named.query;
  NAMDB_SQL_CHECK(only(body, "a recursive query", {"op", "all", "larg", "rarg", "limitOption"}));
  const Json& left_body = *find(body, "larg");
  if (names_table(left_body, named.name)) {
    return Status(ErrorCode::invalid_recursion, "recursive reference to query \"" + named.name +
                                                    "\" must not appear within its non-recursive term");
  }
  NAMDB_SQL_ASSIGN(BoundQuery left, bind_query(binder, left_body, named.outer, UnknownColumns::become_text));
  auto working = std::make_shared<WorkingTable>();
  working->columns = left.columns;
  for (std::size_t i = 0; i < std::min(named.columns.size(), left.columns.size()); ++i)
    working->columns[i].name = named.columns[i];
  CommonTable itself = named;
  itself.working = working;
  binder.common_tables.push_back(std::move(itself));
  Result<BoundQuery> right = bind_query(binder, *find(body, "rarg"), named.outer, UnknownColumns::stay);
  binder.common_tables.pop_back();
  if (!right.ok()) return right.status();
  if (left.columns.size() != right->columns.size())
    return Status(ErrorCode::syntax_error, "each UNION query must have the same number of columns");
  ExpressionBinder expressions(binder.parameters, binder.input.facts, binder.input.place);
  for (std::size_t i = 0; i < left.columns.size(); ++i) {
    const Type type = left.columns[i].type;
    ExprPtr& target = right->select->targets[i];
    if (target->type.id == type.id) continue;
    const bool fits = can_cast(target->type.id, type.id, Coercion::implicit);
    if (!fits && !can_cast(type.id, target->type.id, Coercion::implicit)) {
      return Status(ErrorCode::datatype_mismatch, "UNION types " + std::string(type_name(type.id)) + " and " +
                                                      std::string(type_name(target->type.id)) +
                                                      " cannot be matched");
    }
    if (!fits) {
      return Status(ErrorCode::datatype_mismatch,
                    "recursive query \"" + named.name + "\" column " + std::to_string(i + 1) + " has type " +
                        std::string(type_name(type.id)) + " in non-recursive term but type " +
                        std::string(type_name(target->type.id)) + " overall",
                    "Cast the output of the non-recursive term to the correct type.");
    }
    NAMDB_SQL_CHECK(expressions.coerce(target, {type.id}, Coercion::implicit));
  }
  auto table = std::make_shared<DerivedTable>();
  table->columns = working->columns;
  table->operation = operation_of(body);
  table->query = std::move(left.select);
  table->right = std::move(right->select);
  table->working = std::move(working);
  return select_from(binder, body, named.outer, std::move(table));
}

}  // namespace

Status bind_with(StatementBinder& binder, const Json& clause, OuterRows* outer) {
  const bool keeps = has_writes(clause);
  for (const Json& item : list(clause, "ctes")) {
    const Json& table = *node(item).body;
    NAMDB_SQL_CHECK(only(table, "WITH", {"ctename", "aliascolnames", "ctematerialized", "ctequery"}));
    const Node query = node(*find(table, "ctequery"));
    if (keeps) {
      NAMDB_SQL_CHECK(bind_kept_query(binder, clause, table));
      continue;
    }
    CommonTable named{std::string(text(table, "ctename")), query.body, {}, outer, flag(clause, "recursive")};
    for (const std::string_view column : names(list(table, "aliascolnames")))
      named.columns.emplace_back(column);
    // It reads its tables, and needs rights, where its name stands. As in PostgreSQL, one that is not used
    // needs none.
    const std::vector<RequiredRight> rights = binder.rights;
    const std::vector<std::uint32_t> reads = binder.reads;
    NAMDB_SQL_ASSIGN(const BoundQuery bound, bind_common_query(binder, named));
    binder.rights = rights;
    binder.reads = reads;
    if (bound.columns.size() < named.columns.size()) {
      return Status(ErrorCode::invalid_column_reference,
                    "WITH query \"" + named.name + "\" has " + std::to_string(bound.columns.size()) +
                        " columns available but " + std::to_string(named.columns.size()) +
                        " columns specified");
    }
    binder.common_tables.push_back(std::move(named));
  }
  return {};
}

Result<BoundQuery> bind_common_query(StatementBinder& binder, const CommonTable& table) {
  const bool is_recursive = table.recursive && names_table(*table.query, table.name);
  if (!is_recursive) return bind_query(binder, *table.query, table.outer, UnknownColumns::become_text);
  if (text(*table.query, "op") != "SETOP_UNION") {
    return Status(ErrorCode::invalid_recursion,
                  "recursive query \"" + table.name +
                      "\" does not have the form non-recursive-term UNION [ALL] recursive-term");
  }
  return bind_recursive(binder, table);
}

Result<BoundQuery> bind_query(StatementBinder& binder, const Json& body, OuterRows* outer,
                              UnknownColumns unknown) {
  if (binder.depth >= kMaxQueryDepth)
    return Status(ErrorCode::statement_too_complex, "queries are nested too deeply");
  if (++binder.queries > kMaxQueries) {
    return Status(ErrorCode::statement_too_complex,
                  "a statement can have at most " + std::to_string(kMaxQueries) + " queries",
                  "a query of WITH counts as often as it is named");
  }
  ++binder.depth;
  const std::size_t named = binder.common_tables.size();
  if (const Json* with = find(body, "withClause")) NAMDB_SQL_CHECK(bind_with(binder, *with, outer));
  Result<BoundQuery> query = !list(body, "valuesLists").empty() ? bind_values(binder, body, outer)
                             : text(body, "op") != "SETOP_NONE"
                                 ? bind_set_operation(binder, body, outer, unknown)
                                 : bind_plain_select(binder, body, outer, unknown);
  binder.common_tables.resize(named);
  --binder.depth;
  return query;
}

}  // namespace namdb::sql
