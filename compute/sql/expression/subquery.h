// Subqueries in expressions: EXISTS, a scalar, and comparisons with ANY or ALL of its values (IN is = ANY).
// An evaluation does not run the subquery: it pauses (work.h), the coroutine above runs it and keeps its
// rows, and the evaluation goes on with them. A subquery that does not depend on the row runs once for the
// statement.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/value/datum.h"

namespace namdb::sql {

// The rows of a subquery's run, as far as its kind needs them.
struct SubqueryRows {
  std::size_t rows = 0;
  // Row by row, of its one column or, of a scalar and of comparisons of rows, all. Strings lie in the arena.
  std::vector<Datum> values;
  bool has_null = false;
  absl::flat_hash_set<std::string> equal;  // of a comparison for equality: the values or rows without NULL
  Arena arena;
  std::shared_ptr<const void> memory;  // their part of the memory of all clients
};

// The results of the subqueries that do not depend on the row.
class SubqueryResults {
 public:
  // Null: it has not run.
  const SubqueryRows* find(const Subquery& subquery) const {
    const auto found = results_.find(&subquery);
    return found == results_.end() ? nullptr : found->second.get();
  }
  void add(const Subquery& subquery, std::unique_ptr<SubqueryRows> rows) {
    results_[&subquery] = std::move(rows);
  }
  void clear() { results_.clear(); }

 private:
  absl::flat_hash_map<const Subquery*, std::unique_ptr<SubqueryRows>> results_;
};

bool is_subquery(const Expr& expr);
// Whether the expression is a subquery, or contains one.
bool contains_subquery(const Expr& expr);
// The number of arguments that the expression compares with the subquery's rows: those of a value or a row.
// The arguments behind them are the values of the rows around it that the subquery reads.
std::size_t tested_columns(const Expr& subquery);
// Whether it compares for equality, so that a set of its values will do.
bool tests_equality(const Expr& subquery);

// The value of the expression, given the subquery's rows. `tests`: the tested columns of a comparison.
// cardinality_violation; limit_exceeded: an array would be too long.
Status subquery_value(const Expr& subquery, std::span<const Datum> tests, const SubqueryRows& rows,
                      Arena& arena, Datum& out);

}  // namespace namdb::sql
