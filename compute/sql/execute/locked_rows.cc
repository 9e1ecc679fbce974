#include "compute/sql/execute/locked_rows.h"

#include "compute/sql/execute/changed_rows.h"
#include "compute/sql/execute/part_cost.h"
#include "compute/sql/execute/source_keys.h"

namespace namdb::sql {

reactor::Task<Status> LockedRows::lock(Run& run) {
  std::vector<txn::RowId> ids;
  for (std::size_t row = 0; row < portion_.size(); ++row) {
    for (const RowLock& lock : plan_.locks) {
      Status room = check_changed_rows(locked_++);
      if (!room.ok()) co_return room;
      const layout::Key key = key_of(lock.table->schema, portion_[row].subspan(lock.first_target));
      ids.push_back(run.transaction->get(lock.table, key.bytes()));
    }
  }
  run.work.charge(ids.size() * Work::kReadRow_units);
  PartCost cost(run, &plan_.locks);
  Status status = co_await run.transaction->fetch();
  cost.end(ids.size());
  if (!status.ok()) co_return status;
  is_there_.assign(portion_.size(), true);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!run.transaction->found(ids[i])) {
      is_there_[i / plan_.locks.size()] = false;
    } else {
      run.transaction->hold(ids[i]);
      run.work.charge(Work::kWrittenRow_units);
    }
    if (run.work.due()) status = co_await run.take_turn();
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

}  // namespace namdb::sql
