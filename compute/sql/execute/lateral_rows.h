// The rows of a subquery in FROM that reads the tables before it (LATERAL): it runs once for each row of
// those. They are kept in memory until it runs for the next one.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "common/reactor/task.h"
#include "compute/sql/execute/gathered_memory.h"
#include "compute/sql/execute/gathered_rows.h"
#include "compute/sql/execute/run.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

class LateralRows {
 public:
  // The plan outlives this.
  explicit LateralRows(const Source& source) : source_(source) {}

  // Runs the query for a row of the tables before. Lets other sessions have their turns.
  reactor::Task<Status> read(Run* run, std::span<const Datum> before);
  // The next of its rows, until the next read(); empty: there is none. A row has at least one value.
  std::span<const Datum> next() { return next_ < rows_.size() ? rows_[next_++] : std::span<const Datum>(); }

 private:
  const Source& source_;
  GatheredRows rows_;
  std::unique_ptr<GatheredMemory> memory_;
  std::size_t next_ = 0;
};

}  // namespace namdb::sql
