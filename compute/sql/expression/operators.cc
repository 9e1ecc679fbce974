// Evaluation of operators: arithmetic, comparison, logic, conditionals.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "compute/sql/expression/catalog_cast.h"
#include "compute/sql/expression/compared_date.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/function.h"
#include "compute/sql/expression/statement_state.h"
#include "compute/sql/value/array.h"
#include "compute/sql/value/calendar.h"
#include "compute/sql/value/cast.h"
#include "compute/sql/value/characters.h"
#include "compute/sql/value/interval.h"
#include "compute/sql/value/jsonb.h"

namespace namdb::sql {
namespace {

Status out_of_range(TypeId id) {
  return Status(ErrorCode::numeric_out_of_range, std::string(type_name(id)) + " out of range");
}

Status division_by_zero() {
  return Status(ErrorCode::division_by_zero, "division by zero");
}

Status integer_arithmetic(char op, TypeId type, std::int64_t a, std::int64_t b, Datum& out) {
  std::int64_t result = 0;
  bool overflow = false;
  switch (op) {
    case '+':
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case '-':
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case '*':
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    default:
      if (b == 0) return division_by_zero();
      if (op == '%') {
        result = b == -1 ? 0 : a % b;
      } else if (b == -1) {
        overflow = __builtin_sub_overflow(std::int64_t{0}, a, &result);
      } else {
        result = a / b;
      }
      break;
  }
  if (overflow || (type == TypeId::int4 && result != static_cast<std::int32_t>(result)) ||
      (type == TypeId::int2 && result != static_cast<std::int16_t>(result))) {
    return out_of_range(type);
  }
  out = Datum::of_integer(result);
  return {};
}

Status real_arithmetic(char op, TypeId type, double a, double b, Datum& out) {
  double result = 0;
  switch (op) {
    case '+':
      result = a + b;
      break;
    case '-':
      result = a - b;
      break;
    case '*':
      result = a * b;
      break;
    default:
      if (b == 0 && !std::isnan(a)) return division_by_zero();
      result = a / b;
      break;
  }
  if (type == TypeId::float4) result = static_cast<double>(static_cast<float>(result));
  if (std::isinf(result) && !std::isinf(a) && !std::isinf(b))
    return Status(ErrorCode::numeric_out_of_range, "value out of range: overflow");
  if (result == 0 && ((op == '*' && a != 0 && b != 0) || (op == '/' && a != 0 && !std::isinf(b))))
    return Status(ErrorCode::numeric_out_of_range, "value out of range: underflow");
  out = Datum::of_real(result);
  return {};
}

Status decimal_arithmetic(char op, const Decimal& a, const Decimal& b, Datum& out) {
  const Result<Decimal> result = op == '+'   ? add(a, b)
                                 : op == '-' ? subtract(a, b)
                                 : op == '*' ? multiply(a, b)
                                 : op == '/' ? divide(a, b)
                                             : remainder(a, b);
  if (!result.ok()) return result.status();
  out = Datum::of_decimal(*result);
  return {};
}

Status arithmetic(const Expr& expr, const EvalContext& context, Datum& out) {
  Datum left;
  Datum right;
  if (Status status = evaluate(*expr.args[0], context, left); !status.ok()) return status;
  if (Status status = evaluate(*expr.args[1], context, right); !status.ok()) return status;
  if (left.null || right.null) {
    out.null = true;
    return {};
  }
  switch (expr.type.type_class()) {
    case TypeClass::integer:
      return integer_arithmetic(expr.op, expr.type.id, left.integer, right.integer, out);
    case TypeClass::real:
      return real_arithmetic(expr.op, expr.type.id, left.real, right.real, out);
    default:
      return decimal_arithmetic(expr.op, left.decimal(), right.decimal(), out);
  }
}

Status negate(const Expr& expr, const EvalContext& context, Datum& out) {
  if (Status status = evaluate(*expr.args[0], context, out); !status.ok() || out.null) return status;
  switch (expr.type.type_class()) {
    case TypeClass::integer:
      return integer_arithmetic('-', expr.type.id, 0, out.integer, out);
    case TypeClass::real:
      out.real = -out.real;
      return {};
    default:
      out.unscaled = -out.unscaled;
      return {};
  }
}

void charge_texts(const EvalContext& context, const Datum& left, const Datum& right) {
  context.work->charge_bytes(left.text.size() + right.text.size());
}

Status check_memory(const EvalContext& context) {
  if (context.arena->allocated_bytes() <= kMaxRowMemory_bytes) return {};
  return Status(ErrorCode::limit_exceeded, "the strings that a row's expressions make can have at most " +
                                               std::to_string(kMaxRowMemory_bytes) + " bytes");
}

Status compare_expr(const Expr& expr, const EvalContext& context, Datum& out) {
  Datum left;
  Datum right;
  if (Status status = evaluate(*expr.args[0], context, left); !status.ok()) return status;
  if (Status status = evaluate(*expr.args[1], context, right); !status.ok()) return status;
  const TypeId type = expr.args[0]->type.id;
  if (expr.op == 'D' || expr.op == 'N') {
    charge_texts(context, left, right);
    const bool equal =
        left.null || right.null ? left.null && right.null : compare_values(type, left, right) == 0;
    out = Datum::of_boolean(equal == (expr.op == 'N'));
    return {};
  }
  if (left.null || right.null) {
    out.null = true;
    return {};
  }
  charge_texts(context, left, right);
  out = Datum::of_boolean(compare_matches(expr.op, compare_values(type, left, right)));
  return {};
}

// AND and OR over any number of operands: the first decisive one ends it, NULL is remembered.
Status logical(const Expr& expr, const EvalContext& context, Datum& out) {
  const bool decisive = expr.kind == ExprKind::logical_or;
  bool any_null = false;
  for (const ExprPtr& operand : expr.args) {
    Datum value;
    if (Status status = evaluate(*operand, context, value); !status.ok()) return status;
    if (value.null) {
      any_null = true;
    } else if ((value.integer != 0) == decisive) {
      out = Datum::of_boolean(decisive);
      return {};
    }
  }
  out = Datum::of_boolean(!decisive);
  out.null = any_null;
  return {};
}

Status in_list(const Expr& expr, const EvalContext& context, Datum& out) {
  Datum value;
  if (Status status = evaluate(*expr.args[0], context, value); !status.ok()) return status;
  bool any_null = value.null;
  const TypeId type = expr.args[0]->type.id;
  std::size_t i = 1;
  if (const Work::Memory* before = context.work->find(expr)) {
    i = before->position[0];
    any_null = before->position[1] != 0;
  }
  for (; !value.null && i < expr.args.size(); ++i) {
    if (context.work->exhausted()) {
      context.work->remember(expr, {false, {}, {i, any_null ? 1U : 0U}});
      return context.work->pause();
    }
    Datum item;
    if (Status status = evaluate(*expr.args[i], context, item); !status.ok()) return status;
    if (Status status = check_memory(context); !status.ok()) return status;
    context.work->charge(Work::kOperator_units);
    charge_texts(context, value, item);
    if (item.null) {
      any_null = true;
    } else if (compare_values(type, value, item) == 0) {
      out = Datum::of_boolean(true);
      return {};
    }
  }
  out = Datum::of_boolean(false);
  out.null = any_null;
  return {};
}

Status case_when(const Expr& expr, const EvalContext& context, Datum& out) {
  std::size_t i = 0;
  for (; i + 1 < expr.args.size(); i += 2) {
    bool chosen = false;
    if (Status status = evaluate_condition(*expr.args[i], context, chosen); !status.ok()) return status;
    if (chosen) return evaluate(*expr.args[i + 1], context, out);
  }
  if (i < expr.args.size()) return evaluate(*expr.args[i], context, out);
  out.null = true;
  return {};
}

Status greatest(const Expr& expr, const EvalContext& context, int wanted, Datum& out) {
  out = Datum();
  std::size_t i = 0;
  if (const Work::Memory* before = context.work->find(expr)) {
    i = before->position[0];
    out = before->value;
  }
  for (; i < expr.args.size(); ++i) {
    if (context.work->exhausted()) {
      context.work->remember(expr, {false, out, {i}});
      return context.work->pause();
    }
    Datum value;
    if (Status status = evaluate(*expr.args[i], context, value); !status.ok()) return status;
    if (Status status = check_memory(context); !status.ok()) return status;
    if (value.null) continue;
    charge_texts(context, value, out);
    if (out.null || compare_values(expr.type.id, value, out) == wanted) out = value;
  }
  return {};
}

Status boolean_test(const Expr& expr, const EvalContext& context, Datum& out) {
  Datum value;
  if (Status status = evaluate(*expr.args[0], context, value); !status.ok()) return status;
  const char test = static_cast<char>(std::tolower(expr.op));
  const bool matches = test == 't'   ? value.is_true()
                       : test == 'f' ? !value.null && value.integer == 0
                                     : value.null;
  out = Datum::of_boolean(matches == (test == expr.op));
  return {};
}

Status concat(const Expr& expr, const EvalContext& context, Datum& out) {
  Datum left;
  Datum right;
  if (Status status = evaluate(*expr.args[0], context, left); !status.ok()) return status;
  if (Status status = evaluate(*expr.args[1], context, right); !status.ok()) return status;
  out.null = left.null || right.null;
  if (out.null) return {};
  const std::size_t size = left.text.size() + right.text.size();
  if (Status status = check_text_bytes(size); !status.ok()) return status;
  context.work->charge_bytes(size);
  char* bytes = context.arena->allocate(size + 1);
  std::copy(left.text.begin(), left.text.end(), bytes);
  std::copy(right.text.begin(), right.text.end(), bytes + left.text.size());
  out = Datum::of_text({bytes, size});
  return {};
}

bool has_catalog(const EvalContext& context) {
  return context.state != nullptr && context.state->catalog != nullptr;
}

Status call_function(const Expr& expr, const EvalContext& context, Datum& out) {
  constexpr std::size_t kMaxArguments = 7;
  std::array<Datum, kMaxArguments> values;
  NAMDB_CHECK(expr.args.size() <= values.size());
  bool any_null = false;
  for (std::size_t i = 0; i < expr.args.size(); ++i) {
    if (Status status = evaluate(*expr.args[i], context, values[i]); !status.ok()) return status;
    any_null = any_null || values[i].null;
    context.work->charge_bytes(values[i].text.size());
  }
  out.null = any_null && !expr.function->nulls;
  if (out.null) return {};
  if (expr.function->reads_catalog && !has_catalog(context)) return context.work->wait_for_catalog();
  if (expr.function->waiting != Waiting::no) {
    context.work->wait_for(expr,
                           {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(expr.args.size())});
    // The statement's error where no coroutine can call it.
    return Status(ErrorCode::feature_not_supported,
                  "function " + std::string(expr.function->name) + " cannot be called here");
  }
  return expr.function->call(context, std::span(values.data(), expr.args.size()), out);
}

Status cast(const Expr& expr, const EvalContext& context, Datum& out) {
  if (Status status = evaluate(*expr.args[0], context, out); !status.ok() || out.null) return status;
  const Datum in = out;
  const TypeId from = expr.args[0]->type.id;
  context.work->charge_bytes(in.text.size());
  if (needs_catalog(from, expr.type.id)) {
    if (!has_catalog(context)) return context.work->wait_for_catalog();
    return cast_to_catalog_object(in, from, expr.type.id, *context.state->catalog, *context.arena, out);
  }
  Status status = cast_value(in, from, expr.type, expr.explicit_cast, context.time(), *context.arena, out);
  if (!status.ok() && expr.op == kComparedDate) {
    out = Datum::of_integer(kTimestampInfinity - 1);
    return {};
  }
  context.work->charge_bytes(out.text.size());  // char(n) may have far more blanks than it was given
  return status;
}

}  // namespace

bool compare_matches(char op, int order) {
  switch (op) {
    case '=':
      return order == 0;
    case '!':
      return order != 0;
    case '<':
      return order < 0;
    case '>':
      return order > 0;
    case 'l':
      return order <= 0;
    default:
      return order >= 0;
  }
}

int compare_values(TypeId type, const Datum& left, const Datum& right) {
  switch (Type{type}.type_class()) {
    case TypeClass::numeric:
      return compare(left.decimal(), right.decimal());
    case TypeClass::real: {
      const bool left_nan = std::isnan(left.real);
      const bool right_nan = std::isnan(right.real);
      if (left_nan || right_nan) return static_cast<int>(left_nan) - static_cast<int>(right_nan);
      return left.real < right.real ? -1 : left.real > right.real ? 1 : 0;
    }
    case TypeClass::interval: {
      const Int128 a = comparable_us(left.interval());
      const Int128 b = comparable_us(right.interval());
      return a < b ? -1 : a > b ? 1 : 0;
    }
    case TypeClass::string:
    case TypeClass::bytes:
    case TypeClass::unknown: {
      const bool padded = type == TypeId::bpchar;
      const int order = (padded ? without_trailing_blanks(left.text) : left.text)
                            .compare(padded ? without_trailing_blanks(right.text) : right.text);
      return order < 0 ? -1 : order > 0 ? 1 : 0;
    }
    case TypeClass::jsonb:
      return compare_jsonb(left.text, right.text);
    case TypeClass::array: {
      ArrayReader left_reader(type, left);
      ArrayReader right_reader(type, right);
      Datum a;
      Datum b;
      while (true) {
        const bool left_has = left_reader.next(a);
        const bool right_has = right_reader.next(b);
        if (!left_has || !right_has) return static_cast<int>(left_has) - static_cast<int>(right_has);
        // NULLs are equal among themselves, and greater than values.
        if (a.null != b.null) return a.null ? 1 : -1;
        if (a.null) continue;
        if (const int order = compare_values(element_type(type), a, b); order != 0) return order;
      }
    }
    default:
      return left.integer < right.integer ? -1 : left.integer > right.integer ? 1 : 0;
  }
}

namespace {

Status apply_operator(const Expr& expr, const EvalContext& context, Datum& out) {
  switch (expr.kind) {
    case ExprKind::arithmetic:
      return arithmetic(expr, context, out);
    case ExprKind::negate:
      return negate(expr, context, out);
    case ExprKind::compare:
      return compare_expr(expr, context, out);
    case ExprKind::logical_and:
    case ExprKind::logical_or:
      return logical(expr, context, out);
    case ExprKind::logical_not:
      if (Status status = evaluate(*expr.args[0], context, out); !status.ok()) return status;
      if (!out.null) out = Datum::of_boolean(out.integer == 0);
      return {};
    case ExprKind::is_null:
    case ExprKind::is_not_null:
      if (expr.args[0]->kind == ExprKind::column) {
        // A long value is not read for this.
        read_value(context, expr.args[0]->index, out);
      } else if (Status status = evaluate(*expr.args[0], context, out); !status.ok()) {
        return status;
      }
      out = Datum::of_boolean(out.null == (expr.kind == ExprKind::is_null));
      return {};
    case ExprKind::boolean_test:
      return boolean_test(expr, context, out);
    case ExprKind::in_list:
      return in_list(expr, context, out);
    case ExprKind::case_when:
      return case_when(expr, context, out);
    case ExprKind::coalesce:
      out.null = true;
      for (const ExprPtr& operand : expr.args) {
        if (Status status = evaluate(*operand, context, out); !status.ok() || !out.null) return status;
      }
      return {};
    case ExprKind::null_if: {
      // args: the value, then the comparison of it with the other.
      bool equal = false;
      if (Status status = evaluate_condition(*expr.args[1], context, equal); !status.ok()) return status;
      if (equal) {
        out.null = true;
        return {};
      }
      return evaluate(*expr.args[0], context, out);
    }
    case ExprKind::greatest:
      return greatest(expr, context, 1, out);
    case ExprKind::least:
      return greatest(expr, context, -1, out);
    case ExprKind::cast:
      return cast(expr, context, out);
    case ExprKind::like:
    case ExprKind::regex:
      return detail::evaluate_pattern(expr, context, out);
    case ExprKind::array:
    case ExprKind::subscript:
    case ExprKind::array_concat:
    case ExprKind::any_of_array:
    case ExprKind::all_of_array:
      return detail::evaluate_array(expr, context, out);
    case ExprKind::concat:
      return concat(expr, context, out);
    case ExprKind::function:
      return call_function(expr, context, out);
    case ExprKind::routine:
      return detail::evaluate_routine(expr, context, out);
    case ExprKind::constant:
    case ExprKind::parameter:
    case ExprKind::column:
    case ExprKind::aggregate:
    case ExprKind::outer:
    case ExprKind::exists:
    case ExprKind::scalar_subquery:
    case ExprKind::any_of_subquery:
    case ExprKind::all_of_subquery:
    case ExprKind::array_subquery:
      break;
  }
  return Status(ErrorCode::internal, "an expression of an unknown kind");
}

}  // namespace

namespace detail {

Status evaluate_operator(const Expr& expr, const EvalContext& context, Datum& out) {
  Work& work = *context.work;
  if (const Work::Memory* before = work.find(expr); before != nullptr && before->finished) {
    out = before->value;
    return {};
  }
  work.charge(Work::kOperator_units);
  if (Status status = apply_operator(expr, context, out); !status.ok()) return status;
  if (Status status = check_memory(context); !status.ok()) return status;
  if (work.exhausted() || work.remembers()) work.remember(expr, {true, out, {}});
  return work.exhausted() ? work.pause() : Status();
}

}  // namespace detail
}  // namespace namdb::sql
