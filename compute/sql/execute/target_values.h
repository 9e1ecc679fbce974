// The values that a SELECT gives of a row.
#pragma once

#include <cstddef>
#include <span>

#include "common/base/error.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

// Adds the value's length to that of its row. Error limit_exceeded: the row's strings are too long.
Status check_row_bytes(const Datum& value, std::size_t& bytes);
// Evaluates the targets of a row; adds the lengths of their strings to `bytes`. Errors are also those of
// check_row_bytes().
Status evaluate_targets(const SelectPlan& plan, const EvalContext& context, std::span<Datum> values,
                        std::size_t& bytes);

}  // namespace namdb::sql
