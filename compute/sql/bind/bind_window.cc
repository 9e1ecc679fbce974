// Window functions in the select list and in ORDER BY. The tables, and the conditions on their rows, become
// those of a derived table, which has a column for each call.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "compute/sql/bind/bind_expression.h"
#include "compute/sql/bind/bind_statement.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/expression/functions.h"
#include "compute/sql/plan/window.h"

namespace namdb::sql {
namespace {

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

// Bits of PostgreSQL's frame options.
constexpr std::int64_t kRows = 0x4;
constexpr std::int64_t kGroups = 0x8;
constexpr std::int64_t kFromFirst = 0x20;
constexpr std::int64_t kToLast = 0x100;
constexpr std::int64_t kToCurrent = 0x400;
constexpr std::int64_t kOffsets = 0x800 | 0x1000 | 0x2000 | 0x4000;
constexpr std::int64_t kExcludes = 0x8000 | 0x10000 | 0x20000;

Result<FrameEnd> frame_end(const Json& window) {
  const std::int64_t options = integer(window, "frameOptions");
  const bool is_known = (options & kFromFirst) != 0 && (options & (kToLast | kToCurrent)) != 0 &&
                        (options & (kOffsets | kExcludes | kGroups)) == 0;
  if (!is_known) return unsupported("a frame of a window that does not begin with its partition");
  if ((options & kToLast) != 0) return FrameEnd::partition;
  return (options & kRows) != 0 ? FrameEnd::row : FrameEnd::peers;
}

const Json& body_of(const Json& window) {
  const Json* const named = find(window, "WindowDef");
  return named == nullptr ? window : *named;
}

}  // namespace

bool is_window_function(std::string_view name) {
  return find_window_function(name) != nullptr;
}

// The definition that OVER gives, or names.
Result<const Json*> ExpressionBinder::window_of(const Json& over) const {
  const Json& window = body_of(over);
  if (!text(window, "refname").empty()) return unsupported("a window that extends another one");
  const std::string_view name = text(window, "name");
  if (name.empty()) return &window;
  for (const Json& item : *window_clause_) {
    if (text(body_of(item), "name") == name) {
      if (!text(body_of(item), "refname").empty()) return unsupported("a window that extends another one");
      return &body_of(item);
    }
  }
  return Status(ErrorCode::undefined_object, "window \"" + std::string(name) + "\" does not exist");
}

Result<ExprPtr> ExpressionBinder::bind_window(const Json& body) {
  if (windows_ == nullptr) return unsupported("a window function in " + std::string(clause_));
  NAMDB_SQL_CHECK(only(body, "a call of a window function",
                       {"funcname", "args", "agg_star", "funcformat", "over", "agg_distinct", "agg_order"}));
  const std::string_view name = name_in_catalog(list(body, "funcname"));
  if (flag(body, "agg_distinct"))
    return Status(ErrorCode::feature_not_supported, "DISTINCT is not implemented for window functions");
  if (!list(body, "agg_order").empty()) {
    return Status(ErrorCode::feature_not_supported,
                  "aggregate ORDER BY is not implemented for window functions");
  }
  std::vector<WindowCall>* const windows = std::exchange(windows_, nullptr);
  std::vector<Aggregate>* const aggregates = std::exchange(aggregates_, nullptr);
  const std::string_view clause = std::exchange(clause_, "a window function");
  WindowCall call;
  Status status = bind_window_parts(body, name, call);
  aggregates_ = aggregates;
  clause_ = clause;
  windows_ = windows;
  if (!status.ok()) return status;
  ExprPtr column = make_expr(ExprKind::column, call.type);
  column->index = static_cast<std::uint32_t>(scope_.columns.size() + windows->size());
  windows->push_back(std::move(call));
  return column;
}

Status ExpressionBinder::bind_window_parts(const Json& body, std::string_view name, WindowCall& call) {
  NAMDB_SQL_ASSIGN(const Json* const window, window_of(*find(body, "over")));
  NAMDB_SQL_ASSIGN(call.frame_end, frame_end(*window));
  for (const Json& item : list(*window, "partitionClause")) {
    OrderItem partition;
    NAMDB_SQL_ASSIGN(partition.value, bind(item));
    NAMDB_SQL_CHECK(decide_unknown(partition.value));
    call.partition.push_back(std::move(partition));
  }
  for (const Json& item : list(*window, "orderClause")) {
    NAMDB_SQL_ASSIGN(OrderItem sorted, order_item(*node(item).body));
    NAMDB_SQL_ASSIGN(sorted.value, bind(*find(*node(item).body, "node")));
    NAMDB_SQL_CHECK(decide_unknown(sorted.value));
    call.order.push_back(std::move(sorted));
  }
  if (is_aggregate(name)) {
    std::vector<Aggregate> aggregates;
    aggregates_ = &aggregates;
    Result<ExprPtr> bound = bind_aggregate(name, body);
    aggregates_ = nullptr;
    if (!bound.ok()) return bound.status();
    call.kind = WindowKind::aggregate;
    call.aggregate = std::move(aggregates.front());
    call.type = call.aggregate.type;
    return {};
  }
  const NamedWindow* const function = find_window_function(name);
  for (const Json& argument : list(body, "args")) {
    NAMDB_SQL_ASSIGN(ExprPtr value, bind(argument));
    call.args.push_back(std::move(value));
  }
  if (function == nullptr && !functions_named(name).empty()) {
    return Status(ErrorCode::wrong_object_type,
                  "OVER specified, but " + std::string(name) + " is not a window function nor an aggregate function");
  }
  if (function == nullptr || call.args.size() < function->least_arguments ||
      call.args.size() > function->most_arguments)
    return no_such_function(name, call.args);
  call.kind = function->kind;
  call.type = {function->type};
  if (call.kind == WindowKind::ntile) return coerce(call.args[0], {TypeId::int4}, Coercion::implicit);
  if (function->type != TypeId::unknown) return {};
  NAMDB_SQL_CHECK(decide_unknown(call.args[0]));
  if (call.args.size() > 1) NAMDB_SQL_CHECK(coerce(call.args[1], {TypeId::int4}, Coercion::implicit));
  call.type = {call.args[0]->type.id};
  if (call.args.size() < 3) return {};
  ExprPtr* const values[] = {&call.args[0], &call.args[2]};
  return unify_all(values, "lag", call.type);
}

namespace {

// Numbers the columns that the query has to give, in the order in which they are found.
class UsedColumns {
 public:
  UsedColumns(const Scope& scope, std::size_t windows)
      : scope_(scope), places_(scope.columns.size() + windows, kNone) {}

