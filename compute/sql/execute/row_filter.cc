#include "compute/sql/execute/row_filter.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace namdb::sql {
namespace {

bool is_stored_integer(const Expr& expr) {
  switch (expr.type.type_class()) {
    case TypeClass::integer:
    case TypeClass::time:
    case TypeClass::time_of_day:
      return true;
    default:
      return false;
  }
}

bool is_fixed(const Expr& expr) {
  return expr.kind == ExprKind::constant || expr.kind == ExprKind::parameter;
}

// The same comparison with its sides exchanged.
char turned(char op) {
  constexpr std::string_view kOperators = "<>lg";
  constexpr std::string_view kTurned = "><gl";
  const std::size_t at = kOperators.find(op);
  return at == std::string_view::npos ? op : kTurned[at];
}

}  // namespace

RowFilter::RowFilter(const Expr* condition) : condition_(condition) {
  if (condition_ != nullptr) take(*condition_);
}

RowFilter::RowFilter(const JoinedSource& joined) : RowFilter(joined.source.filter.get()) {
  std::vector<Comparison> of_columns;
  for (const Comparison& comparison : comparisons_) {
    const auto read = std::ranges::find(joined.reads, comparison.column, &JoinedSource::Read::slot);
    if (read != joined.reads.end()) of_columns.push_back({read->column, comparison.op, comparison.value});
  }
  comparisons_.swap(of_columns);
}

bool RowFilter::take(const Expr& condition) {
  if (condition.kind == ExprKind::logical_and) {
    bool all = true;
    for (const ExprPtr& part : condition.args) {
      if (all) {
        all = take(*part);
      } else {
        rest_.push_back(part.get());
      }
    }
    return all;
  }
  const bool compares = condition.kind == ExprKind::compare && condition.op != 'D' && condition.op != 'N';
  if (compares && is_stored_integer(*condition.args[0]) && is_stored_integer(*condition.args[1])) {
    const Expr& left = *condition.args[0];
    const Expr& right = *condition.args[1];
    if (left.kind == ExprKind::column && is_fixed(right)) {
      comparisons_.push_back({left.index, condition.op, &right});
      return true;
    }
    if (right.kind == ExprKind::column && is_fixed(left)) {
      comparisons_.push_back({right.index, turned(condition.op), &left});
      return true;
    }
  }
  rest_.push_back(&condition);
  return false;
}

bool RowFilter::holds(const Comparison& comparison, const EvalContext& context) {
  const Datum& value = comparison.value->kind == ExprKind::constant
                           ? comparison.value->value
                           : context.parameters[comparison.value->index];
  if (value.null || context.row->is_null(comparison.column)) return false;
  const std::int64_t stored = context.row->integer(comparison.column);
  return compare_matches(comparison.op, stored < value.integer ? -1 : stored > value.integer ? 1 : 0);
}

bool RowFilter::rejects(const EvalContext& context) const {
  if (context.row == nullptr || comparisons_.empty()) return false;
  context.work->charge(Work::kRow_units);
  return !std::ranges::all_of(
      comparisons_, [&context](const Comparison& comparison) { return holds(comparison, context); });
}

Status RowFilter::select(const EvalContext& context, bool& selected) const {
  selected = true;
  if (condition_ == nullptr) return {};
  if (context.row == nullptr || comparisons_.empty())
    return evaluate_condition(*condition_, context, selected);
  selected = !rejects(context);
  for (const Expr* part : rest_) {
    if (!selected) return {};
    if (Status status = evaluate_condition(*part, context, selected); !status.ok()) return status;
  }
  return {};
}

}  // namespace namdb::sql
