// The conditions of a WHERE clause on one column, from which access paths by primary key and by index are
// made. A value is an expression that does not depend on the row. A condition on a column compares the stored
// value, not the result of a cast of it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compute/sql/expression/expression.h"

namespace namdb::sql {

// The conditions that AND connects.
std::vector<const Expr*> conjuncts(const Expr& filter);

// The values that the condition leaves to the column: one of `column = value`, several of `column IN (...)`;
// empty when it is another condition.
std::vector<const Expr*> equal_values(const Expr& condition, std::uint32_t column);

bool is_null_test(const Expr& condition, std::uint32_t column);

// A condition like `column > value`.
struct Bound {
  const Expr* value = nullptr;
  bool inclusive = false;
  bool is_low = false;
};
std::optional<Bound> bound_of(const Expr& condition, std::uint32_t column);

}  // namespace namdb::sql
