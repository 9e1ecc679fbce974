// The rows that INSERT is given: those of VALUES, or of a query, which ends before the first row is inserted.
#pragma once

#include <memory>
#include <vector>

#include "compute/sql/execute/gathered_memory.h"
#include "compute/sql/execute/gathered_rows.h"
#include "compute/sql/execute/run.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

class InsertedRows {
 public:
  // The plan outlives this.
  explicit InsertedRows(const InsertPlan& plan);

  // Runs the query, if there is one. Rows of VALUES with subqueries are evaluated: they must not read each
  // other. Once, before the others.
  reactor::Task<Status> read(Run& run);
  std::size_t size() const { return plan_.query == nullptr ? plan_.rows.size() : rows_->size(); }
  // Evaluates the values of a row. When the work is paused it is called again.
  Status make(const Run& run, std::size_t position, layout::Row& row) const;

 private:
  reactor::Task<Status> read_values(Run& run);

  const InsertPlan& plan_;
  std::unique_ptr<GatheredRows> rows_;  // of the query
  std::vector<layout::Row> made_;       // of VALUES with subqueries
  GatheredMemory memory_;
};

}  // namespace namdb::sql
