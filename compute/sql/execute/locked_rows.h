// The rows of SELECT ... FOR UPDATE, in portions: the rows of tables that a portion was made of are locked
// before it is given.
//
// With NOWAIT and SKIP LOCKED the rows are found first, and locked then without a wait:
//
//   how they are found   by a transaction that never commits, which sees them as they were last committed,
//                        whether others have locked them or not. In databases whose protocol validates
//                        reads, the transaction itself has so read only the rows that it gets. By the
//                        transaction itself where it reads from a snapshot, has written before, or joins
//                        tables.
//   how they are locked  by the protocol, if it locks rows at once. Otherwise they are claimed
//                        (compute/locks), which only statements of this kind notice; and a row that was
//                        changed since the transaction's snapshot is none of the result.
//   what is given        the row as the transaction itself sees it then, if it still meets the conditions.
#pragma once

#include <memory>
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
  Run begin_portion(const Run& run);
  // The portion has run, or failed.
  static void end_portion(const Run& run);
  std::size_t size() const { return portion_.size(); }
  // Locks the portion's rows. Others have their turns. Error lock_not_available: NOWAIT.
  reactor::Task<Status> lock(Run& run);
  // Whether the row is one of the result. If not, the rows of tables are not there any more, since the
  // transaction itself may have deleted one; or SKIP LOCKED skips it. After lock().
  bool is_there(std::size_t row) const { return is_there_[row]; }
  // The output columns.
  std::span<const Datum> operator[](std::size_t row) const {
    return portion_[row].first(plan_.locks.front().first_target);
  }

 private:
  // A row of a table that is to be locked.
  struct Wanted {
    std::size_t row = 0;  // of the portion
    const RowLock* lock = nullptr;
    layout::Key key;
    txn::RowId id = 0;
    std::vector<std::byte> claimed;  // the row when it was claimed; empty: it was not there
    bool is_claimed = false;
  };
  bool is_found_apart(const Run& run) const;
  // Finds the wanted rows of the portion.
  Status find_wanted(std::vector<Wanted>& wanted);
  reactor::Task<Status> claim(Run& run, std::vector<Wanted>* wanted);
  // Notes the rows as they are now.
  reactor::Task<Status> look(Run& run, const std::vector<Wanted*>* claimed);
  reactor::Task<Status> fetch(Run& run, std::vector<Wanted>* wanted);
  Status check_locked(Run& run, const Wanted& wanted);
  // The row cannot be locked.
  Status leave_out(const Wanted& wanted);
  // Gives a row that was found apart.
  reactor::Task<Status> give_as_it_is(Run& run, const Wanted* wanted);

  const SelectPlan& plan_;
  std::unique_ptr<txn::Session> session_;
  std::unique_ptr<txn::Transaction> finder_;  // null: the transaction finds rows itself
  bool is_first_ = true;
  GatheredRows portion_;
  Arena arena_;
  std::vector<bool> is_there_;
  std::size_t locked_ = 0;  // rows so far
};

}  // namespace namdb::sql
