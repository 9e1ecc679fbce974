// What the conditions of a WHERE say of one column: where the ways by key and by index come from. A value is
// an expression that no row has a part in; "a condition on the column" compares what is stored, not what a
// cast makes of it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compute/sql/expression/expression.h"

namespace namdb::sql {

// The conditions that AND connects.
std::vector<const Expr*> conjuncts(const Expr& filter);

// The values that the condition leaves to the column: one of `column = value`, several of `column IN (...)`;
// none when it says nothing of the kind.
std::vector<const Expr*> equal_values(const Expr& condition, std::uint32_t column);

bool is_null_test(const Expr& condition, std::uint32_t column);

// `column > value` and its like.
struct Bound {
  const Expr* value = nullptr;
  bool inclusive = false;
  bool is_low = false;
};
std::optional<Bound> bound_of(const Expr& condition, std::uint32_t column);

}  // namespace namdb::sql
