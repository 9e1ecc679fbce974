// Calls of functions and aggregates in expressions.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "compute/sql/bind/bind_expression.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/expression/functions.h"
#include "compute/sql/value/overload.h"

namespace namdb::sql {
namespace {

bool is_same(const Aggregate& left, const Aggregate& right) {
  if (left.kind != right.kind || left.distinct != right.distinct || left.type != right.type) return false;
  if (left.argument == nullptr || right.argument == nullptr) return left.argument == right.argument;
  return !is_volatile(*left.argument) && same(*left.argument, *right.argument);
}

}  // namespace

Result<ExprPtr> ExpressionBinder::bind_value_function(const Json& body) {
  const std::string_view op = text(body, "op");
  struct Row {
    std::string_view op;
    std::string_view function;
  };
  constexpr std::array kRows = {
      Row{"SVFOP_CURRENT_TIMESTAMP", "now"},         Row{"SVFOP_LOCALTIMESTAMP", "now"},
      Row{"SVFOP_CURRENT_USER", "current_user"},     Row{"SVFOP_USER", "current_user"},
      Row{"SVFOP_SESSION_USER", "current_user"},     Row{"SVFOP_CURRENT_ROLE", "current_user"},
      Row{"SVFOP_CURRENT_SCHEMA", "current_schema"}, Row{"SVFOP_CURRENT_CATALOG", "current_database"}};
  for (const Row& row : kRows) {
    if (row.op != op) continue;
    NAMDB_SQL_ASSIGN(ExprPtr expr, bind_function(row.function, {}));
    if (op == "SVFOP_LOCALTIMESTAMP")
      NAMDB_SQL_CHECK(coerce(expr, {TypeId::timestamp}, Coercion::explicit_cast));
    return expr;
  }
  return unsupported(op.starts_with("SVFOP_") ? op.substr(6) : op);
}

Result<ExprPtr> ExpressionBinder::bind_call(const Json& body) {
  NAMDB_SQL_CHECK(
      only(body, "a function call", {"funcname", "args", "agg_star", "funcformat", "agg_distinct"}));
  const std::vector<std::string_view> parts = names(list(body, "funcname"));
  if (parts.empty() || parts.size() > 2 || (parts.size() == 2 && parts[0] != "pg_catalog"))
    return unsupported("a function of another schema");
  const std::string_view name = parts.back();
  for (const std::string_view aggregate : {"count", "sum", "min", "max", "avg"}) {
    if (name == aggregate) return bind_aggregate(name, body);
  }
  if (name == "like_escape" || name == "not_like_escape" || name == "similar_to_escape")
    return unsupported("ESCAPE");
  if (flag(body, "agg_distinct")) {
    return Status(ErrorCode::wrong_object_type,
                  std::string(name) + " is not an aggregate function that is supported");
  }
  std::vector<ExprPtr> args;
  for (const Json& argument : list(body, "args")) {
    NAMDB_SQL_ASSIGN(ExprPtr value, bind(argument));
    args.push_back(std::move(value));
  }
  const bool sql_syntax = text(body, "funcformat") == "COERCE_SQL_SYNTAX";
  if (sql_syntax && functions_named(name).empty()) return unsupported("function " + std::string(name));
  NAMDB_SQL_ASSIGN(ExprPtr call, bind_function(name, std::move(args)));
  if (flag(body, "agg_star")) {
    return Status(ErrorCode::wrong_object_type, std::string(name) + "(*) specified, but " +
                                                    std::string(name) + " is not an aggregate function");
  }
  if (call->function->name == "mod") {
    call->kind = ExprKind::arithmetic;
    call->op = '%';
    call->function = nullptr;
  }
  return call;
}

Result<ExprPtr> ExpressionBinder::bind_function(std::string_view name, std::vector<ExprPtr> args) {
  std::vector<const Function*> overloads = functions_named(name);
  std::erase_if(overloads, [&args](const Function* f) { return f->parameters.size() != args.size(); });
  std::vector<std::span<const TypeId>> candidates;
  for (const Function* function : overloads) candidates.emplace_back(function->parameters);
  std::vector<TypeId> types;
  for (const ExprPtr& argument : args) types.push_back(argument->type.id);
  const OverloadChoice choice = choose_overload(candidates, types);
  if (choice.outcome != OverloadChoice::Outcome::found) {
    std::string signature = std::string(name) + "(";
    for (std::size_t i = 0; i < args.size(); ++i)
      signature += (i == 0 ? "" : ", ") + std::string(type_name(types[i]));
    if (choice.outcome == OverloadChoice::Outcome::ambiguous) {
      return Status(ErrorCode::ambiguous_function, "function " + signature + ") is not unique",
                    "Could not choose a best candidate function. You might need to add explicit type casts.");
    }
    return Status(
        ErrorCode::undefined_function, "function " + signature + ") does not exist",
        "No function matches the given name and argument types. You might need to add explicit type "
        "casts.");
  }
  const Function* const best = overloads[choice.index];
  if (!best->supported()) return unsupported("function " + std::string(name) + " in this form");
  ExprPtr expr = make_expr(ExprKind::function, {best->result});
  expr->function = best;
  for (std::size_t i = 0; i < args.size(); ++i) {
    NAMDB_SQL_CHECK(coerce(args[i], {best->parameters[i]}, Coercion::implicit));
    expr->args.push_back(std::move(args[i]));
  }
  return expr;
}

Result<ExprPtr> ExpressionBinder::bind_aggregate(std::string_view name, const Json& body) {
  constexpr std::string_view kNested = "an aggregate function";
  if (aggregates_ == nullptr && clause_ == kNested)
    return Status(ErrorCode::grouping_error, "aggregate function calls cannot be nested");
  if (aggregates_ == nullptr) {
    return Status(ErrorCode::grouping_error,
                  "aggregate functions are not allowed in " + std::string(clause_));
  }
  const Json& args = list(body, "args");
  Aggregate aggregate;
  if (flag(body, "agg_star")) {
    if (name != "count")
      return Status(ErrorCode::undefined_function, "function " + std::string(name) + "() does not exist");
    aggregate.type = {TypeId::int8};
  } else {
    if (args.empty() && name == "count") {
      return Status(ErrorCode::wrong_object_type,
                    "count(*) must be used to call a parameterless aggregate function");
    }
    if (args.size() != 1) {
      return Status(ErrorCode::undefined_function,
                    "function " + std::string(name) + " with these arguments does not exist",
                    "the aggregates take one argument");
    }
    std::vector<Aggregate>* const outer = std::exchange(aggregates_, nullptr);
    const std::string_view outer_clause = std::exchange(clause_, kNested);
    Result<ExprPtr> argument = bind(args[0]);
    aggregates_ = outer;
    clause_ = outer_clause;
    if (!argument.ok()) return argument;
    if ((*argument)->type.id == TypeId::unknown && (name == "sum" || name == "avg")) {
      return Status(ErrorCode::ambiguous_function,
                    "function " + std::string(name) + "(unknown) is not unique",
                    "Could not choose a best candidate function. You might need to add explicit type casts.");
    }
    NAMDB_SQL_CHECK(decide_unknown(*argument));
    const Type type = (*argument)->type;
    const auto no_such = [&] {
      return Status(ErrorCode::undefined_function, "function " + std::string(name) + "(" +
                                                       std::string(type_name(type.id)) + ") does not exist");
    };
    if (name == "count") {
      aggregate.kind = AggregateKind::count;
      aggregate.type = {TypeId::int8};
    } else if (name == "sum" || name == "avg") {
      if (!type.is_number()) return no_such();
      aggregate.kind = name == "sum" ? AggregateKind::sum : AggregateKind::average;
      aggregate.type = {type.id == TypeId::float8 ? TypeId::float8
                        : name == "sum" && (type.id == TypeId::int2 || type.id == TypeId::int4)
                            ? TypeId::int8
                            : TypeId::numeric};
    } else {
      if (type.id == TypeId::boolean) return no_such();
      aggregate.kind = name == "min" ? AggregateKind::minimum : AggregateKind::maximum;
      aggregate.type = {type.id == TypeId::varchar ? TypeId::text : type.id};
    }
    aggregate.argument = std::move(argument).value();
  }
  aggregate.distinct = flag(body, "agg_distinct");
  // One that the statement has already is not calculated twice.
  const auto found = std::ranges::find_if(
      *aggregates_, [&aggregate](const Aggregate& other) { return is_same(aggregate, other); });
  ExprPtr expr = make_expr(ExprKind::aggregate, aggregate.type);
  expr->index = static_cast<std::uint32_t>(found - aggregates_->begin());
  if (found == aggregates_->end()) aggregates_->push_back(std::move(aggregate));
  return expr;
}

}  // namespace namdb::sql
