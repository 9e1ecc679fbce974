// Conditions and orders in terms of the columns of an index on expressions, or of a part of a table: where
// they have such an expression, its column takes its place.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compute/sql/plan/conditions.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

struct IndexTerms {
  std::vector<ExprPtr> made;
  std::vector<const Expr*> conditions;  // one for each of the given ones, of `made`
  std::vector<OrderItem> order;
  // The index is of a part of the table, and within that its first column is never NULL.
  bool part_is_not_null = false;
};

// Equal texts are equal expressions over the columns of a table, of which `first` is the first one.
std::string expression_key(const Expr& expr, std::uint32_t first);
// Whether all rows that meet the conditions meet those of the predicate, as far as that can be seen.
bool implies(std::span<const Expr* const> conditions, std::span<const ExprPtr> predicate,
             std::uint32_t first);
// nullopt: the index has not all rows that meet the conditions. `expressions`: of the index's table.
std::optional<IndexTerms> terms_of(const storage::Index& index, const storage::Table& table,
                                   std::span<const IndexExpression> expressions,
                                   std::span<const Expr* const> conditions, std::uint32_t first,
                                   std::span<const OrderItem> order);

}  // namespace namdb::sql
