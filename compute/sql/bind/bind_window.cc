// Window functions in the select list and in ORDER BY: their arguments, windows and frames.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "compute/sql/bind/bind_expression.h"
#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/expression/functions.h"
#include "compute/sql/plan/window.h"

namespace namdb::sql {
namespace {

constexpr std::string_view kNestedWindow = "a window function";

struct NamedWindow {
  std::string_view name;
  WindowKind kind;
  std::size_t least_arguments;
  std::size_t most_arguments;
  TypeId type;  // unknown: that of its first argument
};

constexpr std::array kFunctions = {
    NamedWindow{"row_number", WindowKind::row_number, 0, 0, TypeId::int8},
    NamedWindow{"rank", WindowKind::rank, 0, 0, TypeId::int8},
    NamedWindow{"dense_rank", WindowKind::dense_rank, 0, 0, TypeId::int8},
    NamedWindow{"percent_rank", WindowKind::percent_rank, 0, 0, TypeId::float8},
    NamedWindow{"cume_dist", WindowKind::cumulative_distribution, 0, 0, TypeId::float8},
    NamedWindow{"ntile", WindowKind::ntile, 1, 1, TypeId::int4},
    NamedWindow{"lag", WindowKind::lag, 1, 3, TypeId::unknown},
    NamedWindow{"lead", WindowKind::lead, 1, 3, TypeId::unknown},
    NamedWindow{"first_value", WindowKind::first_value, 1, 1, TypeId::unknown},
    NamedWindow{"last_value", WindowKind::last_value, 1, 1, TypeId::unknown},
    NamedWindow{"nth_value", WindowKind::nth_value, 2, 2, TypeId::unknown}};

const NamedWindow* find_window_function(std::string_view name) {
  const auto found = std::ranges::find(kFunctions, name, &NamedWindow::name);
  return found == kFunctions.end() ? nullptr : &*found;
}

// --- windows ---

// The lists and the frame of a window, which may come from different definitions.
struct WindowParts {
  const Json* partition = nullptr;
  const Json* order = nullptr;
  const Json* frame = nullptr;
};

constexpr std::int64_t kHasFrame = 0x1;  // of PostgreSQL's frame options

const Json& body_of(const Json& window) {
  const Json* const named = find(window, "WindowDef");
  return named == nullptr ? window : *named;
}

Status cannot_override(std::string_view clause, std::string_view window) {
  return Status(ErrorCode::windowing_error, "cannot override " + std::string(clause) +
                                                " clause of window \"" + std::string(window) + "\"");
}

Status find_parts(const Json& clause, const Json& window, std::size_t count, WindowParts& parts);

// Of the window of that name, among the first `count` of WINDOW.
Status find_named_parts(const Json& clause, std::string_view name, std::size_t count, WindowParts& parts) {
  for (std::size_t i = 0; i < count; ++i) {
    if (text(body_of(clause[i]), "name") == name) return find_parts(clause, body_of(clause[i]), i, parts);
  }
  return Status(ErrorCode::undefined_object, "window \"" + std::string(name) + "\" does not exist");
}

// Of a definition, which may extend one of the first `count` of WINDOW.
Status find_parts(const Json& clause, const Json& window, std::size_t count, WindowParts& parts) {
  const std::string_view base = text(window, "refname");
  const bool is_sorted = !list(window, "orderClause").empty();
  if (base.empty()) {
    parts = {&list(window, "partitionClause"), &list(window, "orderClause"), &window};
    return {};
  }
  NAMDB_SQL_CHECK(find_named_parts(clause, base, count, parts));
  if (!list(window, "partitionClause").empty()) return cannot_override("PARTITION BY", base);
  if (is_sorted && !parts.order->empty()) return cannot_override("ORDER BY", base);
  if ((integer(*parts.frame, "frameOptions") & kHasFrame) != 0) {
    return Status(ErrorCode::windowing_error,
                  "cannot copy window \"" + std::string(base) + "\" because it has a frame clause",
                  "Omit the parentheses in this OVER clause.");
  }
  if (is_sorted) parts.order = &list(window, "orderClause");
  parts.frame = &window;
  return {};
}

// --- frames ---

// More bits of those options.
constexpr std::int64_t kRows = 0x4;
constexpr std::int64_t kGroups = 0x8;
constexpr std::int64_t kExcludes = 0x8000 | 0x10000 | 0x20000;

FrameBound bound_of(std::int64_t options, std::int64_t current, std::int64_t preceding,
                    std::int64_t following) {
  if ((options & current) != 0) return FrameBound::current;
  if ((options & preceding) != 0) return FrameBound::preceding;
  return (options & following) != 0 ? FrameBound::following : FrameBound::unbounded;
}

bool has_offset(FrameBound bound) {
  return bound == FrameBound::preceding || bound == FrameBound::following;
}

std::string_view name_of(FrameMode mode) {
  return mode == FrameMode::rows ? "ROWS" : mode == FrameMode::range ? "RANGE" : "GROUPS";
}

// The types in which a column and an offset from it are added up; nullopt: there are none.
struct RangeTypes {
  Type column;
  Type offset;
};
std::optional<RangeTypes> range_types(const Type& column) {
  switch (column.type_class()) {
    case TypeClass::integer:
      if (!column.is_number()) return std::nullopt;
      return RangeTypes{{TypeId::int8}, {TypeId::int8}};
    case TypeClass::numeric:
      return RangeTypes{{TypeId::numeric}, {TypeId::numeric}};
    case TypeClass::real:
      return RangeTypes{{TypeId::float8}, {TypeId::float8}};
    case TypeClass::interval:
      return RangeTypes{{TypeId::interval}, {TypeId::interval}};
    case TypeClass::time:
      if (column.id == TypeId::date) return RangeTypes{{TypeId::timestamp}, {TypeId::interval}};
      return RangeTypes{{column.id}, {TypeId::interval}};
    default:
      return std::nullopt;
  }
}

}  // namespace

bool is_window_function(std::string_view name) {
  return find_window_function(name) != nullptr;
}

Status check_window_names(const Json& clause, ErrorPlace* place) {
  // Each may extend the one before.
  constexpr std::size_t kMaxWindows = 200;
  if (clause.size() > kMaxWindows) {
    return Status(ErrorCode::limit_exceeded,
                  "a SELECT can have at most " + std::to_string(kMaxWindows) + " named windows");
  }
  for (std::size_t i = 0; i < clause.size(); ++i) {
    const std::string_view name = text(body_of(clause[i]), "name");
    for (std::size_t other = 0; other < i; ++other) {
      if (text(body_of(clause[other]), "name") != name) continue;
      return located(
          place, body_of(clause[i]),
          Status(ErrorCode::windowing_error, "window \"" + std::string(name) + "\" is already defined"));
    }
    WindowParts parts;
    Status status = find_parts(clause, body_of(clause[i]), i, parts);
    if (!status.ok()) return located(place, body_of(clause[i]), std::move(status));
  }
  return {};
}

Result<ExprPtr> ExpressionBinder::bind_window(const Json& body) {
  if (windows_ == nullptr) {
    if (clause_ == kNestedAggregate) {
      return Status(ErrorCode::grouping_error,
                    "aggregate function calls cannot contain window function calls");
    }
    return Status(ErrorCode::windowing_error,
                  clause_ == kNestedWindow ? "window function calls cannot be nested"
                                           : "window functions are not allowed in " + std::string(clause_));
  }
  NAMDB_SQL_CHECK(only(
      body, "a call of a window function",
      {"funcname", "args", "agg_star", "funcformat", "over", "agg_distinct", "agg_order", "agg_filter"}));
  const std::string_view name = name_in_catalog(list(body, "funcname"));
  if (flag(body, "agg_distinct"))
    return Status(ErrorCode::feature_not_supported, "DISTINCT is not implemented for window functions");
  if (!list(body, "agg_order").empty()) {
    return Status(ErrorCode::feature_not_supported,
                  "aggregate ORDER BY is not implemented for window functions");
  }
  std::vector<WindowCall>* const windows = std::exchange(windows_, nullptr);
  std::vector<Aggregate>* const aggregates = aggregates_;
  const std::string_view clause = clause_;
  WindowCall call;
  Status status = bind_window_parts(body, name, call);
  aggregates_ = aggregates;
  group_aggregates_ = nullptr;
  clause_ = clause;
  windows_ = windows;
  if (!status.ok()) return status;
  ExprPtr column = make_expr(ExprKind::column, call.type);
  column->index = kFirstWindowColumn + static_cast<std::uint32_t>(windows->size());
  windows->push_back(std::move(call));
  return column;
}

Status ExpressionBinder::bind_window_parts(const Json& body, std::string_view name, WindowCall& call) {
  clause_ = kNestedWindow;
  NAMDB_SQL_CHECK(bind_window_arguments(body, name, call));
  const Json& over = body_of(*find(body, "over"));
  WindowParts parts;
  const std::string_view named = text(over, "name");
  Status found = named.empty() ? find_parts(*window_clause_, over, window_clause_->size(), parts)
                               : find_named_parts(*window_clause_, named, window_clause_->size(), parts);
  if (!found.ok()) return located(place_, over, std::move(found));
  clause_ = "window definitions";
  for (const Json& item : *parts.partition) {
    OrderItem partition;
    NAMDB_SQL_ASSIGN(partition.value, bind(item));
    NAMDB_SQL_CHECK(decide_unknown(partition.value));
    call.partition.push_back(std::move(partition));
  }
  for (const Json& item : *parts.order) {
    NAMDB_SQL_ASSIGN(OrderItem sorted, order_item(*node(item).body));
    NAMDB_SQL_ASSIGN(sorted.value, bind(*find(*node(item).body, "node")));
    NAMDB_SQL_CHECK(decide_unknown(sorted.value));
    call.order.push_back(std::move(sorted));
  }
  return bind_frame(*parts.frame, call);
}

Status ExpressionBinder::bind_window_arguments(const Json& body, std::string_view name, WindowCall& call) {
  if (is_aggregate(name)) {
    std::vector<Aggregate> own;
    group_aggregates_ = std::exchange(aggregates_, &own);
    Result<ExprPtr> bound = bind_aggregate(name, body);
    aggregates_ = std::exchange(group_aggregates_, nullptr);
    if (!bound.ok()) return bound.status();
    call.kind = WindowKind::aggregate;
    call.aggregate = std::move(own.front());
    call.type = call.aggregate.type;
    return {};
  }
  const NamedWindow* const function = find_window_function(name);
  for (const Json& argument : list(body, "args")) {
    NAMDB_SQL_ASSIGN(ExprPtr value, bind(argument));
    call.args.push_back(std::move(value));
  }
  if (function == nullptr && !functions_named(name).empty()) {
    return Status(ErrorCode::wrong_object_type, "OVER specified, but " + std::string(name) +
                                                    " is not a window function nor an aggregate function");
  }
  if (function == nullptr || call.args.size() < function->least_arguments ||
      call.args.size() > function->most_arguments)
    return no_such_function(name, call.args);
  if (find(body, "agg_filter") != nullptr) {
    return Status(ErrorCode::feature_not_supported,
                  "FILTER is not implemented for non-aggregate window functions");
  }
  call.kind = function->kind;
  call.type = {function->type};
  if (call.kind == WindowKind::ntile) return coerce(call.args[0], {TypeId::int4}, Coercion::implicit);
  if (function->type != TypeId::unknown) return {};
  if (call.args.size() < 3 && call.args[0]->type.id == TypeId::unknown) return undecided_type();
  NAMDB_SQL_CHECK(decide_unknown(call.args[0]));
  if (call.args.size() > 1) NAMDB_SQL_CHECK(coerce(call.args[1], {TypeId::int4}, Coercion::implicit));
  call.type = {call.args[0]->type.id};
  if (call.args.size() < 3) return {};
  ExprPtr* const values[] = {&call.args[0], &call.args[2]};
  return unify_all(values, name, call.type);
}

Status ExpressionBinder::bind_frame(const Json& window, WindowCall& call) {
  const std::int64_t options = integer(window, "frameOptions");
  if ((options & kExcludes) != 0) return unsupported("EXCLUDE in the frame of a window");
  WindowFrame& frame = call.frame;
  frame.mode = (options & kRows) != 0     ? FrameMode::rows
               : (options & kGroups) != 0 ? FrameMode::groups
                                          : FrameMode::range;
  frame.start = bound_of(options, 0x200, 0x800, 0x2000);
  frame.end = bound_of(options, 0x400, 0x1000, 0x4000);
  if (frame.mode == FrameMode::groups && call.order.empty())
    return located(place_, window,
                   Status(ErrorCode::windowing_error, "GROUPS mode requires an ORDER BY clause"));
  if (frame.mode == FrameMode::range && (has_offset(frame.start) || has_offset(frame.end)) &&
      call.order.size() != 1) {
    return located(place_, window,
                   Status(ErrorCode::windowing_error,
                          "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column"));
  }
  if (has_offset(frame.start)) {
    NAMDB_SQL_CHECK(bind_frame_offset(*find(window, "startOffset"), frame.start, call, frame.start_offset,
                                      frame.start_value));
  }
  if (!has_offset(frame.end)) return {};
  return bind_frame_offset(*find(window, "endOffset"), frame.end, call, frame.end_offset, frame.end_value);
}

Status ExpressionBinder::bind_frame_offset(const Json& json, FrameBound bound, WindowCall& call,
                                           ExprPtr& offset, ExprPtr& value) {
  const std::string clause = "window " + std::string(name_of(call.frame.mode));
  std::vector<Aggregate>* const aggregates = std::exchange(aggregates_, nullptr);
  const std::string_view outer_clause = std::exchange(clause_, clause);
  Result<ExprPtr> bound_offset = bind(json);
  aggregates_ = aggregates;
  clause_ = outer_clause;
  if (!bound_offset.ok()) return bound_offset.status();
  offset = std::move(bound_offset).value();
  Status status = fit_frame_offset(bound, call, offset, value);
  if (!status.ok() && place_ != nullptr) place_->note_begin(json);
  return status;
}

Status ExpressionBinder::fit_frame_offset(FrameBound bound, WindowCall& call, ExprPtr& offset,
                                          ExprPtr& value) {
  const std::string mode(name_of(call.frame.mode));
  if (contains_column(*offset)) {
    return Status(ErrorCode::invalid_column_reference, "argument of " + mode + " must not contain variables");
  }
  const Type type = offset->type;
  if (call.frame.mode != FrameMode::range) {
    if (type.id != TypeId::unknown && !can_cast(type.id, TypeId::int8, Coercion::assignment)) {
      return Status(ErrorCode::datatype_mismatch,
                    "argument of " + mode + " must be type bigint, not type " + type_name(type));
    }
    return coerce(offset, {TypeId::int8}, Coercion::assignment);
  }
  ExprPtr& column = call.order[0].value;
  const std::optional<RangeTypes> types = range_types(column->type);
  if (!types) {
    return Status(
        ErrorCode::feature_not_supported,
        "RANGE with offset PRECEDING/FOLLOWING is not supported for column type " + type_name(column->type));
  }
  if (type.id != TypeId::unknown && !can_cast(type.id, types->offset.id, Coercion::implicit)) {
    return Status(ErrorCode::feature_not_supported,
                  "RANGE with offset PRECEDING/FOLLOWING is not supported for column type " +
                      type_name(column->type) + " and offset type " + type_name(type),
                  "Cast the offset value to an appropriate type.");
  }
  NAMDB_SQL_CHECK(coerce(offset, types->offset, Coercion::implicit));
  // The rows are sorted by values like those that are compared with them.
  if (column->type.id == TypeId::date) NAMDB_SQL_CHECK(coerce(column, types->column, Coercion::implicit));
  ExprPtr from = clone(*column);
  NAMDB_SQL_CHECK(coerce(from, types->column, Coercion::implicit));
  const bool is_less = (bound == FrameBound::preceding) != call.order[0].descending;
  NAMDB_SQL_ASSIGN(value, bind_named_operator(is_less ? "-" : "+", std::move(from), clone(*offset)));
  return {};
}

}  // namespace namdb::sql
