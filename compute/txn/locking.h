// A protocol's decisions about locks, if it locks rows as they are read by key.
#pragma once

#include <memory>
#include <span>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "compute/api/transaction.h"
#include "compute/cluster/batch_set.h"
#include "compute/txn/execution_slot.h"

namespace namdb::protocol {

class Lookup;

class Locking {
 public:
  // Records say which transaction waits for them, or until when readers count on them: the word behind the
  // body is READ with them (Lookup::waiter).
  bool has_waiters() const { return has_waiters_; }
  // Rows that are only read are leased (Access::shares), whatever reader words records have.
  virtual bool leases_rows() const { return false; }

  // --- read ---
  // Before rows are read by key.
  virtual reactor::Task<Status> before_fetch() = 0;
  // The lookup READs such a row's record, or the place where it is thought to be, in this batch: may add the
  // CAS that locks it before that READ. True: the operation that it has added READs the record, too.
  // check_locks() once the batch completed.
  virtual bool add_lock(Lookup& lookup, txn::BatchSet& batches) = 0;
  virtual void check_locks() = 0;
  // Once all lookups of the batch have added their CASes, and before they add their READs: may add others,
  // whose results are there at check_locks().
  virtual void read_behind_locks(txn::BatchSet& /*batches*/) {}
  // Some of these lookups wait for records that others hold. True: it has waited for them. False: the caller
  // waits before it reads again. Only with has_waiters().
  virtual reactor::Task<Result<bool>> wait_for_locks(std::span<Lookup* const> /*lookups*/) {
    co_return false;
  }
  // Rows that are to be locked (Access::locked) or shared (Access::shares) have been read by key: locks those
  // that are not locked yet. A row that cannot be shared is validated.
  virtual reactor::Task<Status> after_fetch(std::span<const txn::RowId> rows) = 0;

  // --- commit ---
  // The slot that the locks are held under: the commit is, too.
  virtual reactor::Task<Result<std::shared_ptr<txn::ExecutionSlot>>> commit_slot() = 0;
  // Adds the WRITEs that release the locks of rows that the commit does not write; posted together with its
  // install. after_unlock() once they completed.
  virtual void add_unlocks(txn::BatchSet& batches) = 0;
  virtual void after_unlock() = 0;
  // Whether some of those are at other memory servers.
  virtual bool unlocks_beside(layout::ServerId server) const = 0;
  // The commit is installed, or its install is posted: before after_unlock().
  virtual void after_install() = 0;

 protected:
  explicit Locking(bool has_waiters) : has_waiters_(has_waiters) {}
  Locking(const Locking&) = delete;
  Locking& operator=(const Locking&) = delete;
  ~Locking() = default;

 private:
  bool has_waiters_;
};

}  // namespace namdb::protocol
