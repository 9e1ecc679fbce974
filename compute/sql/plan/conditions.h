// The conditions of a WHERE clause on one column of a table, from which access paths by primary key and by
// index are made. A value is an expression that does not depend on the table's row; in a join it may depend
// on rows of other tables. A condition on a column compares the stored value, not the result of a cast of it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compute/sql/expression/expression.h"

namespace namdb::sql {

// A table's columns among those that expressions name.
struct TableColumns {
  std::uint32_t first = 0;  // the table's columns count from there
  // The columns whose values are there before the table is read; null: none.
  const std::vector<bool>* known = nullptr;

  // Whether the expression does not depend on the table's row.
  bool knows(const Expr& value) const;
};

// The conditions that AND connects.
std::vector<const Expr*> conjuncts(const Expr& filter);
// The same, taken out of the filter, which may be null.
std::vector<ExprPtr> take_conjuncts(ExprPtr filter);
// All of them, connected by AND; null: there are none.
ExprPtr join_conjuncts(std::vector<ExprPtr> conditions);

// The values that the condition leaves to the column: one of `column = value`, several of
// `column IN (...)` and of several equations that OR connects, and the array of `column = ANY (array)`, whose
// elements they are; empty when it is another condition.
std::vector<const Expr*> equal_values(const Expr& condition, const TableColumns& table, std::uint32_t column);

// Whether they may be several values: there are several expressions, or one is an array.
bool is_list(const std::vector<const Expr*>& values);
// Whether the values of one condition restrict the column more than those of another. An empty list restricts
// nothing.
bool restricts_more(const std::vector<const Expr*>& values, const std::vector<const Expr*>& others);

bool is_null_test(const Expr& condition, const TableColumns& table, std::uint32_t column);

// A condition like `column > value`.
struct Bound {
  const Expr* value = nullptr;
  bool inclusive = false;
  bool is_low = false;
};
std::optional<Bound> bound_of(const Expr& condition, const TableColumns& table, std::uint32_t column);

// The values between two bounds, of which one may be missing.
struct ValueRange {
  std::optional<Bound> low;
  std::optional<Bound> high;
};
// The ranges in which the condition's values of the column are: one, or several that OR connects. They may
// overlap. Empty: the condition restricts the column to none.
std::vector<ValueRange> ranges_of(const Expr& condition, const TableColumns& table, std::uint32_t column);

}  // namespace namdb::sql
