// Evaluation of operators of arrays.
#include "compute/sql/expression/expression.h"
#include "compute/sql/value/array.h"

namespace namdb::sql {
namespace {

Status add_checked(ArrayWriter& writer, const EvalContext& context, const Datum& value) {
  context.work->charge_bytes(value.text.size() + sizeof(std::uint64_t));
  writer.add(value);
  return check_array_bytes(writer.bytes());
}

Status construct(const Expr& expr, const EvalContext& context, Datum& out) {
  ArrayWriter writer(expr.type.id);
  for (const ExprPtr& element : expr.args) {
    Datum value;
    if (Status status = evaluate(*element, context, value); !status.ok()) return status;
    if (Status status = add_checked(writer, context, value); !status.ok()) return status;
  }
  out = writer.finish(*context.arena);
  return {};
}

Status subscript(const Expr& expr, const EvalContext& context, Datum& out) {
  Datum array;
  Datum index;
  if (Status status = evaluate(*expr.args[0], context, array); !status.ok()) return status;
  if (Status status = evaluate(*expr.args[1], context, index); !status.ok()) return status;
  out = Datum();
  if (array.null || index.null) return {};
  context.work->charge_bytes(array.text.size());
  const TypeId type = expr.args[0]->type.id;
  std::int64_t position = index.integer - first_subscript(type);
  ArrayReader reader(type, array);
  for (Datum element; position >= 0 && reader.next(element); --position) {
    if (position == 0) out = element;
  }
  return {};
}

// Of two arrays, or of an array and an element. A NULL array has no elements.
Status concat_arrays(const Expr& expr, const EvalContext& context, Datum& out) {
  ArrayWriter writer(expr.type.id);
  bool any = false;
  for (const ExprPtr& operand : expr.args) {
    Datum value;
    if (Status status = evaluate(*operand, context, value); !status.ok()) return status;
    if (!operand->type.is_array()) {
      any = true;
      if (Status status = add_checked(writer, context, value); !status.ok()) return status;
      continue;
    }
    if (value.null) continue;
    any = true;
    ArrayReader reader(operand->type.id, value);
    for (Datum element; reader.next(element);) {
      if (Status status = add_checked(writer, context, element); !status.ok()) return status;
    }
  }
  out = any ? writer.finish(*context.arena) : Datum();
  return {};
}

Status compare_with_elements(const Expr& expr, const EvalContext& context, Datum& out) {
  const bool any = expr.kind == ExprKind::any_of_array;
  Datum value;
  Datum array;
  if (Status status = evaluate(*expr.args[0], context, value); !status.ok()) return status;
  if (Status status = evaluate(*expr.args[1], context, array); !status.ok()) return status;
  out = Datum();
  if (array.null) return {};
  const TypeId type = expr.args[0]->type.id;
  std::size_t skipped_bytes = 0;
  bool any_null = false;
  if (const Work::Memory* before = context.work->find(expr)) {
    skipped_bytes = before->position[0];
    any_null = before->position[1] != 0;
  }
  Datum rest = array;
  rest.text.remove_prefix(skipped_bytes);
  ArrayReader reader(expr.args[1]->type.id, rest);
  Datum element;
  while (true) {
    if (context.work->exhausted()) {
      context.work->remember(expr,
                             {false, {}, {array.text.size() - reader.rest_bytes(), any_null ? 1U : 0U}});
      return context.work->pause();
    }
    if (!reader.next(element)) break;
    context.work->charge_bytes(Work::kOperator_units + value.text.size() + element.text.size());
    if (value.null || element.null) {
      any_null = true;
    } else if (compare_matches(expr.op, compare_values(type, value, element)) == any) {
      out = Datum::of_boolean(any);
      return {};
    }
  }
  out = Datum::of_boolean(!any);
  out.null = any_null;
  return {};
}

}  // namespace

namespace detail {

Status evaluate_array(const Expr& expr, const EvalContext& context, Datum& out) {
  switch (expr.kind) {
    case ExprKind::array:
      return construct(expr, context, out);
    case ExprKind::subscript:
      return subscript(expr, context, out);
    case ExprKind::array_concat:
      return concat_arrays(expr, context, out);
    default:
      return compare_with_elements(expr, context, out);
  }
}

}  // namespace detail
}  // namespace namdb::sql
