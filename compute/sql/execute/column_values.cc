#include "compute/sql/execute/column_values.h"

#include "compute/sql/value/array.h"

namespace namdb::sql {

reactor::Task<Status> evaluate_values(Run& run, const std::vector<ExprPtr>* exprs, EvalContext context,
                                      std::vector<ColumnValue>* values) {
  Status status;
  for (const ExprPtr& expr : *exprs) {
    if (expr == nullptr) {
      values->push_back({{}, {}, true});
      continue;
    }
    Datum value;
    status = evaluate(*expr, context, value);
    if (status.ok() && run.value_ends_turn()) status = co_await run.take_turn();
    if (!status.ok()) co_return status;
    if (!expr->type.is_array()) {
      values->push_back({value, expr->type, false});
      continue;
    }
    if (value.null) continue;
    const Type own_type{element_type(expr->type.id)};
    ArrayReader reader(expr->type.id, value);
    for (Datum element; reader.next(element);) {
      values->push_back({element, own_type, false});
      if (run.value_ends_turn()) status = co_await run.take_turn();
      if (!status.ok()) co_return status;
    }
  }
  co_return Status();
}

}  // namespace namdb::sql
