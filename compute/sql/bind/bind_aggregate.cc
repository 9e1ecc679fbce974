// Calls of aggregates.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "compute/sql/bind/bind_expression.h"
#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"

namespace namdb::sql {
namespace {

struct Named {
  std::string_view name;
  AggregateKind kind;
  std::size_t arguments;
};

constexpr std::array kAggregates = {Named{"count", AggregateKind::count, 1},
                                    Named{"sum", AggregateKind::sum, 1},
                                    Named{"min", AggregateKind::minimum, 1},
                                    Named{"max", AggregateKind::maximum, 1},
                                    Named{"avg", AggregateKind::average, 1},
                                    Named{"bool_and", AggregateKind::all_true, 1},
                                    Named{"every", AggregateKind::all_true, 1},
                                    Named{"bool_or", AggregateKind::any_true, 1},
                                    Named{"array_agg", AggregateKind::array, 1},
                                    Named{"string_agg", AggregateKind::joined_string, 2},
                                    Named{"json_agg", AggregateKind::json_array, 1},
                                    Named{"jsonb_agg", AggregateKind::json_array, 1},
                                    Named{"json_object_agg", AggregateKind::json_object, 2},
                                    Named{"jsonb_object_agg", AggregateKind::json_object, 2}};

const Named* find_aggregate(std::string_view name) {
  const auto found = std::ranges::find(kAggregates, name, &Named::name);
  return found == kAggregates.end() ? nullptr : &*found;
}

bool same_or_none(const ExprPtr& left, const ExprPtr& right) {
  if (left == nullptr || right == nullptr) return left == right;
  return !is_volatile(*left) && same(*left, *right);
}

bool same_order(const OrderItem& left, const OrderItem& right) {
  return left.descending == right.descending && left.nulls_first == right.nulls_first &&
         same_or_none(left.value, right.value);
}

// Whether it reads rows: the query's own, and those around it.
void find_columns(const Expr& expr, bool& own, bool& around) {
  own = own || expr.kind == ExprKind::column;
  around = around || expr.kind == ExprKind::outer;
  for (const ExprPtr& argument : expr.args) find_columns(*argument, own, around);
}

// The value where the condition holds, and NULL elsewhere, which aggregates leave out.
ExprPtr filtered(ExprPtr filter, ExprPtr value) {
  ExprPtr choice = make_expr(ExprKind::case_when, value->type);
  choice->args.push_back(std::move(filter));
  choice->args.push_back(std::move(value));
  return choice;
}

bool is_same(const Aggregate& left, const Aggregate& right) {
  return left.kind == right.kind && left.distinct == right.distinct && left.type == right.type &&
         same_or_none(left.argument, right.argument) && same_or_none(left.separator, right.separator) &&
         same_or_none(left.filter, right.filter) && std::ranges::equal(left.order, right.order, same_order);
}

// The type of the aggregate's value; nullopt: there is none for arguments of that type.
std::optional<TypeId> result_type(AggregateKind kind, const Type& argument) {
  switch (kind) {
    case AggregateKind::sum:
    case AggregateKind::average:
      if (argument.id == TypeId::interval) return TypeId::interval;
      if (!argument.is_number()) return std::nullopt;
      if (argument.id == TypeId::float4 && kind == AggregateKind::sum) return TypeId::float4;
      if (argument.type_class() == TypeClass::real) return TypeId::float8;
      return kind == AggregateKind::sum && (argument.id == TypeId::int2 || argument.id == TypeId::int4)
                 ? TypeId::int8
                 : TypeId::numeric;
    case AggregateKind::minimum:
    case AggregateKind::maximum:
      if (argument.id == TypeId::boolean || argument.is_catalog_object() ||
          argument.type_class() == TypeClass::bytes || argument.id == TypeId::jsonb ||
          argument.id == TypeId::json)
        return std::nullopt;
      return argument.id == TypeId::varchar || argument.id == TypeId::name ? TypeId::text : argument.id;
    case AggregateKind::all_true:
    case AggregateKind::any_true:
      return argument.id == TypeId::boolean ? std::optional(TypeId::boolean) : std::nullopt;
    case AggregateKind::array:
      return array_type(argument.id);
    case AggregateKind::joined_string:
      return argument.is_string() && argument.id != TypeId::json ? std::optional(TypeId::text) : std::nullopt;
    default:
      return TypeId::int8;
  }
}

// Distinct values come in their order, and only the order of values counts.
Status order_distinct(Aggregate& aggregate) {
  const bool collects = aggregate.collects();
  if (!collects) {
    // The order of the rows does not matter to the others.
    aggregate.order.clear();
    return {};
  }
  if (!aggregate.distinct) return {};
  for (const OrderItem& item : aggregate.order) {
    if (same(*item.value, *aggregate.argument)) continue;
    return Status(ErrorCode::invalid_column_reference,
                  "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list");
  }
  if (aggregate.order.empty()) aggregate.order.push_back({clone(*aggregate.argument), false, false});
  return {};
}

}  // namespace

bool is_aggregate(std::string_view name) {
  return find_aggregate(name) != nullptr;
}

// Within the arguments there are no aggregates, except those of groups in a window function.
Status ExpressionBinder::bind_aggregate_parts(const Json& body, std::vector<ExprPtr>& args,
                                              std::vector<OrderItem>& order, ExprPtr& filter) {
  std::vector<Aggregate>* const of_groups = std::exchange(group_aggregates_, nullptr);
  std::vector<Aggregate>* const outer = std::exchange(aggregates_, of_groups);
  std::vector<WindowCall>* const windows = std::exchange(windows_, nullptr);
  const std::string_view outer_clause = clause_;
  if (of_groups == nullptr) clause_ = kNestedAggregate;
  const auto bind_all = [&]() -> Status {
    for (const Json& item : list(body, "args")) {
      NAMDB_SQL_ASSIGN(ExprPtr value, bind(item));
      args.push_back(std::move(value));
    }
    for (const Json& item : list(body, "agg_order")) {
      NAMDB_SQL_ASSIGN(OrderItem sorted, order_item(*node(item).body));
      NAMDB_SQL_ASSIGN(sorted.value, bind(*find(*node(item).body, "node")));
      NAMDB_SQL_CHECK(decide_unknown(sorted.value));
      order.push_back(std::move(sorted));
    }
    if (const Json* const condition = find(body, "agg_filter")) {
      clause_ = "FILTER";
      NAMDB_SQL_ASSIGN(filter, bind_condition(*condition, "FILTER"));
    }
    return {};
  };
  Status status = bind_all();
  aggregates_ = outer;
  group_aggregates_ = of_groups;
  windows_ = windows;
  clause_ = outer_clause;
  return status;
}

Result<ExprPtr> ExpressionBinder::bind_aggregate(std::string_view name, const Json& body) {
  // Told once the arguments and their types are known to be right, as in PostgreSQL.
  const bool is_nested = aggregates_ == nullptr && clause_ == kNestedAggregate;
  const Status misplaced =
      aggregates_ != nullptr
          ? Status()
          : Status(ErrorCode::grouping_error,
                   is_nested ? "aggregate function calls cannot be nested"
                             : "aggregate functions are not allowed in " + std::string(clause_));
  const Named& named = *find_aggregate(name);
  Aggregate aggregate;
  std::vector<ExprPtr> args;
  ExprPtr filter;
  NAMDB_SQL_CHECK(bind_aggregate_parts(body, args, aggregate.order, filter));
  bool own = false;
  bool around = false;
  for (const ExprPtr& argument : args) find_columns(*argument, own, around);
  for (const OrderItem& item : aggregate.order) find_columns(*item.value, own, around);
  if (filter != nullptr) find_columns(*filter, own, around);
  if (around && !own) return unsupported("an aggregate of an outer query, in a subquery");
  if (flag(body, "agg_star")) {
    if (name != "count")
      return Status(ErrorCode::undefined_function, "function " + std::string(name) + "() does not exist");
    aggregate.type = {TypeId::int8};
    if (filter != nullptr) {
      aggregate.kind = named.kind;
      aggregate.argument =
          filtered(std::move(filter), make_constant({TypeId::boolean}, Datum::of_boolean(true)));
    }
  } else {
    if (list(body, "args").empty() && name == "count") {
      return Status(ErrorCode::wrong_object_type,
                    "count(*) must be used to call a parameterless aggregate function");
    }
    if (args.size() != named.arguments) return no_such_function(name, args);
    if (args[0]->type.id == TypeId::unknown && (name == "sum" || name == "avg" || name == "array_agg")) {
      return Status(ErrorCode::ambiguous_function,
                    "function " + std::string(name) + "(unknown) is not unique",
                    "Could not choose a best candidate function. You might need to add explicit type casts.");
    }
    if (name == "count" && !flag(body, "agg_distinct")) NAMDB_SQL_CHECK(check_any(args));
    // They keep NULLs.
    const bool keeps_nulls = named.kind == AggregateKind::array || named.kind == AggregateKind::json_object;
    const bool sorts_distinct = flag(body, "agg_distinct") && !aggregate.order.empty();
    if (filter != nullptr && (keeps_nulls || sorts_distinct)) aggregate.filter = std::move(filter);
    if (named.kind == AggregateKind::array && args[0]->type.is_array())
      return unsupported("an array of several dimensions");
    if (named.kind == AggregateKind::json_array || named.kind == AggregateKind::json_object) {
      NAMDB_SQL_CHECK(bind_json_aggregate(name, std::move(args), aggregate));
      if (filter != nullptr) aggregate.argument = filtered(std::move(filter), std::move(aggregate.argument));
      if (!misplaced.ok()) return misplaced;
      return add_aggregate(std::move(aggregate), body);
    }
    const bool of_booleans = named.kind == AggregateKind::all_true || named.kind == AggregateKind::any_true;
    if (of_booleans && args[0]->type.id == TypeId::unknown)
      NAMDB_SQL_CHECK(coerce(args[0], {TypeId::boolean}, Coercion::implicit));
    NAMDB_SQL_CHECK(decide_unknown(args[0]));
    if (args[0]->type.id == TypeId::time && (name == "sum" || name == "avg"))
      NAMDB_SQL_CHECK(coerce(args[0], {TypeId::interval}, Coercion::implicit));
    const std::optional<TypeId> type = result_type(named.kind, args[0]->type);
    const auto is_text = [](const Type& t) { return t.is_string() || t.id == TypeId::unknown; };
    if (!type || (args.size() > 1 && !is_text(args[1]->type))) return no_such_function(name, args);
    if (args.size() > 1) NAMDB_SQL_CHECK(decide_unknown(args[1]));
    aggregate.kind = named.kind;
    aggregate.type = {*type};
    aggregate.argument = std::move(args[0]);
    if (filter != nullptr) aggregate.argument = filtered(std::move(filter), std::move(aggregate.argument));
    if (args.size() > 1) aggregate.separator = std::move(args[1]);
  }
  if (!misplaced.ok()) return misplaced;
  return add_aggregate(std::move(aggregate), body);
}

// The groups are not known yet.
Result<ExprPtr> ExpressionBinder::bind_grouping(const Json& body) {
  constexpr std::size_t kMostArguments = 31;
  if (aggregates_ == nullptr)
    return Status(ErrorCode::grouping_error,
                  "grouping operations are not allowed in " + std::string(clause_));
  const Json& arguments = list(body, "args");
  if (arguments.size() > kMostArguments)
    return Status(ErrorCode::statement_too_complex, "GROUPING must have fewer than 32 arguments");
  std::vector<ExprPtr> call;
  for (const Json& argument : arguments) {
    NAMDB_SQL_ASSIGN(ExprPtr bound, bind(argument));
    call.push_back(std::move(bound));
  }
  ExprPtr column = make_expr(ExprKind::column, {TypeId::int4});
  column->index = kFirstGroupingColumn + static_cast<std::uint32_t>(grouping_calls_.size());
  grouping_calls_.push_back(std::move(call));
  return column;
}

// The argument becomes the text of an element, or of a member.
Status ExpressionBinder::bind_json_aggregate(std::string_view name, std::vector<ExprPtr> args,
                                             Aggregate& aggregate) {
  const bool is_object = args.size() == 2;
  if (!is_object && args[0]->type.id == TypeId::unknown) return undecided_type();
  const bool is_jsonb = name.starts_with("jsonb");
  aggregate.kind = is_object ? AggregateKind::json_object : AggregateKind::json_array;
  aggregate.type = {is_jsonb ? TypeId::jsonb : TypeId::json};
  // The elements of a jsonb are put together as they are; its members have to be sorted.
  NAMDB_SQL_ASSIGN(ExprPtr value,
                   json_of(std::move(args.back()), is_jsonb && !is_object ? "to_jsonb" : "to_json"));
  if (is_object) {
    NAMDB_SQL_CHECK(decide_unknown(args[0]));
    NAMDB_SQL_CHECK(coerce(args[0], {TypeId::text}, Coercion::explicit_cast));
    std::vector<ExprPtr> key;
    key.push_back(std::move(args[0]));
    NAMDB_SQL_ASSIGN(ExprPtr quoted, bind_function("to_json", std::move(key)));
    NAMDB_SQL_CHECK(coerce(quoted, {TypeId::text}, Coercion::explicit_cast));
    // NULL where the key is.
    quoted =
        joined(std::move(quoted), make_constant({TypeId::text}, Datum::of_text(is_jsonb ? ": " : " : ")));
    value = joined(std::move(quoted), std::move(value));
  }
  aggregate.argument = std::move(value);
  return {};
}

Result<ExprPtr> ExpressionBinder::add_aggregate(Aggregate aggregate, const Json& body) {
  aggregate.distinct = flag(body, "agg_distinct");
  NAMDB_SQL_CHECK(order_distinct(aggregate));
  // One that the statement has already is not calculated twice.
  const auto found = std::ranges::find_if(
      *aggregates_, [&aggregate](const Aggregate& other) { return is_same(aggregate, other); });
  ExprPtr expr = make_expr(ExprKind::aggregate, aggregate.type);
  expr->index = static_cast<std::uint32_t>(found - aggregates_->begin());
  if (found == aggregates_->end()) aggregates_->push_back(std::move(aggregate));
  return expr;
}

}  // namespace namdb::sql
