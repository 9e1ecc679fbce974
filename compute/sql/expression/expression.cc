#include "compute/sql/expression/expression.h"

#include <array>

#include "common/layout/long_value.h"
#include "compute/sql/expression/function.h"
#include "compute/sql/expression/long_values.h"
#include "compute/sql/value/cast.h"
#include "compute/sql/value/characters.h"
#include "compute/sql/value/wide_datum.h"

namespace namdb::sql {
namespace {

template <typename Predicate>
bool all_of_tree(const Expr& expr, const Predicate& predicate) {
  if (!predicate(expr)) return false;
  for (const ExprPtr& argument : expr.args) {
    if (!all_of_tree(*argument, predicate)) return false;
  }
  return true;
}

}  // namespace

ExprPtr make_constant(Type type, const Datum& value) {
  ExprPtr expr = make_expr(ExprKind::constant, type);
  expr->value = value;
  if (!value.null && type.has_bytes()) {
    expr->storage = std::make_unique<const std::string>(value.text);
    expr->value.text = *expr->storage;
  }
  return expr;
}

ExprPtr make_expr(ExprKind kind, Type type, char op) {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->type = type;
  expr->op = op;
  return expr;
}

ExprPtr clone(const Expr& expr) {
  ExprPtr copy = expr.kind == ExprKind::constant ? make_constant(expr.type, expr.value)
                                                 : make_expr(expr.kind, expr.type, expr.op);
  copy->explicit_cast = expr.explicit_cast;
  copy->index = expr.index;
  copy->function = expr.function;
  copy->subquery = expr.subquery;
  copy->routine = expr.routine;
  for (const ExprPtr& argument : expr.args) copy->args.push_back(clone(*argument));
  return copy;
}

bool same(const Expr& left, const Expr& right) {
  const bool calls = left.routine != nullptr && right.routine != nullptr;
  if (left.routine != right.routine && !(calls && left.routine->signature == right.routine->signature))
    return false;
  if (left.kind != right.kind || left.op != right.op || left.explicit_cast != right.explicit_cast ||
      left.type != right.type || left.index != right.index || left.function != right.function ||
      left.subquery != right.subquery || left.args.size() != right.args.size())
    return false;
  if (left.kind == ExprKind::constant) {
    if (left.value.null || right.value.null) return left.value.null == right.value.null;
    if (left.type.has_bytes()) {
      if (left.value.text != right.value.text) return false;
    } else if (left.value.scale != right.value.scale ||
               compare_values(left.type.id, left.value, right.value) != 0) {
      return false;
    }
  }
  for (std::size_t i = 0; i < left.args.size(); ++i) {
    if (!same(*left.args[i], *right.args[i])) return false;
  }
  return true;
}

void for_each_column(const Expr& expr, const std::function<void(std::uint32_t)>& visit) {
  if (expr.kind == ExprKind::column) visit(expr.index);
  for (const ExprPtr& argument : expr.args) for_each_column(*argument, visit);
}

bool all_columns(const Expr& expr, const std::function<bool(std::uint32_t)>& holds) {
  return all_of_tree(expr, [&holds](const Expr& e) { return e.kind != ExprKind::column || holds(e.index); });
}

void renumber_columns(Expr& expr, std::span<const std::uint32_t> indexes) {
  if (expr.kind == ExprKind::column) expr.index = indexes[expr.index];
  for (const ExprPtr& argument : expr.args) renumber_columns(*argument, indexes);
}

bool is_volatile(const Expr& expr) {
  return !all_of_tree(expr, [](const Expr& e) {
    if (e.routine != nullptr) return !e.routine->is_volatile;
    return e.kind != ExprKind::function || e.function->volatility != Volatility::is_volatile;
  });
}

bool is_row_independent(const Expr& expr) {
  return !is_volatile(expr) && all_of_tree(expr, [](const Expr& e) {
    return e.kind != ExprKind::column && e.kind != ExprKind::aggregate;
  });
}

bool is_constant(const Expr& expr) {
  // Functions may depend on the session, and casts on the session or the catalog; the few that do not are not
  // folded either.
  return all_of_tree(expr, [](const Expr& e) {
    const bool depends = e.kind == ExprKind::cast && (needs_catalog(e.args[0]->type.id, e.type.id) ||
                                                      needs_time_zone(e.args[0]->type.id, e.type.id));
    return !depends && e.kind != ExprKind::column && e.kind != ExprKind::aggregate &&
           e.kind != ExprKind::parameter && e.kind != ExprKind::outer && e.kind != ExprKind::function &&
           e.subquery == nullptr && e.routine == nullptr;
  });
}

bool contains_column(const Expr& expr) {
  return !all_of_tree(expr, [](const Expr& e) { return e.kind != ExprKind::column; });
}

void read_column(const layout::RowView& row, std::uint32_t column, Arena& arena, Datum& out) {
  out.null = row.is_null(column);
  if (out.null) return;
  out.scale = 0;
  const layout::Column& definition = row.schema().columns()[column];
  switch (definition.type) {
    case layout::ColumnType::double_precision:
    case layout::ColumnType::real:
      out.real = row.real(column);
      break;
    case layout::ColumnType::numeric:
      out.unscaled = row.integer(column);
      out.scale = definition.scale;
      break;
    case layout::ColumnType::character:
      out.text = blank_padded(row.text(column), definition.length_bytes, arena);
      break;
    default:
      if (definition.is_string()) {
        out.text = row.text(column);
        // A place fills the field.
        if (out.text.size() == definition.length_bytes && layout::is_long(row, column)) [[unlikely]]
          out = Datum::of_place(layout::long_value_place(row, column));
      } else if (definition.is_wide()) {
        read_wide(definition, row.wide(column), out);
      } else {
        out.integer = row.integer(column);
      }
      break;
  }
}

void read_value(const EvalContext& context, std::uint32_t column, Datum& out) {
  if (context.row != nullptr) {
    read_column(*context.row, column, *context.arena, out);
  } else {
    out = context.values[column];
  }
}

Status detail::read_long_value(const EvalContext& context, Datum& value) {
  if (context.long_values == nullptr)
    return Status(ErrorCode::feature_not_supported, "a long value cannot be read in this place");
  const std::string* const bytes = context.long_values->find(value.text);
  if (bytes == nullptr) {
    context.long_values->want(value.text);
    return context.work->wait_for_long_values(*context.long_values);
  }
  value = Datum::of_text(*bytes);
  return {};
}

Status evaluate_condition(const Expr& expr, const EvalContext& context, bool& out) {
  Datum value;
  if (Status status = evaluate(expr, context, value); !status.ok()) return status;
  out = value.is_true();
  return {};
}

Status evaluate(const Expr& expr, const EvalContext& context, Datum& out) {
  switch (expr.kind) {
    case ExprKind::constant:
      out = expr.value;
      return {};
    case ExprKind::parameter:
      out = context.parameters[expr.index];
      if (out.is_unassigned()) [[unlikely]]
        return Status(ErrorCode::object_not_in_prerequisite_state,
                      "record \"" + std::string(out.text) + "\" is not assigned yet");
      return {};
    case ExprKind::column:
      read_value(context, expr.index, out);
      // It was filled up with blanks.
      if (context.row != nullptr && expr.type.id == TypeId::bpchar) context.work->charge(out.text.size());
      if (out.is_place()) [[unlikely]]
        return detail::read_long_value(context, out);
      return {};
    case ExprKind::aggregate:
      out = context.aggregates[expr.index];
      return {};
    case ExprKind::outer:
      out = context.outer[expr.index];
      return {};
    case ExprKind::exists:
    case ExprKind::scalar_subquery:
    case ExprKind::any_of_subquery:
    case ExprKind::all_of_subquery:
    case ExprKind::array_subquery:
      return detail::evaluate_subquery(expr, context, out);
    default:
      return detail::evaluate_operator(expr, context, out);
  }
}

}  // namespace namdb::sql
