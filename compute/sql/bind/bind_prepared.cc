// PREPARE and EXECUTE, and cursors: commands about other statements.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"

namespace namdb::sql {
namespace {

// The bits of DECLARE's options, as the grammar has them.
constexpr std::int64_t kBinary = 1;
constexpr std::int64_t kScroll = 2;
constexpr std::int64_t kNoScroll = 4;
constexpr std::int64_t kInsensitive = 8;
constexpr std::int64_t kAsensitive = 16;
constexpr std::int64_t kHold = 32;

// PREPARE p (unknown) leaves a type open, too.
bool is_unknown(const Json& type_name) {
  return name_in_catalog(list(type_name, "names")) == "unknown";
}

Status check_options(std::int64_t options) {
  const auto both = [options](std::int64_t bits) { return (options & bits) == bits; };
  if (both(kScroll | kNoScroll))
    return Status(ErrorCode::invalid_cursor_definition, "cannot specify both SCROLL and NO SCROLL");
  if (both(kInsensitive | kAsensitive)) {
    return Status(ErrorCode::invalid_cursor_definition, "cannot specify both ASENSITIVE and INSENSITIVE");
  }
  return {};
}

// The argument as a parameter of that type.
Status coerce_argument(ExpressionBinder& expressions, ExprPtr& argument, Type type, std::size_t number) {
  if (!can_cast(argument->type.id, type.id, Coercion::assignment)) {
    return Status(ErrorCode::datatype_mismatch,
                  "parameter $" + std::to_string(number) + " of type " +
                      std::string(type_name(argument->type.id)) + " cannot be coerced to the expected type " +
                      std::string(type_name(type.id)),
                  "You will need to rewrite or cast the expression.");
  }
  return expressions.coerce(argument, {type.id}, Coercion::assignment);
}

}  // namespace

Result<Plan> bind_prepare(StatementBinder& binder, const Json& body) {
  NAMDB_SQL_CHECK(only(body, "PREPARE", {"name", "argtypes", "query"}));
  PreparePlan prepare;
  prepare.name = text(body, "name");
  for (const Json& item : list(body, "argtypes")) {
    const Json& type_name = *node(item).body;
    Type type;
    if (!is_unknown(type_name)) {
      NAMDB_SQL_ASSIGN(type, bind_type(type_name, binder.input.facts));
    }
    prepare.declared.push_back({type.id});
  }
  StatementBinder inner{binder.input, prepare.declared};
  NAMDB_SQL_ASSIGN(Plan statement, bind_body(inner, node(*find(body, "query"))));
  NAMDB_SQL_CHECK(finish_plan(inner, statement));
  prepare.statement = std::make_shared<Plan>(std::move(statement));
  Plan plan;
  plan.tag = "PREPARE";
  plan.body = std::move(prepare);
  return plan;
}

// Whether there is such a statement is known when the command runs.
Result<Plan> bind_execute(StatementBinder& binder, const Json& body) {
  NAMDB_SQL_CHECK(only(body, "EXECUTE", {"name", "params"}));
  ExecutePlan execute;
  execute.name = text(body, "name");
  execute.statement = binder.input.named;
  Plan plan;
  plan.tag = "EXECUTE";
  const Json& arguments = list(body, "params");
  if (execute.statement != nullptr) {
    const std::vector<Type>& types = execute.statement->parameters;
    plan.columns = execute.statement->columns;
    std::vector<Type> none;
    ExpressionBinder expressions(none, binder.input.facts, binder.input.place);
    if (!binder.input.routines.empty())
      return unsupported("function " + binder.input.routines.begin()->first + " in EXECUTE parameters");
    expressions.set_aggregates(nullptr, "EXECUTE parameters");
    for (std::size_t i = 0; i < types.size() && i < arguments.size(); ++i) {
      NAMDB_SQL_ASSIGN(ExprPtr argument, expressions.bind(arguments[i]));
      if (!none.empty())
        return Status(ErrorCode::undefined_parameter,
                      "there is no parameter $" + std::to_string(none.size()));
      Status status = coerce_argument(expressions, argument, types[i], i + 1);
      if (!status.ok() && status.code() == ErrorCode::datatype_mismatch)
        return located(binder.input.place, *node(arguments[i]).body, std::move(status));
      if (!status.ok()) return status;
      execute.arguments.push_back(std::move(argument));
    }
  }
  plan.body = std::move(execute);
  return plan;
}

Result<Plan> bind_declare(StatementBinder& binder, const Json& body) {
  NAMDB_SQL_CHECK(only(body, "DECLARE CURSOR", {"portalname", "options", "query"}));
  const std::int64_t options = integer(body, "options");
  NAMDB_SQL_CHECK(check_options(options));
  DeclarePlan declare;
  declare.name = text(body, "portalname");
  declare.binary = (options & kBinary) != 0;
  declare.scrolls = (options & kScroll) != 0;
  declare.only_forward = (options & kNoScroll) != 0;
  declare.holds = (options & kHold) != 0;
  const Node query = node(*find(body, "query"));
  if (query.kind != "SelectStmt") return unsupported("DECLARE CURSOR for this statement");
  if (find(*query.body, "lockingClause") != nullptr) return unsupported("FOR UPDATE/SHARE in DECLARE CURSOR");
  NAMDB_SQL_ASSIGN(Plan plan_of_query, bind_body(binder, query));
  if (plan_of_query.as<WithPlan>() != nullptr) {
    return Status(ErrorCode::feature_not_supported,
                  "DECLARE CURSOR must not contain data-modifying statements in WITH");
  }
  // Rows are read ahead for other statements.
  binder.calls_read_only = true;
  if (plan_of_query.as<SelectPlan>() == nullptr) return unsupported("DECLARE CURSOR for this statement");
  std::vector<Type> parameters = binder.parameters;
  NAMDB_SQL_CHECK(finish_plan(binder, plan_of_query));
  binder.parameters = std::move(parameters);
  declare.query = std::make_shared<Plan>(std::move(plan_of_query));
  Plan plan;
  plan.tag = "DECLARE CURSOR";
  plan.body = std::move(declare);
  return plan;
}

Result<Plan> bind_fetch(StatementBinder& binder, const Json& body) {
  NAMDB_SQL_CHECK(only(body, "FETCH", {"direction", "howMany", "portalname", "ismove"}));
  FetchPlan fetch;
  fetch.name = text(body, "portalname");
  fetch.moves = flag(body, "ismove");
  fetch.count = integer(body, "howMany");
  const std::string_view direction = text(body, "direction");
  fetch.direction = direction == "FETCH_BACKWARD"   ? FetchDirection::backward
                    : direction == "FETCH_ABSOLUTE" ? FetchDirection::absolute
                    : direction == "FETCH_RELATIVE" ? FetchDirection::relative
                                                    : FetchDirection::forward;
  Plan plan;
  plan.tag = fetch.moves ? "MOVE" : "FETCH";
  if (!fetch.moves && binder.input.named != nullptr) plan.columns = binder.input.named->columns;
  plan.body = std::move(fetch);
  return plan;
}

}  // namespace namdb::sql
