// Evaluation of subqueries: the rows of one that has run are looked up; otherwise the evaluation pauses.
#include <utility>
#include <vector>

#include "compute/sql/expression/statement_state.h"
#include "compute/sql/expression/subquery.h"

namespace namdb::sql {
namespace detail {

Status evaluate_subquery(const Expr& expr, const EvalContext& context, Datum& out) {
  if (const Work::Memory* const memory = context.work->find(expr); memory != nullptr && memory->finished) {
    out = memory->value;
    return {};
  }
  std::vector<Datum> arguments(expr.args.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (Status status = evaluate(*expr.args[i], context, arguments[i]); !status.ok()) return status;
  }
  const std::size_t tests = tested_columns(expr);
  const bool repeats = arguments.size() > tests;
  const SubqueryRows* const rows =
      repeats || context.state == nullptr ? nullptr : context.state->subqueries.find(*expr.subquery);
  if (rows != nullptr) {
    context.work->charge(Work::kOperator_units + rows->values.size());
    return subquery_value(expr, std::span<const Datum>(arguments).first(tests), *rows, *context.arena, out);
  }
  context.work->wait_for(expr, std::move(arguments));
  // The statement's error where no coroutine can run it.
  return Status(ErrorCode::feature_not_supported, "a subquery is not supported in this place");
}

}  // namespace detail
}  // namespace namdb::sql