  void find(const Expr& expr) {
    for_each_column(expr, [this](std::uint32_t column) {
      if (column >= scope_.columns.size() || places_[column] != kNone) return;
      places_[column] = static_cast<std::uint32_t>(columns_.size());
      columns_.push_back(column);
    });
  }
  // The calls' columns stand behind those.
  std::span<const std::uint32_t> finish() {
    for (std::size_t i = scope_.columns.size(); i < places_.size(); ++i)
      places_[i] = static_cast<std::uint32_t>(columns_.size() + i - scope_.columns.size());
    return places_;
  }
  const std::vector<std::uint32_t>& columns() const { return columns_; }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  const Scope& scope_;
  std::vector<std::uint32_t> places_;
  std::vector<std::uint32_t> columns_;
};

}  // namespace

Status use_windows(StatementBinder& binder, const Scope& scope, std::vector<WindowCall> windows,
                   SelectPlan& select) {
  if (select.grouped) return unsupported("a window function in a grouped SELECT");
  UsedColumns used(scope, windows.size());
  for (const ExprPtr& target : select.targets) used.find(*target);
  for (const OrderItem& item : select.order) used.find(*item.value);
  for (WindowCall& call : windows) call.for_each_expression([&used](ExprPtr& expr) { used.find(*expr); });
  const std::span<const std::uint32_t> places = used.finish();
  for (ExprPtr& target : select.targets) renumber_columns(*target, places);
  for (OrderItem& item : select.order) renumber_columns(*item.value, places);
  for (WindowCall& call : windows)
    call.for_each_expression([&places](ExprPtr& expr) { renumber_columns(*expr, places); });
  auto query = std::make_unique<SelectPlan>();
  query->source = std::exchange(select.source, Source());
  query->join = std::move(select.join);
  auto table = std::make_shared<DerivedTable>();
  for (const std::uint32_t column : used.columns()) {
    query->targets.push_back(scope_column(scope, column));
    table->columns.push_back({scope.columns[column].name, scope.columns[column].type});
  }
  for (const WindowCall& call : windows) table->columns.push_back({"?column?", call.type});
  find_ways(binder, scope, *query);
  table->query = std::move(query);
  table->windows = std::make_shared<const WindowCalls>(WindowCalls{std::move(windows)});
  select.source.derived = std::move(table);
  select.source.name = "windows";
  return {};
}

}  // namespace namdb::sql
