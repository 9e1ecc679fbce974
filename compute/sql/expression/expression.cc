#include "compute/sql/expression/expression.h"

#include <array>

#include "compute/sql/expression/function.h"
#include "compute/sql/value/characters.h"

namespace namdb::sql {

ExprPtr make_constant(Type type, const Datum& value) {
  ExprPtr expr = make_expr(ExprKind::constant, type);
  expr->value = value;
  if (!value.null && (type.is_string() || type.id == TypeId::unknown)) {
    expr->storage = value.text;
    expr->value.text = expr->storage;
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
  for (const ExprPtr& argument : expr.args) copy->args.push_back(clone(*argument));
  return copy;
}

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

bool is_row_independent(const Expr& expr) {
  return all_of_tree(expr, [](const Expr& e) {
    return e.kind != ExprKind::column && e.kind != ExprKind::aggregate &&
           !(e.kind == ExprKind::function && e.function->volatility == Volatility::is_volatile);
  });
}

bool is_constant(const Expr& expr) {
  // Functions may depend on the session; the few that do not are not folded either.
  return all_of_tree(expr, [](const Expr& e) {
    return e.kind != ExprKind::column && e.kind != ExprKind::aggregate && e.kind != ExprKind::parameter &&
           e.kind != ExprKind::function;
  });
}

bool contains_column(const Expr& expr) {
  return !all_of_tree(expr, [](const Expr& e) { return e.kind != ExprKind::column; });
}

bool gives_transaction_id(const Expr& expr) {
  return !all_of_tree(expr, [](const Expr& e) {
    return e.kind != ExprKind::function || e.function->waiting != Waiting::transaction_id;
  });
}

void read_column(const layout::RowView& row, std::uint32_t column, Arena& arena, Datum& out) {
  out.null = row.is_null(column);
  if (out.null) return;
  const layout::Column& definition = row.schema().columns()[column];
  switch (definition.type) {
    case layout::ColumnType::double_precision:
      out.real = row.real(column);
      break;
    case layout::ColumnType::numeric:
      out.unscaled = row.integer(column);
      out.scale = definition.scale;
      break;
    case layout::ColumnType::character:
      out.text = blank_padded(row.text(column), definition.length_bytes, arena);
      break;
    case layout::ColumnType::varchar:
    case layout::ColumnType::text:
      out.text = row.text(column);
      break;
    default:
      out.integer = row.integer(column);
      break;
  }
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
      return {};
    case ExprKind::column:
      if (context.row != nullptr) {
        read_column(*context.row, expr.index, *context.arena, out);
        // It was filled up with blanks.
        if (expr.type.id == TypeId::bpchar) context.work->charge(out.text.size());
      } else {
        out = context.values[expr.index];
      }
      return {};
    case ExprKind::aggregate:
      out = context.aggregates[expr.index];
      return {};
    default:
      return detail::evaluate_operator(expr, context, out);
  }
}

}  // namespace namdb::sql
