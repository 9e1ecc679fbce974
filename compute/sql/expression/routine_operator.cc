// Calls of functions that are written in SQL: the evaluation pauses, and the coroutine above calls them.
#include <utility>
#include <vector>

#include "compute/sql/expression/expression.h"

namespace namdb::sql {
namespace detail {

Status evaluate_routine(const Expr& expr, const EvalContext& context, Datum& out) {
  std::vector<Datum> arguments(expr.args.size());
  bool any_null = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (Status status = evaluate(*expr.args[i], context, arguments[i]); !status.ok()) return status;
    any_null = any_null || arguments[i].null;
  }
  if (any_null && expr.routine->is_strict) {
    out = Datum();
    return {};
  }
  context.work->wait_for(expr, std::move(arguments));
  // The statement's error where no coroutine can call it.
  return Status(ErrorCode::feature_not_supported,
                "function " + expr.routine->name + " cannot be called here");
}

}  // namespace detail
}  // namespace namdb::sql
