// The rows of SELECT ... FOR UPDATE, in portions: the rows of tables that a portion was made of are locked
// before it is given.
#pragma once

#include <span>
#include <vector>

#include "compute/sql/execute/gathered_rows.h"
#include "compute/sql/execute/run.h"
#include "compute/sql/plan/plan.h"

namespace namdb::sql {

class LockedRows {
 public:
  // The plan, which locks rows, outlives this.
  explicit LockedRows(const SelectPlan& plan) : plan_(plan) {}

  // A run of the query whose rows become the portion, which is empty then.
  Run begin_portion(const Run& run) {
    portion_.clear();
    return run.nested(portion_, arena_, run.work, run.outer);
  }
  std::size_t size() const { return portion_.size(); }
  // Locks the portion's rows. Others have their turns.
  reactor::Task<Status> lock(Run& run);
  // Whether the rows of tables are still there: the transaction itself may have deleted one. After lock().
  bool is_there(std::size_t row) const { return is_there_[row]; }
  // The output columns.
  std::span<const Datum> operator[](std::size_t row) const {
    return portion_[row].first(plan_.locks.front().first_target);
  }

 private:
  const SelectPlan& plan_;
  GatheredRows portion_;
  Arena arena_;
  std::vector<bool> is_there_;
  std::size_t locked_ = 0;  // rows so far
};

}  // namespace namdb::sql
