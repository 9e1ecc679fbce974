// The state that the parts of a statement share while it runs: the rows of subqueries that do not depend on
// the row, of recursive queries and of the catalog; the catalog as it was when something first asked for it;
// and compiled patterns.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <memory>
#include <span>
#include <vector>

#include "compute/sql/catalog/catalog.h"
#include "compute/sql/expression/regex.h"
#include "compute/sql/expression/subquery.h"

namespace namdb::sql {

// The rows of a recursive query's last round (WorkingTable).
struct WorkingRows {
  std::vector<std::span<const Datum>> rows;
  Arena arena;

  void add(std::span<const Datum> row) {
    const std::span<Datum> kept = arena.copy(row);
    for (Datum& value : kept) {
      if (!value.null) value.text = arena.copy(value.text);
    }
    rows.push_back(kept);
  }
  void clear() {
    rows.clear();
    arena.reset();
  }
};

// The rows of a relation of the catalog, which are made once for a statement.
struct CatalogRows {
  std::vector<std::vector<Datum>> rows;
  Arena arena;
  std::shared_ptr<const void> memory;  // their part of the memory of all clients
};

struct StatementState {
  SubqueryResults subqueries;
  std::shared_ptr<const Catalog> catalog;  // null: nothing has asked for it
  absl::flat_hash_map<const SystemRelation*, std::unique_ptr<CatalogRows>> catalog_rows;
  // By the WorkingTable. The feed of the recursive query keeps them.
  absl::flat_hash_map<const void*, const WorkingRows*> working;
  mutable RegexPatterns patterns;  // a cache

  void clear() {
    subqueries.clear();
    patterns.clear();
    working.clear();
    catalog_rows.clear();
    catalog.reset();
  }
};

}  // namespace namdb::sql
