// The state that the parts of a statement share while it runs. It has the rows of uncorrelated subqueries, of
// recursive queries, of a WITH that writes, of functions and of the catalog; the catalog as it was at its
// first use; and compiled patterns.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <memory>
#include <span>
#include <vector>

#include "compute/sql/catalog/catalog.h"
#include "compute/sql/expression/plan_costs.h"
#include "compute/sql/expression/regex.h"
#include "compute/sql/expression/subquery.h"

namespace namdb::sql {

// The rows of a relation of the catalog, which are made once for a statement.
struct CatalogRows {
  std::vector<std::vector<Datum>> rows;
  Arena arena;
  std::shared_ptr<const void> memory;  // their part of the memory of all clients
};

// The rows that a function in FROM, written in SQL, has given.
struct RoutineRows {
  std::vector<std::span<const Datum>> rows;
  Arena arena;
  std::shared_ptr<const void> memory;  // their part of the memory of all clients
};

struct StatementState {
  PlanCosts* costs = nullptr;  // counted here; null: not counted
  SubqueryResults subqueries;
  std::shared_ptr<const Catalog> catalog;  // null: nothing has asked for it
  absl::flat_hash_map<const SystemRelation*, std::unique_ptr<CatalogRows>> catalog_rows;
  // The rows of recursive queries' last rounds, by the WorkingTable. The feeds of these queries keep them.
  absl::flat_hash_map<const void*, std::span<const std::span<const Datum>>> working;
  // The owners of the rows of WITH that are kept, which are among `working`.
  std::vector<std::shared_ptr<const void>> written;
  // The rows of the last call by that expression.
  absl::flat_hash_map<const Expr*, std::shared_ptr<const RoutineRows>> routine_rows;
  mutable RegexPatterns patterns;  // a cache

  void clear() {
    subqueries.clear();
    patterns.clear();
    working.clear();
    written.clear();
    routine_rows.clear();
    catalog_rows.clear();
    catalog.reset();
  }
};

}  // namespace namdb::sql
