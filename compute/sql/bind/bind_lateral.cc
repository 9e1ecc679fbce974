// Subqueries and functions in FROM: they may read the tables before them.
#include <nlohmann/json.hpp>
#include <utility>

#include "compute/sql/bind/bind_set_function.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/bind/from_binder.h"
#include "compute/sql/plan/conditions.h"
#include "compute/sql/system/virtual_table.h"

namespace namdb::sql {

Result<FromBinder::Part> FromBinder::bind_subselect(const Json& body) {
  NAMDB_SQL_CHECK(only(body, "a subquery in FROM", {"subquery", "alias", "lateral"}));
  if (find(body, "alias") == nullptr) {
    return Status(ErrorCode::syntax_error, "subquery in FROM must have an alias",
                  "For example, FROM (SELECT ...) [AS] foo.");
  }
  const Node query = node(*find(body, "subquery"));
  if (query.kind != "SelectStmt") return unsupported(query);
  if (flag(body, "lateral") && !all_.relations.empty()) {
    NAMDB_SQL_ASSIGN(std::optional<Part> part, bind_lateral(body, *query.body));
    if (part) return *std::move(part);
  }
  NAMDB_SQL_ASSIGN(BoundQuery bound,
                   bind_query(binder_, *query.body, expressions_.outer(), UnknownColumns::become_text));
  return add_derived(body, std::move(bound), {});
}

Result<std::optional<FromBinder::Part>> FromBinder::bind_lateral(const Json& body, const Json& query) {
  expressions_.set_scope(all_);
  expressions_.set_aggregates(nullptr, "a LATERAL subquery");
  OuterRows outer{&expressions_, {}};
  NAMDB_SQL_ASSIGN(BoundQuery bound, bind_query(binder_, query, &outer, UnknownColumns::become_text));
  bool reads_tables = false;
  for (const ExprPtr& argument : outer.arguments) {
    NAMDB_SQL_CHECK(check_barred(*argument));
    reads_tables = reads_tables || contains_column(*argument);
  }
  if (!reads_tables) return std::optional<Part>();
  // A row has at least one value.
  if (bound.select->targets.empty())
    bound.select->targets.push_back(make_constant({TypeId::boolean}, Datum::of_boolean(true)));
  NAMDB_SQL_ASSIGN(Part part, add_derived(body, std::move(bound), {}));
  tables_.back().source.lateral = std::move(outer.arguments);
  return std::optional<Part>(std::move(part));
}

Result<FromBinder::Part> FromBinder::bind_function(const Json& body) {
  expressions_.set_scope(all_);
  expressions_.set_aggregates(nullptr, "functions in FROM");
  if (const VirtualTable* const table = table_of_function(body)) {
    Source source;
    source.virtual_table = table;
    source.name = table->name;
    return add_table(body, std::move(source), {});
  }
  NAMDB_SQL_ASSIGN(SetFunction function, bind_range_function(expressions_, body));
  for (const SetFunction::Call& made : function.calls) {
    for (const ExprPtr& argument : made.args) NAMDB_SQL_CHECK(check_barred(*argument));
  }
  Source source;
  source.name = function.columns.front().name;
  // An alias without columns names the one column, too, unless the function itself names it.
  const SetFunction::Call& call = function.calls.front();
  const RoutineCall* const routine = call.args.front()->routine.get();
  const bool is_named = call.kind == SetFunction::Kind::json_elements ||
                        (routine != nullptr && routine->signature->has_outputs());
  if (const Json* alias = find(body, "alias"); alias != nullptr && function.calls.size() == 1 && !is_named)
    function.columns.front().name = text(*alias, "aliasname");
  source.function = std::make_unique<SetFunction>(std::move(function));
  return add_table(body, std::move(source), {});
}

Status FromBinder::check_barred(const Expr& expr) const {
  if (expr.kind == ExprKind::column) {
    for (const std::size_t table : barred_) {
      const Scope::Relation& relation = all_.relations[table];
      if (expr.index < relation.first_column || expr.index >= relation.first_column + relation.columns)
        continue;
      return detailed(binder_.input.place,
                      Status(ErrorCode::invalid_column_reference,
                             "invalid reference to FROM-clause entry for table \"" + relation.name + "\""),
                      "The combining JOIN type must be INNER or LEFT for a LATERAL reference.");
    }
  }
  for (const ExprPtr& argument : expr.args) NAMDB_SQL_CHECK(check_barred(*argument));
  return {};
}

const VirtualTable* FromBinder::table_of_function(const Json& body) {
  const Json& functions = list(body, "functions");
  if (functions.size() != 1 || flag(body, "ordinality") || flag(body, "is_rowsfrom")) return nullptr;
  const Node call = node(list(*node(functions[0]).body, "items")[0]);
  constexpr std::string_view kKeywords = "pg_get_keywords";
  const bool is_call = call.kind == "FuncCall" &&
                       name_in_catalog(list(*call.body, "funcname")) == kKeywords &&
                       list(*call.body, "args").empty();
  return is_call ? find_virtual_table("pg_catalog", kKeywords) : nullptr;
}

}  // namespace namdb::sql
