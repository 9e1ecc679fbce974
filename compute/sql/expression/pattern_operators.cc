// Evaluation of LIKE and of regular expressions.
#include <string_view>

#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/like.h"
#include "compute/sql/expression/regex.h"
#include "compute/sql/expression/statement_state.h"

namespace namdb::sql {
namespace {

using Text = std::string_view;

Status like_expr(const Expr& expr, const EvalContext& context, Text text, Text pattern, Datum& out) {
  LikePosition at;
  if (const Work::Memory* before = context.work->find(expr))
    at = {before->position[0], before->position[1], before->position[2], before->position[3]};
  bool matches = false;
  Status status = match_like(text, pattern, *context.work, at, matches);
  if (context.work->paused())
    context.work->remember(expr, {false, {}, {at.text, at.pattern, at.retry_pattern, at.retry_text}});
  if (!status.ok()) return status;
  out = Datum::of_boolean(matches == (expr.op == ' '));
  return {};
}

Status regex(const Expr& expr, const EvalContext& context, Text text, Text pattern, Datum& out) {
  const bool ignores_case = expr.op == '*' || expr.op == '#';
  context.work->charge_bytes(kRegexByte_units * text.size());
  bool matches = false;
  RegexPatterns own;  // where no statement runs
  RegexPatterns& patterns = context.state == nullptr ? own : context.state->patterns;
  Status status = patterns.match(text, pattern, ignores_case, matches);
  if (!status.ok()) return status;
  out = Datum::of_boolean(matches == (expr.op == '~' || expr.op == '*'));
  return {};
}

}  // namespace

namespace detail {

Status evaluate_pattern(const Expr& expr, const EvalContext& context, Datum& out) {
  Datum text;
  Datum pattern;
  if (Status status = evaluate(*expr.args[0], context, text); !status.ok()) return status;
  if (Status status = evaluate(*expr.args[1], context, pattern); !status.ok()) return status;
  out.null = text.null || pattern.null;
  if (out.null) return {};
  return expr.kind == ExprKind::like ? like_expr(expr, context, text.text, pattern.text, out)
                                     : regex(expr, context, text.text, pattern.text, out);
}

}  // namespace detail
}  // namespace namdb::sql
