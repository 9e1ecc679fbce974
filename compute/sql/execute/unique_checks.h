// The unique indexes of a table whose rows a statement of a block writes. A row with the same values that
// the transaction sees, committed or its own, is the statement's error, so that a savepoint helps against it.
// A row that another transaction commits meanwhile is found by this one's commit, which checks all once more;
// so a statement that is its whole transaction checks nothing here. The primary key is not among them.
#pragma once

#include <string>
#include <vector>

#include "compute/sql/execute/gathered_memory.h"
#include "compute/sql/execute/run.h"

namespace namdb::sql {

class UniqueChecks {
 public:
  // Whether the statement, an INSERT or UPDATE, checks any.
  static bool wanted(const Run& run, const Plan& plan);

  // `update`: null: of an INSERT.
  UniqueChecks(Run& run, storage::TableRef table, const UpdatePlan* update);

  bool wanted() const { return !indexes_.empty(); }
  // The row was inserted or changed.
  Status note(const layout::RowView& row);
  // Looks up what was noted since the last time. Error duplicate_key, with its fields.
  reactor::Task<Status> check();

 private:
  struct Checked {
    storage::IndexRef index;
    std::vector<std::string> keys;  // the declared parts, without NULLs
  };

  // Its keys from `first` to `end`.
  reactor::Task<Status> check_index(Checked* checked, std::size_t first, std::size_t end);
  Status duplicate(const Checked& checked, const layout::RowView& row) const;

  Run& run_;
  storage::TableRef table_;
  std::vector<Checked> indexes_;
  GatheredMemory memory_;
};

}  // namespace namdb::sql
